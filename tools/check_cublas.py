# SPDX-License-Identifier: MIT
"""Compare recorded products of cuBLAS with `wmma_emu.gemm`; exit status 1 if one that should be equal is not.

python -m tools.check_cublas tests/data/sm90_cublas.npz [--only REGEX]
"""

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.cublas_cases import CASES, CORNER, VERSION, Case, inputs
from tools.record_cublas import row_checksums
from tools.recordings import load_arrays
from wmma_emu.formats import format_of
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.gemm import gemm


class Result(NamedTuple):
    """How many rows, and bits of the corner, differ in one case."""

    case: Case
    rows: int
    rows_differ: int
    corner_differs: int


def emulate(case: Case, seed: int, arch: str = "sm_90") -> NDArray[Any]:
    """Patterns of the product that the emulator computes from the same inputs."""
    dtype = dtype_of(format_of(case.fmt))
    A, B = (x.view(dtype) for x in inputs(case, seed))
    return gemm(A, B, arch=arch, out_dtype=dtype).view(np.uint16)


def check(
    arrays: dict[str, NDArray[Any]], metadata: dict[str, Any], cases: Sequence[Case] = CASES, arch: str = "sm_90"
) -> Iterator[Result]:
    """Compare the cases that a file has; modes and layouts that share inputs are computed once.

    Raises
    ------
    ValueError
        If the generator of inputs is not the one that the recording was made with.
    """
    if metadata["version"] != VERSION:
        raise ValueError(f"recorded with version {metadata['version']} of the inputs, this is {VERSION}")
    computed: dict[tuple[object, ...], NDArray[Any]] = {}
    for case in cases:
        if f"{case.key}|rows" not in arrays:
            continue
        product = case[:4]
        if product not in computed:
            computed[product] = emulate(case, metadata["seed"], arch)
        bits = computed[product]
        rows, corner = arrays[f"{case.key}|rows"], arrays[f"{case.key}|corner"]
        wrong_rows = int(np.count_nonzero(row_checksums(bits) != rows))
        yield Result(case, len(rows), wrong_rows, int(np.count_nonzero(bits[:CORNER, :CORNER] != corner)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="regular expression that keys must contain")
    parser.add_argument("--arch", default="sm_90")
    given = parser.parse_args(arguments)
    started, bad, count = time.monotonic(), 0, 0
    arrays, metadata = load_arrays(given.file)
    cases = [x for x in CASES if re.search(given.only, x.key)]
    for x in check(arrays, metadata, cases, given.arch):
        equal = not (x.rows_differ or x.corner_differs)
        verdict = "equal" if equal else "DIFFERS" if x.case.expected_equal else f"differs, as known: {x.case.why_not}"
        if equal and not x.case.expected_equal:
            verdict = "equal, although another kernel was expected"
        bad, count = bad + (not equal and x.case.expected_equal), count + 1
        print(f"{x.case.key:<34} {x.rows_differ:>4} of {x.rows:>4} rows, {x.corner_differs:>3} patterns of the "
              f"corner differ: {verdict}", flush=True)  # fmt: skip
    print(f"{count} products, {bad} differ that should be equal; {time.monotonic() - started:.1f} s")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
