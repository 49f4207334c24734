# SPDX-License-Identifier: MIT
"""Compare published dot products of eight GPUs with the emulator; exit status 1 on a mismatch.

    python -m tools.check_dot_products tests/data/recorded_dot_products.npz [--engine reference]

Keys are ``GPU|format|A``, B, C, D_fp32 and D_fp16. A and B are (rows, K): values at k = 0 ... K-1, all further k of
the instruction being +0. In the full file every array holds float32 patterns; the subset of `sample_dot_products`
holds patterns of the formats themselves. C is float32, rounded to nearest even where the instruction takes f16.

Element (i, i) of a tile is dot product i; so one tile does eight or sixteen of them.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.recordings import load_arrays
from wmma_emu.api import instruction
from wmma_emu.arithmetic import DotModel, DotProduct, matmul
from wmma_emu.evidence import Evidence
from wmma_emu.formats import Format, format_of
from wmma_emu.scalar import convert

Bits = NDArray[Any]

ARCHS = {
    "V100": "sm_70", "A100": "sm_80", "A2": "sm_86", "Ada": "sm_89", "L40S": "sm_89", "H100": "sm_90", "H200": "sm_90",
    "B200": "sm_100",
}  # fmt: skip

FORMATS = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2"}

_ACCUMULATORS = {"D_fp32": "f32", "D_fp16": "f16"}


class Result(NamedTuple):
    """Outputs and mismatches of one array, by the way that they were computed."""

    gpu: str
    fmt: str
    accumulator: str
    computed_by: str
    outputs: int
    mismatches: int


def instructions(gpu: str, fmt: str, accumulator: str) -> tuple[str, ...]:
    """Return the instructions of one array: the recorded `wmma.mma`, and its `mma.sync`; none for `wgmma`."""
    d = accumulator
    if fmt in ("e4m3", "e5m2"):
        if gpu in ("H100", "H200") and d == "f32":
            return ()
        return (f"mma.sync.aligned.m16n8k32.row.col.{d}.{fmt}.{fmt}.{d}",)
    if gpu == "V100":
        return (f"wmma.mma.sync.aligned.row.col.m16n16k16.{d}.{d}", f"mma.sync.aligned.m8n8k4.row.col.{d}.f16.f16.{d}")
    if fmt == "tf32":
        return ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", "m16n8k8.f32.tf32.tf32.f32")
    types = f"{d}.{d}" if fmt == "f16" else f"{d}.{fmt}.{fmt}.{d}"
    return (f"wmma.mma.sync.aligned.row.col.m16n16k16.{types}", f"m16n8k16.{d}.{fmt}.{fmt}.{d}")


def wgmma_product(fmt: str) -> DotProduct:
    """Return Hopper's FP8 `wgmma` with f32 accumulators: 32 products, 13 fraction bits in sum and result."""
    model = DotModel(
        arch="sm_90", families=("wgmma",), shapes=(), inputs=(fmt,), accumulator="f32", arithmetic="aligned_sum",
        evidence=Evidence("recorded", "published recordings of H100 and H200", frozenset({"wgmma"})), terms_per_step=32,
        fraction_bits=13, min_exponent=-131, output="e8m13", rounding="RZ",
    )  # fmt: skip
    operand, f32 = format_of(fmt), format_of("f32")
    return DotProduct(model, operand, operand, f32, f32, k=32)


def patterns(array: Bits, fmt: Format) -> Bits:
    """Return patterns of a format, from float32 patterns or as they are; float32 patterns must be exact."""
    if array.dtype == fmt.storage:
        return array
    result = convert(array, format_of("f32"), fmt)
    if not np.array_equal(convert(result, fmt, format_of("f32")), array):
        raise ValueError(f"a float32 pattern of the recording is not an {fmt} number")
    return result


def tiles(rows: Bits, per_tile: int, shape: tuple[int, int]) -> Bits:
    """Put vectors into the leading rows of matrices, ``per_tile`` into each; all else is +0."""
    count = -(-len(rows) // per_tile)
    filled = np.zeros((count * per_tile, rows.shape[1]), rows.dtype)
    filled[: len(rows)] = rows
    out = np.zeros((count, *shape), rows.dtype)
    out[:, :per_tile, : rows.shape[1]] = filled.reshape(count, per_tile, -1)
    return out


def diagonals(values: Bits, per_tile: int, shape: tuple[int, int]) -> Bits:
    """Put scalars onto the diagonals of matrices."""
    count = -(-len(values) // per_tile)
    filled = np.zeros(count * per_tile, values.dtype)
    filled[: len(values)] = values
    out = np.zeros((count, *shape), values.dtype)
    out[:, np.arange(per_tile), np.arange(per_tile)] = filled.reshape(count, per_tile)
    return out


def check(arrays: dict[str, Bits], engine: str) -> Iterator[Result]:
    """Compare every array of outputs, through registers and through matrices."""
    f32 = format_of("f32")
    for key in arrays:
        gpu, name, kind = key.split("|")
        if kind not in _ACCUMULATORS:
            continue
        accumulator = format_of(_ACCUMULATORS[kind])
        fmt = format_of(FORMATS[name])
        a, b = (patterns(arrays[f"{gpu}|{name}|{x}"], fmt) for x in "AB")
        c = convert(arrays[f"{gpu}|{name}|C"], f32, accumulator)
        recorded = patterns(arrays[key], accumulator)

        def result(how: str, d: Bits, gpu=gpu, fmt=fmt, accumulator=accumulator, recorded=recorded) -> Result:
            wrong = int(np.count_nonzero(d.reshape(-1)[: len(recorded)] != recorded))
            return Result(gpu, fmt.name, accumulator.name, how, len(recorded), wrong)

        mnemonics = instructions(gpu, fmt.name, accumulator.name)
        if not mnemonics:
            zero = np.zeros((len(a), 1, 1), np.uint32)
            d = matmul(wgmma_product(fmt.name), a[:, None, :], b[:, :, None], zero, engine=engine)
            yield result("wgmma, c = 0", d)
        for mnemonic in mnemonics:
            ins = instruction(mnemonic, arch=ARCHS[gpu])
            entry = ins.instruction
            per_tile = min(entry.m, entry.n)
            A = tiles(a, per_tile, (entry.m, entry.k))
            B = tiles(b, per_tile, (entry.n, entry.k)).swapaxes(-1, -2)
            C = diagonals(c, per_tile, (entry.m, entry.n))
            if entry.products > 1:
                A, B, C = (_four_by_four(x, entry.products) for x in (A, B, C))
            on = np.arange(per_tile)
            registers = ins.execute(ins.a.pack(A), ins.b.pack(B), ins.c.pack(C), engine=engine)
            D = ins.d.unpack(registers).view(accumulator.storage)
            yield result(f"{entry.family} execute", D[..., on, on])
            D = ins(A, B, C, engine=engine).view(accumulator.storage)
            yield result(f"{entry.family} matrices", D[..., on, on])


def _four_by_four(matrices: Bits, products: int) -> Bits:
    """Group matrices for an instruction that computes several products at once."""
    missing = -len(matrices) % products
    padded = np.concatenate([matrices, np.zeros((missing, *matrices.shape[1:]), matrices.dtype)])
    return padded.reshape(-1, products, *matrices.shape[1:])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--engine", default="numpy", choices=("numpy", "reference"))
    parser.add_argument("--quiet", action="store_true", help="print only arrays that differ, and the totals")
    given = parser.parse_args(arguments)
    started = time.monotonic()
    arrays, _ = load_arrays(given.file)
    results = []
    for x in check(arrays, given.engine):
        results.append(x)
        if x.mismatches or not given.quiet:
            print(f"{x.gpu:<5} {x.fmt:<5} {x.accumulator:<4} {x.computed_by:<20} {x.outputs:>6} outputs, "
                  f"{x.mismatches} differ", flush=True)  # fmt: skip
    wrong = sum(x.mismatches for x in results)
    recorded = sum(len(v) for k, v in arrays.items() if k.rpartition("|")[2] in _ACCUMULATORS)
    print(f"{recorded} recorded outputs, {sum(x.outputs for x in results)} comparisons, engine {given.engine}: "
          f"{wrong} differ; {time.monotonic() - started:.1f} s")  # fmt: skip
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
