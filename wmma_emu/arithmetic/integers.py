# SPDX-License-Identifier: MIT
"""Integer products of blocks: exact sums in float32, wrapped or clamped as PTX defines.

A sum of products of at most 2**24 is exact in float32, in any order of addition in BLAS; so K is split into parts that
cannot exceed this limit.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.blas import exact_matmul
from wmma_emu.arithmetic.blocks import Progress
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.formats import Format, decode
from wmma_emu.formats.codec import Bits

_EXACT = 1 << 24
"""The limit up to which all integers are float32 numbers."""

_DEPTH = 1 << 10
"""The largest part of K that is converted at once."""


def integer_block(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None) -> None:
    """Compute exact totals, wrapped to 32 bits; or, with .satfinite, clamped once per instruction."""
    if product.satfinite:
        # Clamping, unlike wrapping, cannot be postponed to the end of K.
        total = _signed(c, product.c)
        for start in range(0, a.shape[-1], product.k):
            here = slice(start, start + product.k)
            total += _sum_of_products(product, a[..., here], b[..., here, :])
            np.clip(total, product.d.min_integer, product.d.max_integer, out=total)
        np.bitwise_and(total, product.d.mask, out=d, casting="unsafe")
        return
    d[...] = c
    largest = _largest(product.a) * _largest(product.b)
    depth = min(_EXACT // largest, _DEPTH)
    for start in range(0, a.shape[-1], depth):
        here = slice(start, start + depth)
        np.add(d, _sum_of_products(product, a[..., here], b[..., here, :]).view(d.dtype), out=d)
        if progress is not None:
            progress(start / a.shape[-1])


def popcount_block(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None) -> None:
    """Count the bits set in both, or in exactly one, of each row of A and column of B; add c and wrap."""
    d[...] = c
    for start in range(0, a.shape[-1], _DEPTH):
        x, y = a[..., start : start + _DEPTH], b[:, start : start + _DEPTH]
        both = _sum_of_products(product, x, y)
        if product.bit_operation == "xor":
            # |x ^ y| = |x| + |y| - 2 |x & y|
            count = x.sum(-1, dtype=np.int32)[..., None] + y.sum(-2, dtype=np.int32)[..., None, :]
            both = count - 2 * both
        np.add(d, both.view(d.dtype), out=d)
        if progress is not None:
            progress(start / a.shape[-1])


def _sum_of_products(product: DotProduct, a: Bits, b: Bits) -> NDArray[np.int32]:
    """Sum exactly over k: no partial sum exceeds 2**24."""
    x, y = np.take(values_of(product.a), a), np.take(values_of(product.b), b)
    return exact_matmul(x, y).astype(np.int32)


@cache
def values_of(fmt: Format) -> NDArray[np.float32]:
    """Return the value of every pattern of a format of at most 8 bits; a bit is 0 or 1."""
    codes = np.arange(1 << fmt.bits, dtype=fmt.storage)
    values = decode(codes, fmt) if fmt.bits > 1 else codes
    return values.astype(np.float32)


@cache
def _largest(fmt: Format) -> int:
    return int(np.abs(values_of(fmt)).max())


def _signed(bits: Bits, fmt: Format) -> NDArray[np.int64]:
    return decode(bits, fmt).astype(np.int64)
