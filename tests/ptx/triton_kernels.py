# SPDX-License-Identifier: MIT
"""Small Triton kernels, for tests; imported where Triton is installed."""

import triton
import triton.language as tl


@triton.jit
def add_twice(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + 2 * tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def product(a, b, d, n, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(d + i * n + j, tl.dot(tl.load(a + i * n + j), tl.load(b + i * n + j)))


@triton.jit
def broken(x, BLOCK: tl.constexpr):
    tl.store(x, nothing)  # noqa: F821
