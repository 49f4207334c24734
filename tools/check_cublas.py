# SPDX-License-Identifier: MIT
"""Compare recorded products of cuBLAS with `wmma_emu.gemm`; exit status 1 if one that a preset claims is not equal.

python -m tools.check_cublas tests/data/sm90_cublas.npz [--only REGEX]
"""

import argparse
import re
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.cublas_cases import CASES, CORNER, MODEL_CASES, VERSION, CublasProduct, addend, inputs
from tools.record_cublas import row_checksums
from tools.recordings import load_arrays
from wmma_emu.errors import UnverifiedModelWarning
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.gemm import gemm


class Result(NamedTuple):
    """Return the numbers of differing rows and corner bits in one case, and whether a preset claims equality."""

    case: CublasProduct
    rows: int
    rows_differ: int
    corner_differs: int
    claimed: bool

    @property
    def equal(self) -> bool:
        return not (self.rows_differ or self.corner_differs)


def emulate(case: CublasProduct, seed: int) -> tuple[NDArray[Any], bool]:
    """Return the emulator's product of the same inputs as patterns, and whether its preset claims them."""
    dtype, out = dtype_of(case.fmt), dtype_of(case.out_format)
    A, B = (x.view(dtype) for x in inputs(case, seed))
    C, keywords = None, {"out_dtype": out, "like": case.preset} if case.preset else {"instr": "fma.f32"}
    if case.adds_c:
        C = addend(case, seed).view(out)
        keywords |= {"alpha": case.alpha, "beta": case.beta}
    elif case.call == "linear":
        keywords["bias"] = addend(case, seed)[0].view(out)
    elif case.alpha != 1:
        keywords["alpha"] = case.alpha
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        D = gemm(A, B, C, **keywords)
    unproven = any(issubclass(x.category, UnverifiedModelWarning) for x in caught)
    return D.view(f"u{D.itemsize}"), bool(case.preset) and not unproven


def check(
    arrays: dict[str, NDArray[Any]], metadata: dict[str, Any], cases: Sequence[CublasProduct] = (*CASES, *MODEL_CASES)
) -> Iterator[Result]:
    """Compare the cases that a file has; modes and layouts that share inputs are computed once.

    Raises
    ------
    ValueError
        If the generator of inputs is not the one that the recording was made with.
    """
    if metadata["version"] != VERSION:
        raise ValueError(f"recorded with version {metadata['version']} of the inputs, this is {VERSION}")
    computed: dict[CublasProduct, tuple[NDArray[Any], bool]] = {}
    for case in cases:
        if f"{case.key}|rows" not in arrays:
            continue
        product = case._replace(transposed="NN", strict=True)
        if product not in computed:
            computed[product] = emulate(case, metadata["seed"])
        bits, claimed = computed[product]
        bits = bits.reshape(-1, bits.shape[-1])
        rows, corner = arrays[f"{case.key}|rows"], arrays[f"{case.key}|corner"]
        wrong_rows = int(np.count_nonzero(row_checksums(bits) != rows))
        wrong = int(np.count_nonzero(bits[:CORNER, :CORNER] != corner))
        yield Result(case, len(rows), wrong_rows, wrong, claimed)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="regular expression that keys must contain")
    given = parser.parse_args(arguments)
    started, bad, count = time.monotonic(), 0, 0
    arrays, metadata = load_arrays(given.file)
    cases = [x for x in (*CASES, *MODEL_CASES) if re.search(given.only, x.key)]
    for x in check(arrays, metadata, cases):
        verdict = {
            (True, True): "equal",
            (False, True): "DIFFERS",
            (True, False): "equal, which no preset claims",
            (False, False): "differs, and no preset claims equality",
        }[x.equal, x.claimed]
        bad, count = bad + (x.claimed and not x.equal), count + 1
        print(f"{x.case.key:<40} {x.rows_differ:>4} of {x.rows:>4} rows, {x.corner_differs:>3} patterns of the "
              f"corner differ: {verdict}", flush=True)  # fmt: skip
    print(f"{count} products, {bad} differ that should be equal; {time.monotonic() - started:.1f} s")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
