# SPDX-License-Identifier: MIT
"""Integer products for a tile: exact sums through floating point wide enough, wrapped or clamped as PTX says."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.formats import Format, decode
from wmma_emu.formats.codec import Bits

__all__ = ["integer_matmul", "popcount_matmul"]


def integer_matmul(product: DotProduct, a: Bits, b: Bits, c: Bits) -> Bits:
    """Exact totals, wrapped to 32 bits; or, with .satfinite, clamped once an instruction.

    Wrapping may wait until the end of k; clamping may not. A panel is at most some thousands of products deep, far
    from the 2**53 / 255**2 that float64 adds exactly.
    """
    x, y = decode(a, product.a), decode(b, product.b)
    total = _signed(c, product.c)
    step = product.k if product.satfinite else max(len(x), 1)
    for k in range(0, len(x), step):
        total = total + _sum_of_products(x[k : k + step], y[k : k + step])
        if product.satfinite:
            total = np.clip(total, product.d.min_integer, product.d.max_integer)
    return (total & product.d.mask).astype(product.d.storage)


def popcount_matmul(product: DotProduct, a: Bits, b: Bits, c: Bits) -> Bits:
    """Bits set in both, or in exactly one, of each row of A and column of B; added to c and wrapped."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    count = _sum_of_products(x, y)
    if product.bit_operation == "xor":
        # |x ^ y| = |x| + |y| - 2 |x & y|
        count = x.sum(0).astype(np.int64) + y.sum(0).astype(np.int64) - 2 * count
    return ((_signed(c, product.c) + count) & product.d.mask).astype(product.d.storage)


def _sum_of_products(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sum over the first axis, exactly: axes (K, M, 1[, lanes]) and (K, 1, N[, lanes])."""
    total: NDArray[np.float64]
    if x.ndim == 3:
        total = np.matmul(x[:, :, 0].T, y[:, 0])
    else:
        total = np.matmul(x[:, :, 0].transpose(2, 1, 0), y[:, 0].transpose(2, 0, 1)).transpose(1, 2, 0)
    return total.astype(np.int64)


def _signed(bits: Bits, fmt: Format) -> NDArray[np.int64]:
    return decode(bits, fmt).astype(np.int64)
