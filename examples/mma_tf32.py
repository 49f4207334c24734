# SPDX-License-Identifier: MIT
"""D = A B + C, one 16x8x8 product a warp, from registers loaded by hand: ``python examples/mma_tf32.py``.

The kernel of mma_tf32.cu, line by line.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we


@we.kernel
def mma_tf32(t, A, B, C, D, products):
    product = t.blockIdx.x
    if product >= products:
        return
    A = A[product * 16 * 8 :]
    B = B[product * 8 * 8 :]
    C = C[product * 16 * 8 :]
    D = D[product * 16 * 8 :]
    mma = we.instruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
    row = t.threadIdx.x // 4
    col = t.threadIdx.x % 4
    a, b, c = np.empty((4, 32), np.uint32), np.empty((2, 32), np.uint32), np.empty((4, 32), np.uint32)
    a[0] = t.float_as_uint(A[row * 8 + col])
    a[1] = t.float_as_uint(A[(row + 8) * 8 + col])
    a[2] = t.float_as_uint(A[row * 8 + col + 4])
    a[3] = t.float_as_uint(A[(row + 8) * 8 + col + 4])
    b[0] = t.float_as_uint(B[col * 8 + row])
    b[1] = t.float_as_uint(B[(col + 4) * 8 + row])
    c[0] = t.float_as_uint(C[row * 8 + 2 * col])
    c[1] = t.float_as_uint(C[row * 8 + 2 * col + 1])
    c[2] = t.float_as_uint(C[(row + 8) * 8 + 2 * col])
    c[3] = t.float_as_uint(C[(row + 8) * 8 + 2 * col + 1])
    d = mma.execute(a, b, c)
    D[row * 8 + 2 * col] = t.uint_as_float(d[0])
    D[row * 8 + 2 * col + 1] = t.uint_as_float(d[1])
    D[(row + 8) * 8 + 2 * col] = t.uint_as_float(d[2])
    D[(row + 8) * 8 + 2 * col + 1] = t.uint_as_float(d[3])


def multiply(A: NDArray[Any], B: NDArray[Any], C: NDArray[Any]) -> NDArray[np.float32]:
    """Launch the kernel for A (products, 16, 8), B (products, 8, 8), C (products, 16, 8), over one block too many."""
    D = np.empty_like(C)
    mma_tf32[len(A) + 1, 32](A.reshape(-1), B.reshape(-1), C.reshape(-1), D.reshape(-1), len(A))
    return D


def main() -> None:
    products = 8
    A = (np.arange(products * 128) * 7 % 9 - 4).astype(np.float32).reshape(products, 16, 8)
    B = (np.arange(products * 64) * 5 % 11 - 5).astype(np.float32).reshape(products, 8, 8)
    C = (np.arange(products * 128) * 3 % 13 - 6).astype(np.float32).reshape(products, 16, 8)
    D = multiply(A, B, C)
    print(f"mma_tf32: {products} products of 16 x 8 x 8, {np.count_nonzero(D != A @ B + C)} elements differ")


if __name__ == "__main__":
    main()
