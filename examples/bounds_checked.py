# SPDX-License-Identifier: MIT
"""D = A B for sizes that the host pads to multiples of 16: ``python examples/bounds_checked.py``.

The kernel of bounds_checked.cu, line by line. A block has 2 x 2 warps, one 16x16 tile each.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we
from wmma_emu import wmma


@we.kernel
def bounds_checked(t, A, B, D, M, N, K):
    warpM = (t.blockIdx.x * t.blockDim.x + t.threadIdx.x) // 32
    warpN = t.blockIdx.y * t.blockDim.y + t.threadIdx.y
    row = warpM * 16
    col = warpN * 16
    if row >= M or col >= N:
        return
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.col_major)
    b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.col_major)
    c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(c, 0.0)
    for k0 in range(0, K, 32):
        for k in range(k0, k0 + 32, 16):
            if k < K:
                wmma.load_matrix_sync(a, A[k * M + row :], M)
                wmma.load_matrix_sync(b, B[col * K + k :], K)
                wmma.mma_sync(c, a, b, c)
    wmma.store_matrix_sync(D[col * M + row :], c, M, wmma.mem_col_major)


def padded(matrix: NDArray[Any]) -> NDArray[Any]:
    """Fill up rows and columns with zeros to multiples of 16."""
    return np.pad(matrix, [(0, -size % 16) for size in matrix.shape])


def multiply(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float32]:
    """Launch the kernel for A (m, k) and B (k, n) in float16 of any sizes, padded, and cut D out."""
    (m, n), A, B = (A.shape[0], B.shape[1]), padded(A), padded(B)
    (M, K), N = A.shape, B.shape[1]
    D = np.empty((N, M), np.float32)
    grid, block = (M // 32 + 1, N // 32 + 1), (64, 2)
    bounds_checked[grid, block](A.T.reshape(-1), B.T.reshape(-1), D.reshape(-1), M, N, K)
    return D.T[:m, :n]


def main() -> None:
    m, n, k = 40, 50, 70
    A = (np.arange(m * k) * 7 % 9 - 4).astype(np.float16).reshape(m, k)
    B = (np.arange(k * n) * 5 % 11 - 5).astype(np.float16).reshape(k, n)
    D = multiply(A, B)
    wrong = np.count_nonzero(D != A.astype(np.float32) @ B.astype(np.float32))
    print(f"bounds_checked: {m} x {n} x {k}, {wrong} elements differ")


if __name__ == "__main__":
    main()
