# SPDX-License-Identifier: MIT
"""Record what every lane instruction of PTX gives on this GPU: a digest of each, some results, and how many differ.

    python -m tools.record_ptx_scalars --out tests/data/sm90_ptx_scalars.npz

Inputs are drawn again from `tools.ptx_scalar_inputs`, and kernels are written by `tools.ptx_scalar_cases`; nvcc
compiles them. What differs from the emulator is printed, input by input; then the exit status is 1.
"""

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import Device, compile_cubins, target_of, versions
from tools.ptx_scalar_cases import ScalarCase, emulated, input_arrays, modules, scalar_cases
from tools.ptx_scalar_inputs import COUNT, VERSION
from tools.recordings import add_source, compare, digest, recording_parser, save_arrays

_SHOWN = 4
_BLOCK = 256

SAMPLES = np.linspace(0, COUNT - 1, 64).astype(np.intp)
"""The indices of the stored results."""


def measured(device: Device, case: ScalarCase, kernel: str) -> NDArray[np.uint64]:
    """Return results on the GPU, (destinations, `COUNT`)."""
    shape = (len(case.operation.destinations), COUNT)
    return device.run(kernel, input_arrays(case), shape, np.uint64, blocks=COUNT // _BLOCK, threads=_BLOCK)


def packed(results: NDArray[np.uint64]) -> NDArray[Any]:
    """Return the results that are stored, in the fewest bytes."""
    chosen = results[:, SAMPLES]
    return chosen.astype(np.min_scalar_type(int(chosen.max())))


class Recorded(NamedTuple):
    """Results of a case on the GPU, and which of its inputs give others in the emulator."""

    results: NDArray[np.uint64]
    differing: NDArray[np.intp]


def recorded(device: Device, case: ScalarCase, kernel: str) -> Recorded:
    """Measure a case and compare it with the emulator; what differs is printed."""
    theirs = measured(device, case, kernel)
    try:
        ours = emulated(case)
    except ImportError as error:
        print(f"{case.name}: {error}", flush=True)
        ours = np.zeros_like(theirs)
    differ = np.flatnonzero((ours != theirs).any(axis=0))
    if differ.size:
        inputs = input_arrays(case)
        examples = [
            f"{' '.join(hex(x[j]) for x in inputs)} -> GPU {[hex(x) for x in theirs[:, j]]}, "
            f"emulator {[hex(x) for x in ours[:, j]]}"
            for j in differ[:: max(1, differ.size // _SHOWN)][:_SHOWN]
        ]
        print(f"{case.name}: {differ.size} of {COUNT} differ: {'; '.join(examples)}", flush=True)
    return Recorded(theirs, differ)


def stored(found: dict[str, Recorded]) -> dict[str, Any]:
    """Return the arrays of the recording: a digest of each case, and some results in the fewest bytes."""
    samples = [packed(x.results) for x in found.values()]
    return {
        "names": np.array(list(found)),
        "digests": np.array([digest(x.results) for x in found.values()], np.uint64),
        "unequal": np.array([x.differing.size for x in found.values()], np.uint16),
        "samples": np.concatenate([np.frombuffer(x.tobytes(), np.uint8) for x in samples]),
        "sample_bytes": np.array([x.dtype.itemsize for x in samples], np.uint8),
        "sample_rows": np.array([len(x) for x in samples], np.uint8),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = recording_parser(__doc__)
    parser.add_argument("--differing", type=Path, help="npz file for all results of what differs from the emulator")
    given = parser.parse_args(arguments)
    started = time.monotonic()
    cases = list(scalar_cases())
    device = Device()
    with tempfile.TemporaryDirectory() as folder:
        texts = modules(cases, 2 * (os.cpu_count() or 1))
        for cubin in compile_cubins(texts, Path(folder), target_of(device.capability)):
            device.load(cubin)
    print(f"compiled: {time.monotonic() - started:.1f} s", flush=True)
    found = {case.name: recorded(device, case, f"k{i}") for i, case in enumerate(cases)}
    arrays, tools = stored(found), versions()
    about = {"gpu": device.name, "driver": tools["driver"], "ptxas": tools.get("ptxas", "unknown")}
    device.close()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(given.out, arrays, version=VERSION, count=COUNT, **about)
    add_source(
        given.out, **about, contents="digests and samples of the results of every lane instruction of PTX; see "
        "tools/record_ptx_scalars.py", generator=f"tools/record_ptx_scalars.py, inputs version {VERSION}",
    )  # fmt: skip
    wrong = {name: x.results for name, x in found.items() if x.differing.size}
    if given.differing and wrong:
        np.savez_compressed(given.differing, **wrong)
    print(f"{given.out}: {len(cases)} instructions, {COUNT} inputs each, {len(wrong)} differ from the emulator, "
          f"{time.monotonic() - started:.1f} s")  # fmt: skip
    return compare(arrays, given.compare) or int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
