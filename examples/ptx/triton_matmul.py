# SPDX-License-Identifier: MIT
"""D = A B in Triton, for every type of element that tensor cores take: a program a tile, k in steps of BLOCK_K."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr, b_ptr, d_ptr, M, N, K, stride_am, stride_bk, stride_dm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    RAGGED: tl.constexpr, PRECISION: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    """Multiply; A, B and D are row-major. RAGGED: sizes are not multiples of the blocks', and masks limit accesses."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + ks[None, :]
    b_ptrs = b_ptr + ks[:, None] * stride_bk + cols[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=SUM)
    for k in range(0, K, BLOCK_K):
        if RAGGED:
            a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (ks[None, :] < K - k), other=0)
            b = tl.load(b_ptrs, mask=(ks[:, None] < K - k) & (cols[None, :] < N), other=0)
        else:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        total = tl.dot(a, b, total, input_precision=PRECISION, out_dtype=SUM)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_bk
    d_ptrs = d_ptr + rows[:, None] * stride_dm + cols[None, :]
    d = total.to(d_ptr.dtype.element_ty)
    if RAGGED:
        tl.store(d_ptrs, d, mask=(rows[:, None] < M) & (cols[None, :] < N))
    else:
        tl.store(d_ptrs, d)
