# SPDX-License-Identifier: MIT
"""D = A B in tf32 over shared memory: ``python examples/tf32_shared.py``.

The kernel of tf32_shared.cu, line by line. A block of four warps computes 64 x 32 elements, a warp 32 x 16 of them in
2 x 2 microtiles of 16 x 8, which it keeps in registers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we
from wmma_emu import wmma


@we.kernel
def tf32_shared(t, A, B, D, M, N, K):
    As = t.shared((64, 16), np.uint32)
    Bs = t.shared((16, 32), np.uint32)
    block_row = t.blockIdx.y * 64
    block_col = t.blockIdx.x * 32
    if block_row >= M or block_col >= N:
        return
    mma = we.instruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
    thread = t.threadIdx.x
    warp_row = thread // 32 // 2 * 32
    warp_col = thread // 32 % 2 * 16
    row = thread % 32 // 4
    col = thread % 4
    acc = np.zeros((2, 2, 4, 32), np.uint32)
    for k0 in range(0, K, 16):
        for i0 in range(0, 64 * 16, 128):
            i = i0 + thread
            As[i // 16, i % 16] = t.float_as_uint(wmma.float_to_tf32(A[(block_row + i // 16) * K + k0 + i % 16]))
        for i0 in range(0, 16 * 32, 128):
            i = i0 + thread
            Bs[i // 32, i % 32] = t.float_as_uint(wmma.float_to_tf32(B[(k0 + i // 32) * N + block_col + i % 32]))
        yield t.syncthreads()
        for k in range(0, 16, 8):
            a, b = np.empty((2, 4, 32), np.uint32), np.empty((2, 2, 32), np.uint32)
            for m in range(2):
                r = warp_row + 16 * m + row
                a[m, 0] = As[r, k + col]
                a[m, 1] = As[r + 8, k + col]
                a[m, 2] = As[r, k + col + 4]
                a[m, 3] = As[r + 8, k + col + 4]
            for n in range(2):
                b[n, 0] = Bs[k + col, warp_col + 8 * n + row]
                b[n, 1] = Bs[k + col + 4, warp_col + 8 * n + row]
            for m in range(2):
                for n in range(2):
                    acc[m, n] = mma.execute(a[m], b[n], acc[m, n])
        yield t.syncthreads()
    for m in range(2):
        for n in range(2):
            for i in range(4):
                r = block_row + warp_row + 16 * m + row + i // 2 * 8
                c = block_col + warp_col + 8 * n + 2 * col + i % 2
                D[r * N + c] = t.uint_as_float(acc[m, n, i])


def multiply(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float32]:
    """Launch the kernel for A (M, K) and B (K, N) in float32, over one row and one column of blocks too many."""
    (M, K), N = A.shape, B.shape[1]
    D = np.empty((M, N), np.float32)
    tf32_shared[(N // 32 + 1, M // 64 + 1), 128](A.reshape(-1), B.reshape(-1), D.reshape(-1), M, N, K)
    return D


def main() -> None:
    M, N, K = 128, 64, 64
    A = (np.arange(M * K) * 7 % 9 - 4).astype(np.float32).reshape(M, K)
    B = (np.arange(K * N) * 5 % 11 - 5).astype(np.float32).reshape(K, N)
    print(f"tf32_shared: {M} x {N} x {K}, {np.count_nonzero(multiply(A, B) != A @ B)} elements differ")


if __name__ == "__main__":
    main()
