# SPDX-License-Identifier: MIT
"""Record FP8 products with float32 scales, of PyTorch and cublasLt: a checksum of every row, and a corner of the bits.

    python -m tools.record_scaled_mm --out tests/data/sm90_scaled_mm.npz

Needs PyTorch with CUDA, and a Hopper GPU. ``tests/vectors/test_scaled_mm.py`` computes the products again.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.cublas_lt import multiply
from tools.cuda_driver import versions
from tools.record_cublas import _cublas_version, row_checksums
from tools.recordings import add_source, recording_parser, save_arrays

__all__ = ["CASES", "CORNER", "VERSION", "ScaledProduct", "inputs"]

VERSION = 1
"""The seed of `inputs`."""

CORNER = 16

_K = 1024


class ScaledProduct(NamedTuple):
    """One product: what shares a scale in A and in B, the format of D, and how sums are taken.

    Those with a ``draw`` are of cublasLt, the others of `torch._scaled_mm`.
    """

    a: str
    b: str
    out: str
    fast: bool
    bias: bool = False
    shape: tuple[int, int, int] = (128, 256, _K)
    alpha: float = 1
    beta: float = 0
    draw: int = 0

    @property
    def key(self) -> str:
        """Name of its arrays."""
        fast, bias = "fast" if self.fast else "promoted", "-bias" if self.bias else ""
        sizes = "x".join(map(str, self.shape))
        drawn = f"-alpha{self.alpha:g}-beta{self.beta:g}-draw{self.draw}" if self.draw else ""
        return f"{self.a}-{self.b}-{self.out}-{fast}{bias}-{sizes}{drawn}"


CASES = (
    *(ScaledProduct("tensor", "tensor", out, fast) for out in ("f32", "bf16") for fast in (False, True)),
    ScaledProduct("tensor", "tensor", "bf16", False, bias=True),
    ScaledProduct("tensor", "tensor", "bf16", True, bias=True),
    *(ScaledProduct("row", "row", out, fast) for out in ("f32", "bf16") for fast in (False, True)),
    ScaledProduct("row", "row", "bf16", False, bias=True),
    ScaledProduct("row", "row", "bf16", True, bias=True),
    *(
        ScaledProduct(a, b, out, False)
        for a, b in (("1x128", "128x128"), ("128x128", "1x128"), ("1x128", "1x128"))
        for out in ("f32", "bf16")
    ),
    ScaledProduct("1x128", "128x128", "bf16", False, shape=(256, 512, 2048)),
    ScaledProduct("row", "row", "bf16", False, shape=(64, 128, 1024)),
    ScaledProduct("row", "row", "bf16", True, shape=(256, 256, 512)),
    *(ScaledProduct(x, x, "bf16", False, bias=True, shape=(1024, 1024, 128)) for x in ("tensor", "row")),
    *(
        ScaledProduct(x, x, out, False, shape=(128, 128, 512), alpha=alpha, beta=beta, draw=1)
        for x in ("tensor", "row", "1x128")
        for out in ("f32", "bf16")
        for alpha, beta in ((1, 0), (1, 1), (0.7, 0), (0.7, 1), (1, 0.3), (0.7, 0.3))
    ),
    *(
        ScaledProduct("tensor", "tensor", "f32", False, shape=(128, 128, 512), alpha=0.7, beta=0.3, draw=draw)
        for draw in range(2, 10)
    ),
    *(
        ScaledProduct("1x128", "128x128", "f32", False, shape=(128, 256, 512), alpha=alpha, beta=beta, draw=1)
        for alpha, beta in ((1, 0), (0.7, 0), (0.7, 1), (0.7, 0.3))
    ),
)
"""Return the cases; those that the library rejects are omitted."""


def _scale_shape(kind: str, lines: int, k: int) -> tuple[int, ...]:
    blocks = -(-k // 128)
    return {"tensor": (), "row": (lines, 1), "1x128": (lines, blocks), "128x128": (-(-lines // 128), blocks)}[kind]


def inputs(case: ScaledProduct) -> dict[str, NDArray[Any]]:
    """Return A (M, K) and B (K, N) as e4m3 patterns, float32 scales as for `wmma_emu.gemm`; bias and C as bf16."""
    m, n, k = case.shape
    rng = np.random.default_rng([VERSION, m, n, k, *([case.draw] if case.draw else [])])
    a, b = (rng.integers(0, 256, shape, np.uint8) for shape in ((m, k), (k, n)))
    for x in (a, b):
        x[(x & 0x7F) == 0x7F] = 0
    bias = rng.integers(0x3C00, 0x4300, n, np.uint16) | rng.integers(0, 2, n, np.uint16) << 15
    scales = []
    for kind, lines in ((case.a, m), (case.b, n)):
        shape = _scale_shape(kind, lines, k)
        bits = rng.integers(0x3A00_0000, 0x3D00_0000, shape, np.uint32)
        scales.append(np.asarray(bits, np.uint32).view(np.float32))
    c = rng.integers(0x4200, 0x4300, (m, n), np.uint16) | rng.integers(0, 2, (m, n), np.uint16) << 15
    return {"a": a, "b": b, "scale_a": scales[0], "scale_b": scales[1].T, "bias": bias, "c": c}


def _multiply(case: ScaledProduct) -> NDArray[Any]:
    import torch

    given = inputs(case)
    e4m3 = torch.float8_e4m3fn
    a = torch.from_numpy(given["a"]).cuda().view(e4m3)
    b = torch.from_numpy(np.ascontiguousarray(given["b"].T)).cuda().view(e4m3).t()
    out = {"f32": torch.float32, "bf16": torch.bfloat16}[case.out]
    bias = torch.from_numpy(given["bias"].view(np.int16)).cuda().view(torch.bfloat16) if case.bias else None
    scales = []
    for kind, scale in ((case.a, given["scale_a"]), (case.b, given["scale_b"].T)):
        tensor = torch.from_numpy(np.array(scale)).cuda()
        if kind == "1x128":  # of one k, all rows lie side by side
            tensor = tensor.t().contiguous().t()
        scales.append(tensor)
    if case.draw:
        c = torch.from_numpy(given["c"].view(np.int16)).cuda().view(torch.bfloat16).to(out)
        kinds = (case.a, case.b)
        stored = [x.t().contiguous() if kind == "1x128" else x for kind, x in zip(kinds, scales, strict=True)]
        d = multiply(a, b.t(), *stored, c, alpha=case.alpha, beta=case.beta, modes=kinds, fast=case.fast)
        return _patterns(d)
    d = torch._scaled_mm(
        a, b, scale_a=scales[0], scale_b=scales[1].t() if scales[1].ndim else scales[1], bias=bias, out_dtype=out,
        use_fast_accum=case.fast,
    )  # fmt: skip
    return _patterns(d)


def _patterns(d: Any) -> NDArray[Any]:
    import torch

    width = d.element_size()
    bits: NDArray[Any] = d.contiguous().view({2: torch.int16, 4: torch.int32}[width]).cpu().numpy()
    return bits.view({2: np.uint16, 4: np.uint32}[width])


def _kernels(case: ScaledProduct) -> list[str]:
    """Return the names of the kernels that a product runs."""
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        _multiply(case)
        torch.cuda.synchronize()
    return [x.key for x in profile.key_averages() if "mm" in x.key.lower() or "nvjet" in x.key or "cutlass" in x.key]


def main() -> int:
    """Record every case."""
    parser: argparse.ArgumentParser = recording_parser(__doc__)
    parser.add_argument("--whole", type=Path, help="npz file for every bit of the results")
    options = parser.parse_args()
    arrays: dict[str, NDArray[Any]] = {}
    whole: dict[str, NDArray[Any]] = {}
    kernels: dict[str, list[str]] = {}
    for case in CASES:
        try:
            bits = _multiply(case)
            kernels[case.key] = _kernels(case)
        except (RuntimeError, ValueError) as error:
            print(f"{case.key}: refused: {str(error).splitlines()[0][:300]}", flush=True)
            continue
        print(f"{case.key}: {[x[:160] for x in kernels[case.key]]}", flush=True)
        arrays[f"{case.key}|rows"] = row_checksums(bits)
        arrays[f"{case.key}|corner"] = bits[:CORNER, :CORNER].copy()
        whole[case.key] = bits
    if options.whole is not None:
        np.savez_compressed(options.whole, **whole)
    import torch

    found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cublas": _cublas_version(), **versions()}
    save_arrays(options.out, arrays, version=VERSION, kernels=kernels, **found)
    add_source(
        options.out, contents="case -> CRC-32 of every row of D, and a corner of its bits",
        generator=f"tools/record_scaled_mm.py, inputs version {VERSION}", **found,
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
