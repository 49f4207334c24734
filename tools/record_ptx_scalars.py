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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import Device, compile_cubins, target_of, versions
from tools.ptx_scalar_cases import ScalarCase, emulated, input_arrays, modules, scalar_cases
from tools.ptx_scalar_inputs import COUNT, VERSION
from tools.recordings import add_source, compare, digest, recording_parser, save_arrays

_SHOWN = 4
_BLOCK = 256

SAMPLES = np.linspace(0, COUNT - 1, 64).astype(np.intp)
"""Which results are stored."""


def measured(device: Device, case: ScalarCase, kernel: str) -> NDArray[np.uint64]:
    """Results on the GPU, (destinations, `COUNT`)."""
    shape = (len(case.form.destinations), COUNT)
    return device.run(kernel, input_arrays(case), shape, np.uint64, blocks=COUNT // _BLOCK, threads=_BLOCK)


def packed(results: NDArray[np.uint64]) -> NDArray[Any]:
    """The results that are stored, in the fewest bytes."""
    chosen = results[:, SAMPLES]
    return chosen.astype(np.min_scalar_type(int(chosen.max())))


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
    digests, unequal, samples, all_results = [], [], [], {}
    for i, case in enumerate(cases):
        theirs = measured(device, case, f"k{i}")
        digests.append(digest(theirs))
        samples.append(packed(theirs))
        try:
            ours = emulated(case)
        except ImportError as error:
            print(f"{case.name}: {error}", flush=True)
            ours = np.zeros_like(theirs)
        differ = np.flatnonzero((ours != theirs).any(axis=0))
        unequal.append(differ.size)
        if differ.size:
            all_results[case.name] = theirs
            inputs = input_arrays(case)
            examples = [
                f"{' '.join(hex(x[j]) for x in inputs)} -> GPU {[hex(x) for x in theirs[:, j]]}, "
                f"emulator {[hex(x) for x in ours[:, j]]}"
                for j in differ[:: max(1, differ.size // _SHOWN)][:_SHOWN]
            ]
            print(f"{case.name}: {differ.size} of {COUNT} differ: {'; '.join(examples)}", flush=True)
    names = [case.name for case in cases]
    arrays: dict[str, Any] = {
        "names": np.array(names),
        "digests": np.array(digests, np.uint64),
        "unequal": np.array(unequal, np.uint16),
        "samples": np.concatenate([np.frombuffer(x.tobytes(), np.uint8) for x in samples]),
        "sample_bytes": np.array([x.dtype.itemsize for x in samples], np.uint8),
        "sample_rows": np.array([len(x) for x in samples], np.uint8),
    }
    found = versions()
    about = {"gpu": device.name, "driver": found["driver"], "ptxas": found.get("ptxas", "unknown")}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(given.out, arrays, version=VERSION, count=COUNT, **about)
    add_source(
        given.out, **about, contents="digests and samples of the results of every lane instruction of PTX; see "
        "tools/record_ptx_scalars.py", generator=f"tools/record_ptx_scalars.py, inputs version {VERSION}",
    )  # fmt: skip
    if given.differing and all_results:
        np.savez_compressed(given.differing, **all_results)
    device.close()
    wrong = int(np.count_nonzero(unequal))
    print(f"{given.out}: {len(cases)} instructions, {COUNT} inputs each, {wrong} differ from the emulator, "
          f"{time.monotonic() - started:.1f} s")  # fmt: skip
    return compare(arrays, given.compare) or int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
