# SPDX-License-Identifier: MIT
"""D = A B with tensor cores, one 16x16 tile a block, one warp a block: ``python examples/naive_wmma.py``.

The kernel of naive_wmma.cu, line by line.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we
from wmma_emu import wmma


@we.kernel
def naive_wmma(t, A, B, D, M, N, K):
    row = t.blockIdx.y * 16
    col = t.blockIdx.x * 16
    if row >= M or col >= N:
        return
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.col_major)
    c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(c, 0.0)
    for k in range(0, K, 16):
        wmma.load_matrix_sync(a, A[row * K + k :], K)
        wmma.load_matrix_sync(b, B[col * K + k :], K)
        wmma.mma_sync(c, a, b, c)
    wmma.store_matrix_sync(D[row * N + col :], c, N, wmma.mem_row_major)


def multiply(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float32]:
    """Launch the kernel for A (M, K) and B (K, N) in float16, over one row and one column of blocks too many."""
    (M, K), N = A.shape, B.shape[1]
    D = np.empty((M, N), np.float32)
    naive_wmma[(N // 16 + 1, M // 16 + 1), 32](A.reshape(-1), B.T.reshape(-1), D.reshape(-1), M, N, K)
    return D


def main() -> None:
    M, N, K = 64, 48, 64
    A = (np.arange(M * K) * 7 % 9 - 4).astype(np.float16).reshape(M, K)
    B = (np.arange(K * N) * 5 % 11 - 5).astype(np.float16).reshape(N, K).T
    D = multiply(A, B)
    wrong = np.count_nonzero(D != A.astype(np.float32) @ B.astype(np.float32))
    print(f"naive_wmma: {M} x {N} x {K}, {wrong} elements differ")


if __name__ == "__main__":
    main()
