# SPDX-License-Identifier: MIT
"""Launches of the tensor-core kernels of NVIDIA's CUDA Samples and of CuTe's tutorials: sizes, arguments, results.

The sources are not part of this project: `tools.run_nvidia_samples` compiles them where the reader has them.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx import Struct
from wmma_emu.ptx.program.program import Parameter

__all__ = ["LAUNCHES", "SOURCES", "Drawn", "Launch", "Source"]

Array = NDArray[Any]

BLOCK = 256
"""Threads of a block of the staged GEMMs, and of the CuTe kernels in float."""


class Source(NamedTuple):
    """A file, and how it is compiled.

    Parameters
    ----------
    tree : {"cuda-samples", "cutlass"}
    path : str
        In that tree.
    arch : str
        What nvcc compiles for.
    tiles : dict
        Numbers of tiles that replace those of the source, which is made for matrices of thousands of rows.
    """

    tree: str
    path: str
    arch: str = "sm_80"
    tiles: dict[str, int] = {}  # noqa: RUF012


class Launch(NamedTuple):
    """A kernel and what it is given.

    Parameters
    ----------
    source : str
        Of `SOURCES`.
    kernel : str
        Its name in the source.
    grid, block : int or tuple of int
    shared : int
        Bytes of dynamic shared memory.
    draw : function
        From a Generator and the kernel's parameters to the arguments, the output among them, what it should hold in
        float64 or integers, and how far from it it may be.
    mangled : str
        Part of the mangled name that tells instances of a template apart.
    known : str
        A kind of finding that is the source's own: what is wrong there is said in the how-to.
    """

    source: str
    kernel: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    shared: int
    draw: Callable[[np.random.Generator, tuple[Parameter, ...]], "Drawn"]
    mangled: str = ""
    known: str = ""


class Drawn(NamedTuple):
    """Arguments, the output among them, the expected result, and the largest error of each element."""

    arguments: tuple[Any, ...]
    output: Array
    expected: Array
    bound: Array


def _sample(name: str, k_tiles: int) -> Source:
    folder = f"Samples/3_CUDA_Features/{name}"
    return Source("cuda-samples", f"{folder}/{name}.cu", tiles={"M_TILES": 16, "N_TILES": 16, "K_TILES": k_tiles})


def _tutorial(name: str, arch: str = "sm_80") -> Source:
    return Source("cutlass", f"examples/cute/tutorial/{name}.cu", arch)


SOURCES = {
    "cudaTensorCoreGemm": _sample("cudaTensorCoreGemm", 16),
    "immaTensorCoreGemm": _sample("immaTensorCoreGemm", 16),
    "bf16TensorCoreGemm": _sample("bf16TensorCoreGemm", 16),
    "tf32TensorCoreGemm": _sample("tf32TensorCoreGemm", 32),
    "dmmaTensorCoreGemm": _sample("dmmaTensorCoreGemm", 32),
    "tiled_copy": _tutorial("tiled_copy"),
    "tiled_copy_if": _tutorial("tiled_copy_if"),
    "sgemm_1": _tutorial("sgemm_1"),
    "sgemm_2": _tutorial("sgemm_2"),
    "sgemm_sm80": _tutorial("sgemm_sm80"),
    "wgmma_sm90": _tutorial("hopper/wgmma_sm90", "sm_90a"),
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


def _staged(source: str, kernel: str, gemm: Gemm) -> Launch:
    """A GEMM that goes through shared memory: fewer blocks than tiles of D, so that a block computes two."""

    def draw(rng: np.random.Generator, parameters: tuple[Parameter, ...]) -> Drawn:
        A, B, C, D, expected, bound = _product(rng, gemm, gemm.shape(source))
        return Drawn((A, B, C, D, _scalar(gemm, gemm.alpha), _scalar(gemm, gemm.beta)), D, expected, bound)

    return Launch(source, kernel, 2, BLOCK, gemm.shared, draw)


def _simple(source: str, kernel: str, gemm: Gemm, b_in_tiles: bool = False) -> Launch:
    """A GEMM of one warp for each tile of D, which reads global memory.

    ``b_in_tiles``: the kernel reads tile (j, i) of B where the product takes tile (i, j).
    """
    m, n, k = gemm.shape(source)
    rows, columns = gemm.tile[0] * 4, gemm.tile[1] * 4

    def draw(rng: np.random.Generator, parameters: tuple[Parameter, ...]) -> Drawn:
        A, B, C, D, expected, bound = _product(rng, gemm, (m, n, k), b_in_tiles)
        return Drawn((A, B, C, D, m, n, k, _scalar(gemm, gemm.alpha), _scalar(gemm, gemm.beta)), D, expected, bound)

    return Launch(source, kernel, (-(-m // rows), -(-n // columns)), (128, 4), 0, draw)


def _scalar(gemm: Gemm, number: float) -> float | int:
    """Of the type that the sample has: a float even where it is widened."""
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


def _filled(parameters: tuple[Parameter, ...], *values: Any) -> tuple[Any, ...]:
    """Give empty classes, one byte each, a zero, and the others their values in order."""
    given: Iterator[Any] = iter(values)
    return tuple(bytes(1) if x.bytes == 1 else next(given) for x in parameters)


def _cute(
    source: str, order: str, dtype: Any, shape: tuple[int, int, int], threads: int = BLOCK, shared: int = 0
) -> Launch:
    """CuTe's ``gemm_device`` in one order of A and B: C is column-major, "nt" means K-last, "tn" K-first."""
    m, n, k = shape

    def draw(rng: np.random.Generator, parameters: tuple[Parameter, ...]) -> Drawn:
        hopper = source == "wgmma_sm90"
        A, B = (_ones(rng, (x, k)) if hopper else rng.uniform(-1, 1, (x, k)).astype(dtype) for x in (m, n))
        C = rng.uniform(-1, 1, (n, m)).astype(dtype)
        alpha, beta = (1.0, 0.0) if hopper else (1.5, 0.5)
        a, b, c = A.astype(np.float64), B.astype(np.float64), C.astype(np.float64)
        expected = alpha * (b @ a.T) + beta * c
        unit = 2.0**-11 if dtype is np.float16 else 2.0**-24
        bound = (k // (16 if dtype is np.float16 else 1) + 4) * unit * (np.abs(alpha * b) @ np.abs(a.T) + abs(beta * c))
        if hopper:
            bound = np.zeros_like(bound)  # sums of ones, which f16 has exactly
        rows = order == "tn"
        A, B = (A, B) if rows else (np.ascontiguousarray(A.T), np.ascontiguousarray(B.T))
        lengths = np.array([m, n, k], np.int32).tobytes()
        scale = [dtype(alpha).tobytes(), dtype(beta).tobytes()] if dtype is np.float16 else [alpha, beta]
        mma = [np.array([1, 0], np.int32).tobytes()] if hopper else []
        strides = [np.int32(k if rows else x).tobytes() for x in (m, n)] + [np.int32(m).tobytes()]
        arguments = _filled(parameters, lengths, A, strides[0], B, strides[1], C, strides[2], *mma, *scale)
        return Drawn(arguments, C, expected, bound)

    tiles = (math.ceil(m / 128), math.ceil(n / 128))
    known = "race" if source == "wgmma_sm90" else ""  # no barrier between a copy and its use by other warps
    return Launch(source, "gemm_device", tiles, threads, shared, draw, _ORDERS[order], known)


_ORDERS = {"nt": "ILi1EEEiEEE", "tn": "IJiNS"}
"""Strides in the mangled name: ``tuple<C<1>, int>`` or ``tuple<int, C<1>>``; the first of them is A's."""


def _ones(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.choice(np.array([-1, 1], np.float16), shape)


def _copy(source: str, kernel: str, shape: tuple[int, int], tiled: bool) -> Launch:
    """CuTe's copies of a column-major tensor in tiles of 128 x 64; a tensor is a struct with its pointer last."""
    m, n = shape
    tiles = (math.ceil(m / 128), math.ceil(n / 64))

    def draw(rng: np.random.Generator, parameters: tuple[Parameter, ...]) -> Drawn:
        S, D = rng.uniform(-1, 1, (n, m)).astype(np.float32), np.zeros((n, m), np.float32)
        layout = (*tiles, m, 64 * m) if tiled else (m, n, m, 0)
        S_tensor, D_tensor = (Struct(*(np.int32(x) for x in layout), array) for array in (S, D))
        return Drawn(_filled(parameters, S_tensor, D_tensor), D, S.astype(np.float64), np.zeros((n, m)))

    return Launch(source, kernel, tiles, BLOCK, 0, draw)


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
    _copy("tiled_copy", "copy_kernel_vectorized", (256, 512), tiled=True),
    _copy("tiled_copy_if", "copy_if_kernel", (528, 300), tiled=False),
    _copy("tiled_copy_if", "copy_if_kernel_vectorized", (528, 300), tiled=False),
    _cute("sgemm_1", "nt", np.float32, (256, 128, 32)),
    _cute("sgemm_1", "tn", np.float32, (256, 128, 32)),
    _cute("sgemm_2", "nt", np.float32, (256, 128, 32)),
    _cute("sgemm_2", "tn", np.float32, (256, 128, 32)),
    _cute("sgemm_sm80", "tn", np.float16, (256, 128, 256), 128, 3 * 2 * 128 * 64 * 2),
    _cute("wgmma_sm90", "nt", np.float16, (256, 128, 256), 128, 3 * 2 * 128 * 64 * 2),
    _cute("wgmma_sm90", "tn", np.float16, (256, 128, 256), 128, 3 * 2 * 128 * 64 * 2),
)
