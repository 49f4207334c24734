# SPDX-License-Identifier: MIT
"""Record what the approximate instructions of this GPU give: some results whole, more as digests.

    python -m tools.record_approx --out tests/data/sm90_approx.npz

Inputs are drawn again from `tools.approx_inputs`. What differs from the emulator is printed; then the exit status is 1.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.approx_gpu import INSTRUCTIONS, emulate, operands, run
from tools.approx_inputs import SPECIAL, VERSION, recorded_inputs
from tools.prove_approx import machine
from tools.recordings import add_source, compare, digest, load_arrays, recording_parser, save_arrays

Array = NDArray[Any]

WHOLE = len(SPECIAL) + 200
"""The number of stored results of an instruction, and of results in each digest of the others."""

BLOCK = 1024


def summary(results: Array) -> dict[str, Array]:
    """Return the recorded results of an instruction."""
    blocks = [results[i : i + BLOCK] for i in range(0, len(results), BLOCK)]
    return {"whole": results[:WHOLE], "digests": np.array([digest(x) for x in blocks])}


def cases() -> Iterator[tuple[str, tuple[Array, ...]]]:
    """Return every instruction with its inputs."""
    for instruction, kind in INSTRUCTIONS.items():
        yield instruction, recorded_inputs(kind, operands(instruction))


def recorded(path: Path) -> dict[str, dict[str, Array]]:
    """Read a recording: for each instruction the `summary` of its results.

    Raises
    ------
    ValueError
        If the inputs are not those that the recording was made with.
    """
    arrays, metadata = load_arrays(path)
    if metadata["version"] != VERSION:
        raise ValueError(f"{path}: inputs of version {metadata['version']}, these are {VERSION}")
    return {x: {part: arrays[f"{x}|{part}"] for part in ("whole", "digests")} for x in INSTRUCTIONS}


def on_gpu(instruction: str, *inputs: Array) -> Array:
    """Run an instruction on NumPy arrays."""
    import cupy

    result: Array = cupy.asnumpy(run(instruction, *(cupy.asarray(x) for x in inputs)))
    return result


def main(arguments: Sequence[str] | None = None, measure: Callable[..., Array] = on_gpu) -> int:
    given = recording_parser(__doc__).parse_args(arguments)
    started = time.monotonic()
    arrays: dict[str, Array] = {}
    wrong = 0
    for instruction, inputs in cases():
        theirs, ours = measure(instruction, *inputs), emulate(instruction, *inputs)
        arrays |= {f"{instruction}|{part}": x for part, x in summary(theirs).items()}
        different = np.flatnonzero(ours != theirs)
        wrong += different.size
        for i in different[:3]:
            shown = " ".join(hex(x[i]) for x in inputs)
            print(f"{instruction} {shown}: GPU {theirs[i]:#x}, emulator {ours[i]:#x}", flush=True)
    about = machine()
    save_arrays(given.out, arrays, version=VERSION, **about)
    add_source(
        given.out, gpu=about["gpu"], driver=about["driver"], toolkit=f"NVRTC {about['nvrtc']}",
        contents="results of the approximate instructions, some whole, all as digests; see tools/record_approx.py",
        generator=f"tools/record_approx.py, inputs version {VERSION}",
    )  # fmt: skip
    print(f"{given.out}: {len(INSTRUCTIONS)} instructions, {wrong} results differ, {time.monotonic() - started:.1f} s")
    return compare(arrays, given.compare) or int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
