# SPDX-License-Identifier: MIT
"""D = A B with tensor cores, eight warps a block, one 16x16 tile a warp: ``python examples/warp_id.py``.

The kernel of warp_id.cu, line by line.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we
from wmma_emu import wmma


@we.kernel
def warp_id(t, A, B, D, size):
    warpID = (t.blockIdx.x * t.blockDim.x + t.threadIdx.x) // 32
    tiles = size // 16
    row = warpID // tiles * 16
    col = warpID % tiles * 16
    if row >= size:
        return
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.row_major)
    c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    wmma.fill_fragment(c, 0.0)
    for k in range(0, size, 16):
        wmma.load_matrix_sync(a, A[row * size + k :], size)
        wmma.load_matrix_sync(b, B[k * size + col :], size)
        wmma.mma_sync(c, a, b, c)
    wmma.store_matrix_sync(D[row * size + col :], c, size, wmma.mem_row_major)


def multiply(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float32]:
    """Launch the kernel for square float16 matrices, over one block of 256 threads too many."""
    size = len(A)
    warps = (size // 16) ** 2
    D = np.empty((size, size), np.float32)
    warp_id[warps * 32 // 256 + 1, 256](A.reshape(-1), B.reshape(-1), D.reshape(-1), size)
    return D


def main() -> None:
    size = 128
    A = (np.arange(size * size) * 7 % 9 - 4).astype(np.float16).reshape(size, size)
    B = (np.arange(size * size) * 5 % 11 - 5).astype(np.float16).reshape(size, size)
    D = multiply(A, B)
    wrong = np.count_nonzero(D != A.astype(np.float32) @ B.astype(np.float32))
    print(f"warp_id: {size} x {size}, {wrong} elements differ")


if __name__ == "__main__":
    main()
