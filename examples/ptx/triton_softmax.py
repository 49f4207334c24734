# SPDX-License-Identifier: MIT
"""Softmax of the rows of a matrix in Triton: programs take rows in turn, and loads run ahead of the arithmetic."""

import triton
import triton.language as tl


@triton.jit
def softmax(
    x_ptr, out_ptr, rows, columns, x_stride, out_stride, BLOCK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Softmax; BLOCK is a power of two of at least ``columns``."""
    i = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(x_ptr + row * x_stride + i, mask=i < columns, other=float("-inf"))
        weights = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + i, weights / tl.sum(weights, axis=0), mask=i < columns)
