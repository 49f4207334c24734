# SPDX-License-Identifier: MIT
"""How long one product takes as a kernel, as a batch of warps, as `gemm`.

    python benchmarks/kernels.py [--size 256]

f16 times f16 to f32 on sm_90, all three with the same bits; `numpy.matmul` in float32 in the same run. Medians of
five rounds.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import wmma_emu as we
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


def seconds(run: Callable[[], object]) -> float:
    """Median of five runs, after one that does not count."""
    run()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=256, help="of the square matrices, a multiple of 16 (256)")
    size = parser.parse_args().size
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    wide, other = A.astype(np.float32), B.astype(np.float32)
    D, E = np.zeros(size * size, np.float32), np.zeros(size * size, np.float32)
    tiles = size // 16
    runs = {
        "kernel, a warp at a time": lambda: naive[(tiles, tiles), 32](A.reshape(-1), B.reshape(-1), D, size, size),
        "batch of warps": lambda: batch(A.reshape(-1), B.reshape(-1), E, size),
        "gemm": lambda: we.gemm(A, B, instr="wmma.mma.m16n16k16.f32.f32"),
        "np.matmul float32": lambda: wide @ other,
    }
    print(f"{size} x {size} x {size}, {tiles**3} products of 16 x 16 x 16")
    for name, run in runs.items():
        elapsed = seconds(run)
        print(f"{name:26} {elapsed * 1e3:9.2f} ms {elapsed / tiles**3 * 1e6:9.2f} us a product")
    expected = we.gemm(A, B, instr="wmma.mma.m16n16k16.f32.f32").reshape(-1).view(np.uint32)
    print("same bits:", all(np.array_equal(x.view(np.uint32), expected) for x in (D, E)))


if __name__ == "__main__":
    main()
