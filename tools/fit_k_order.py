# SPDX-License-Identifier: MIT
"""Look for the orders of accumulation that reproduce recorded products of a library, and say which do.

    python -m tools.fit_k_order tests/data/sm90_cublas.npz [--only REGEX] [--rows 8]

Tried on the first rows, then on all: a plain loop; main loops with a partial tile first; 2 to 64 ranges of k, multiples
of several lengths, their sums stored in float32 or in D's format, added in several orders; promotion to float32 after
1, 2, 4, ... instructions. Equal candidates are tried once. Exit status 1 if a product has no fit.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cublas_cases import CASES, MODEL_CASES, CublasProduct, addend, inputs
from tools.record_cublas import row_checksums
from tools.recordings import load_arrays
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.gemm import KOrder, gemm
from wmma_emu.gemm.k_order import plan_of

_INSTRUCTIONS = {
    "f16": ("m16n8k16.f32.f16.f16.f32", "m16n8k8.f32.f16.f16.f32"),
    "bf16": ("m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.bf16.bf16.f32"),
    "tf32": ("m16n8k8.f32.tf32.tf32.f32", "m16n8k4.f32.tf32.tf32.f32"),
    "f32": ("fma.f32",),
    "e4m3": ("wgmma.m64n8k32.f32.e4m3.e4m3",),
    "s8": ("m16n8k32.s32.s8.s8.s32",),
}
_STEPS = {"m16n8k16": 16, "m16n8k8": 8, "m16n8k4": 4, "fma": 1, "wgmma": 32, "m16n8k32": 32}
_MOST_SPLITS = 64


def emulate(case: CublasProduct, seed: int, instr: str, order: KOrder, rows: int | None = None) -> NDArray[Any]:
    """Return patterns of the first rows of D, with the epilogue of `gemm`."""
    dtype, out = dtype_of(case.fmt), dtype_of(case.out_format)
    A, B = inputs(case, seed)
    keywords: dict[str, Any] = {"instr": instr, "arch": "sm_90", "out_dtype": out, "k_order": order}
    C = None
    if case.adds_c:
        C = addend(case, seed)[:rows].view(out)
        keywords |= {"alpha": case.alpha, "beta": case.beta}
    elif case.call == "linear":
        keywords["bias"] = addend(case, seed)[0].view(out)
    elif case.alpha != 1:
        keywords["alpha"] = case.alpha
    D = gemm(A[:rows].view(dtype), B.view(dtype), C, **keywords)
    bits: NDArray[Any] = D.view(f"u{D.itemsize}")
    return bits


def candidates(case: CublasProduct) -> Iterator[tuple[str, KOrder]]:
    """Return instructions and orders, plain ones first."""
    for instr in _INSTRUCTIONS[case.fmt]:
        step, seen = _STEPS[instr.split(".")[0]], set()
        for order in _orders(case, step):
            try:
                plan = plan_of(order, case.k, step, 1 << 20)
            except ValueError:
                continue
            several = (order.partials, order.reduction) if len(plan) > 1 else ()
            key = (repr(plan), several)
            if key not in seen:
                seen.add(key)
                yield instr, order


def _orders(case: CublasProduct, step: int) -> Iterator[KOrder]:
    yield KOrder()
    tiles = [x for x in (8, 16, 32, 64, 128) if x % step == 0]
    promotions = (0, 1, 2, 4, 8, 16) if case.fmt == "e4m3" else (0,)
    stored = ("",) if case.out_format in ("f32", "s32") else ("", case.out_format)
    for promote, splits in product(promotions, range(1, _MOST_SPLITS + 1)):
        for tile, residue in product(tiles, ("last", "first")):
            for multiple in sorted({8, 16, tile}):
                for partials, reduction in product(stored, ("ascending", "descending", "pairwise", "serial")):
                    yield KOrder(tile=tile, residue=residue, splits=splits, split_multiple=multiple, partials=partials,
                                 reduction=reduction, promote_every=promote)  # fmt: skip


def fits(case: CublasProduct, rows: NDArray[Any], seed: int, first: int, most: int) -> list[tuple[str, KOrder]]:
    """Return the candidates that reproduce every row, ``most`` of them at most."""
    found = []
    for instr, order in candidates(case):
        if np.array_equal(row_checksums(emulate(case, seed, instr, order, first)), rows[:first]) and np.array_equal(
            row_checksums(emulate(case, seed, instr, order)), rows
        ):
            found.append((instr, order))
            if len(found) == most:
                break
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="regular expression that keys must contain")
    parser.add_argument("--rows", type=int, default=8, help="rows on which a candidate is tried first")
    parser.add_argument("--most", type=int, default=1, help="fits to look for, of each product")
    given = parser.parse_args(arguments)
    arrays, metadata = load_arrays(given.file)
    count = without = 0
    for case in (*CASES, *MODEL_CASES):
        rows = arrays.get(f"{case.key}|rows")
        if rows is None or not re.search(given.only, case.key):
            continue
        found = fits(case, rows, metadata["seed"], given.rows, given.most)
        count, without = count + 1, without + (not found)
        for instr, order in found or [("", KOrder())]:
            changed = {x: getattr(order, x) for x in KOrder.__slots__ if getattr(order, x) != getattr(KOrder(), x)}
            text = ", ".join(f"{x}={value!r}" for x, value in changed.items())
            print(f"{case.key:<40} {f'{instr} KOrder({text})' if found else 'NOTHING FITS'}", flush=True)
    print(f"{count} products, {without} without a fit")
    return 1 if without or not count else 0


if __name__ == "__main__":
    sys.exit(main())
