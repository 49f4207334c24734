# SPDX-License-Identifier: MIT
"""Causal flash attention, forward, in Triton: softmax(Q K^T * scale) V without ever storing the product of Q and K."""

import triton
import triton.language as tl


@triton.jit
def flash_attention(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, scale, T,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """One block of rows of one head; Q, K, V and out are (heads, T, HEAD), lse (heads, T) the logarithm of the sums.

    ``scale`` is the scale of the scores, times log2(e), as the exponentials are of base 2.
    """
    block, head = tl.program_id(0), tl.program_id(1)
    base = head * T * HEAD
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    features = tl.arange(0, HEAD)
    q = tl.load(q_ptr + base + rows[:, None] * HEAD + features[None, :])
    largest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, (block + 1) * BLOCK_M, BLOCK_N):
        keys = start + columns
        k = tl.load(k_ptr + base + keys[None, :] * HEAD + features[:, None])
        scores = tl.dot(q, k) * scale
        scores = tl.where(rows[:, None] >= keys[None, :], scores, float("-inf"))
        new = tl.maximum(largest, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(largest - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + base + keys[:, None] * HEAD + features[None, :])
        out = tl.dot(p.to(v.dtype), v, out * shrink[:, None])
        largest = new
    out = out / total[:, None]
    tl.store(out_ptr + base + rows[:, None] * HEAD + features[None, :], out.to(out_ptr.dtype.element_ty))
    tl.store(lse_ptr + head * T + rows, largest + tl.log2(total))
