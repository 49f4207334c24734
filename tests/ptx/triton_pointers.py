# SPDX-License-Identifier: MIT
"""Triton kernels that read addresses from tables."""

import triton
import triton.language as tl


@triton.jit
def grouped_gemm(tables, sizes, groups, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    """d = a b for each group of float16 matrices; row g of ``tables`` has the addresses of a, b and d (float32).

    Row g of ``sizes`` is m, n, k. The programs take the tiles of all groups in turn.
    """
    tile, first = tl.program_id(0), 0
    for g in range(groups):
        m, n, k = tl.load(sizes + 3 * g), tl.load(sizes + 3 * g + 1), tl.load(sizes + 3 * g + 2)
        across = tl.cdiv(n, BLOCK)
        count = tl.cdiv(m, BLOCK) * across
        a = tl.load(tables + 3 * g).to(tl.pointer_type(tl.float16))
        b = tl.load(tables + 3 * g + 1).to(tl.pointer_type(tl.float16))
        d = tl.load(tables + 3 * g + 2).to(tl.pointer_type(tl.float32))
        while tile >= first and tile < first + count:
            i = (tile - first) // across * BLOCK + tl.arange(0, BLOCK)[:, None]
            j = (tile - first) % across * BLOCK + tl.arange(0, BLOCK)[None, :]
            total = tl.zeros((BLOCK, BLOCK), tl.float32)
            for start in range(0, k, BLOCK):
                row, column = start + tl.arange(0, BLOCK)[:, None], start + tl.arange(0, BLOCK)[None, :]
                x = tl.load(a + i * k + column, mask=(i < m) & (column < k), other=0.0)
                y = tl.load(b + row * n + j, mask=(row < k) & (j < n), other=0.0)
                total = tl.dot(x, y, total)
            tl.store(d + i * n + j, total, mask=(i < m) & (j < n))
            tile += PROGRAMS
        first += count
