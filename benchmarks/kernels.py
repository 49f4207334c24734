# SPDX-License-Identifier: MIT
"""How long a product of f16 takes as a kernel, as a batch of warps, as `gemm`: on sm_90, all with the same bits."""

import statistics
from collections.abc import Callable

import numpy as np

import wmma_emu as we
from benchmarks.timing import Run, in_rounds
from wmma_emu import wmma


@we.kernel
def naive(t, A, B, D, N, K):
    row, col = t.blockIdx.y * 16, t.blockIdx.x * 16
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.row_major)
    c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(c, 0)
    for k in range(0, K, 16):
        wmma.load_matrix_sync(a, A[row * K + k :], K)
        wmma.load_matrix_sync(b, B[k * N + col :], N)
        wmma.mma_sync(c, a, b, c)
    wmma.store_matrix_sync(D[row * N + col :], c, N, wmma.mem_row_major)


def batch(A: np.ndarray, B: np.ndarray, D: np.ndarray, size: int) -> None:
    """All tiles of D at once: pointers with an offset for each warp."""
    row, col = np.meshgrid(np.arange(0, size, 16), np.arange(0, size, 16), indexing="ij")
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.row_major)
    c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(c, 0)
    for k in range(0, size, 16):
        wmma.load_matrix_sync(a, we.Pointer(A, row * size + k), size)
        wmma.load_matrix_sync(b, we.Pointer(B, k * size + col), size)
        wmma.mma_sync(c, a, b, c)
    wmma.store_matrix_sync(we.Pointer(D, row * size + col), c, size, wmma.mem_row_major)


def measure(size: int, rounds: int) -> list[dict[str, object]]:
    """Seconds of each way, in rounds; raises if their bits differ."""
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    wide, other = A.astype(np.float32), B.astype(np.float32)
    D, E = np.zeros(size * size, np.float32), np.zeros(size * size, np.float32)
    tiles = size // 16
    runs: dict[str, Callable[[], object]] = {
        "a kernel, a warp at a time": lambda: naive[(tiles, tiles), 32](A.reshape(-1), B.reshape(-1), D, size, size),
        "`wmma` on a batch of warps": lambda: batch(A.reshape(-1), B.reshape(-1), E, size),
        "`gemm`": lambda: we.gemm(A, B, instr="wmma.mma.m16n16k16.f32.f32"),
        "`np.matmul` in float32": lambda: wide @ other,
    }
    times = in_rounds([Run(call) for call in runs.values()], [rounds] * len(runs))
    expected = we.gemm(A, B, instr="wmma.mma.m16n16k16.f32.f32").reshape(-1).view(np.uint32)
    if not all(np.array_equal(x.view(np.uint32), expected) for x in (D, E)):
        raise RuntimeError("the ways differ in bits")
    return [
        {"as": name, "size": size, "products": tiles**3, "seconds": statistics.median(found)}
        for name, found in zip(runs, times, strict=True)
    ]
