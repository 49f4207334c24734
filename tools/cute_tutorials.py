# SPDX-License-Identifier: MIT
"""Launches of the kernels of CuTe's tutorials: sizes, arguments, results.

The sources are not part of this project: `tools.run_nvidia_samples` compiles them where the reader has them.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tools.sample_launches import Array, DrawnArguments, SampleLaunch, Source
from wmma_emu.ptx import Struct
from wmma_emu.ptx.program.program import Parameter

__all__ = ["LAUNCHES", "SOURCES"]

BLOCK = 256
"""Threads of a block of copies, and of products in float."""


def _tutorial(name: str, arch: str = "sm_80") -> Source:
    return Source("cutlass", f"examples/cute/tutorial/{name}.cu", arch)


SOURCES = {
    "tiled_copy": _tutorial("tiled_copy"),
    "tiled_copy_if": _tutorial("tiled_copy_if"),
    "sgemm_1": _tutorial("sgemm_1"),
    "sgemm_2": _tutorial("sgemm_2"),
    "sgemm_sm80": _tutorial("sgemm_sm80"),
    "wgmma_sm90": _tutorial("hopper/wgmma_sm90", "sm_90a"),
}


def _filled(parameters: tuple[Parameter, ...], *values: Any) -> tuple[Any, ...]:
    """Pass a zero byte for each empty class, and the values of the others in order."""
    given: Iterator[Any] = iter(values)
    return tuple(bytes(1) if x.bytes == 1 else next(given) for x in parameters)


def _cute(
    source: str, order: str, dtype: Any, shape: tuple[int, int, int], threads: int = BLOCK, shared: int = 0
) -> SampleLaunch:
    """Return CuTe's ``gemm_device`` in one order of A and B: C is column-major, "nt" means K-last, "tn" K-first."""
    m, n, k = shape

    def draw(rng: np.random.Generator, parameters: tuple[Parameter, ...]) -> DrawnArguments:
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
        return DrawnArguments(arguments, C, expected, bound)

    tiles = (math.ceil(m / 128), math.ceil(n / 128))
    known = "race" if source == "wgmma_sm90" else ""  # no barrier between a copy and its use by other warps
    return SampleLaunch(source, "gemm_device", tiles, threads, shared, draw, _ORDERS[order], known)


_ORDERS = {"nt": "ILi1EEEiEEE", "tn": "IJiNS"}
"""Strides in the mangled name: ``tuple<C<1>, int>`` or ``tuple<int, C<1>>``; the first of them is A's."""


def _ones(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.choice(np.array([-1, 1], np.float16), shape)


def _copy(source: str, kernel: str, shape: tuple[int, int], tiled: bool) -> SampleLaunch:
    """Return CuTe's copies of a column-major tensor in tiles of 128 x 64; a tensor is a struct with a final pointer."""
    m, n = shape
    tiles = (math.ceil(m / 128), math.ceil(n / 64))

    def draw(rng: np.random.Generator, parameters: tuple[Parameter, ...]) -> DrawnArguments:
        S, D = rng.uniform(-1, 1, (n, m)).astype(np.float32), np.zeros((n, m), np.float32)
        layout = (*tiles, m, 64 * m) if tiled else (m, n, m, 0)
        S_tensor, D_tensor = (Struct(*(np.int32(x) for x in layout), array) for array in (S, D))
        return DrawnArguments(_filled(parameters, S_tensor, D_tensor), D, S.astype(np.float64), np.zeros((n, m)))

    return SampleLaunch(source, kernel, tiles, BLOCK, 0, draw)


LAUNCHES = (
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
