# SPDX-License-Identifier: MIT
"""Launches of the tensor-core kernels of NVIDIA's CUDA Samples: sizes, arguments, results.

The sources are not part of this project: `tools.run_nvidia_samples` compiles them where the reader has them.
"""

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from tools.sample_launches import Array, DrawnArguments, SampleLaunch, Source
from wmma_emu.ptx.program.program import Parameter

__all__ = ["LAUNCHES", "SOURCES"]

BLOCK = 256
"""Threads of a block of the GEMMs that go through shared memory."""


def _sample(name: str, k_tiles: int) -> Source:
    folder = f"Samples/3_CUDA_Features/{name}"
    return Source("cuda-samples", f"{folder}/{name}.cu", tiles={"M_TILES": 16, "N_TILES": 16, "K_TILES": k_tiles})


SOURCES = {
    "cudaTensorCoreGemm": _sample("cudaTensorCoreGemm", 16),
    "immaTensorCoreGemm": _sample("immaTensorCoreGemm", 16),
    "bf16TensorCoreGemm": _sample("bf16TensorCoreGemm", 16),
    "tf32TensorCoreGemm": _sample("tf32TensorCoreGemm", 32),
    "dmmaTensorCoreGemm": _sample("dmmaTensorCoreGemm", 32),
}


class Gemm(NamedTuple):
    """The arithmetic of a sample: shape of a WMMA tile, types, elements of padding, tiles of K that are staged."""

    tile: tuple[int, int, int]
    operand: Any
    result: Any
    padding: int
    staged: int
    alpha: float = 1.1
    beta: float = 1.2

    def shape(self, source: str) -> tuple[int, int, int]:
        tiles = SOURCES[source].tiles
        return tuple(x * tiles[f"{axis}_TILES"] for x, axis in zip(self.tile, "MNK", strict=True))  # type: ignore

    @property
    def shared(self) -> int:
        """Bytes of A and B, or of the tile of C that is in the same place before and after."""
        m, n, k = self.tile
        operands = 2 * np.dtype(self.operand).itemsize * 8 * m * (self.staged * k + self.padding)
        return max(operands, 64 * m * n * np.dtype(self.result).itemsize)


F16 = Gemm((16, 16, 16), np.float16, np.float32, 16, 4)
U8 = Gemm((16, 16, 16), np.uint8, np.int32, 32, 8, 1, 1)
BF16 = Gemm((16, 16, 16), ml_dtypes.bfloat16, np.float32, 16, 8)
TF32 = Gemm((16, 16, 8), np.float32, np.float32, 8, 8)
F64 = Gemm((8, 8, 4), np.float64, np.float64, 4, 16)


def _staged(source: str, kernel: str, gemm: Gemm) -> SampleLaunch:
    """Return a GEMM that goes through shared memory: fewer blocks than tiles of D, so that a block computes two."""

    def draw(rng: np.random.Generator, parameters: tuple[Parameter, ...]) -> DrawnArguments:
        A, B, C, D, expected, bound = _product(rng, gemm, gemm.shape(source))
        return DrawnArguments((A, B, C, D, _scalar(gemm, gemm.alpha), _scalar(gemm, gemm.beta)), D, expected, bound)

    return SampleLaunch(source, kernel, 2, BLOCK, gemm.shared, draw)


def _simple(source: str, kernel: str, gemm: Gemm, b_in_tiles: bool = False) -> SampleLaunch:
    """Return a GEMM of one warp for each tile of D, which reads global memory.

    ``b_in_tiles``: the kernel reads tile (j, i) of B where the product takes tile (i, j).
    """
    m, n, k = gemm.shape(source)
    rows, columns = gemm.tile[0] * 4, gemm.tile[1] * 4

    def draw(rng: np.random.Generator, parameters: tuple[Parameter, ...]) -> DrawnArguments:
        A, B, C, D, expected, bound = _product(rng, gemm, (m, n, k), b_in_tiles)
        arguments = (A, B, C, D, m, n, k, _scalar(gemm, gemm.alpha), _scalar(gemm, gemm.beta))
        return DrawnArguments(arguments, D, expected, bound)

    return SampleLaunch(source, kernel, (-(-m // rows), -(-n // columns)), (128, 4), 0, draw)


def _scalar(gemm: Gemm, number: float) -> float | int:
    """Return the scalars in the type of the sample: a float even if it is widened."""
    return int(number) if gemm.result is np.int32 else float(np.float32(number))


def _product(
    rng: np.random.Generator, gemm: Gemm, shape: tuple[int, int, int], b_in_tiles: bool = False
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Draw row-major A, column-major B, C and an empty D; return what ``alpha * A @ B + beta * C`` is."""
    m, n, k = shape
    if gemm.result is np.int32:
        A, B = (rng.integers(0, 256, (x, k), dtype=np.uint8) for x in (m, n))
        C = rng.integers(-1000, 1000, (m, n), dtype=np.int32)
        expected = A.astype(np.int64) @ B.T.astype(np.int64) + C
        return A, B, C, np.zeros((m, n), np.int32), expected, np.zeros((m, n))
    A, B = (rng.uniform(-1, 1, (x, k)).astype(gemm.operand) for x in (m, n))
    C = rng.uniform(-1, 1, (m, n)).astype(gemm.result)
    a, b, c = A.astype(np.float64), B.T.astype(np.float64), C.astype(np.float64)
    if b_in_tiles:
        side = gemm.tile[2]
        tiles = b.reshape(k // side, side, n // side, side).swapaxes(0, 2)
        b = tiles.reshape(k, n)
    alpha, beta = _scalar(gemm, gemm.alpha), _scalar(gemm, gemm.beta)
    magnitude = alpha * (np.abs(a) @ np.abs(b)) + beta * np.abs(c)
    steps = k // 4 + 8  # sums that a chip makes one after another, at most, and the scaling
    unit = 2.0**-52 if gemm.result is np.float64 else 2.0**-22
    operands = 2.0**-10 if gemm is TF32 else 0.0  # both rounded to 11 bits
    return A, B, C, np.zeros((m, n), gemm.result), alpha * (a @ b) + beta * c, (steps * unit + operands) * magnitude


LAUNCHES = (
    _staged("cudaTensorCoreGemm", "compute_gemm", F16),
    _simple("cudaTensorCoreGemm", "simple_wmma_gemm", F16),
    _staged("immaTensorCoreGemm", "compute_gemm_imma", U8),
    _simple("immaTensorCoreGemm", "simple_wmma_gemm_imma", U8),
    _staged("bf16TensorCoreGemm", "compute_bf16gemm", BF16),
    _staged("bf16TensorCoreGemm", "compute_bf16gemm_async_copy", BF16),
    _simple("bf16TensorCoreGemm", "simple_wmma_bf16gemm", BF16, b_in_tiles=True),
    _staged("tf32TensorCoreGemm", "compute_tf32gemm", TF32),
    _staged("tf32TensorCoreGemm", "compute_tf32gemm_async_copy", TF32),
    _simple("tf32TensorCoreGemm", "simple_wmma_tf32gemm", TF32),
    _staged("dmmaTensorCoreGemm", "compute_dgemm", F64),
    _staged("dmmaTensorCoreGemm", "compute_dgemm_async_copy", F64),
    _staged("dmmaTensorCoreGemm", "compute_dgemm_cg_async_copy", F64),
    _simple("dmmaTensorCoreGemm", "simple_wmma_gemm", F64),
)
