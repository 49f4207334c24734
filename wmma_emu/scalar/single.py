# SPDX-License-Identifier: MIT
"""Fused multiply-add of f32 arrays on float64, where that is exact: what the CUDA cores' FFMA gives.

A product of two float32 numbers is exact in float64. The sum with the third is taken with its error (Knuth's
TwoSum), rounded to odd, and a float64 rounded to odd may be rounded once more to the 24 bits of float32 (Boldo and
Melquiond, IEEE Transactions on Computers 57, 2008).
"""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.rounding import Bits
from wmma_emu.scalar.environment import in_ieee_arithmetic

__all__ = ["fma", "in_range"]

_LOST = np.int64((1 << 29) - 1)
"""The bits of a float64 fraction that float32 does not have."""


def in_range(*operands: Bits) -> NDArray[np.bool_]:
    """Where every operand is normal or zero, so that no conversion to float64 meets what a thread might flush."""
    safe = np.ones(operands[0].shape, np.bool_)
    for word in operands:
        magnitude = word & np.uint32(0x7FFF_FFFF)
        safe &= (magnitude == 0) | ((magnitude >= np.uint32(0x0080_0000)) & (magnitude < np.uint32(0x7F80_0000)))
    return safe


@in_ieee_arithmetic
def fma(a: Bits, b: Bits, c: Bits) -> tuple[Bits, NDArray[np.bool_]]:
    """Compute ``a * b + c`` of float32 patterns that are normal or zero, rounded once to nearest even.

    Returns
    -------
    uint32 array, bool array
        Patterns, and where they hold: where the result is normal, zero or an overflow to infinity.

    Examples
    --------
    The tie that float64 makes of 2**-24 + 2**-60 beside 1:

    >>> word = np.array([[0x3F800000], [0x33800000], [0x21800000]], np.uint32)
    >>> hex(fma(word[1], word[0], word[0])[0][0])
    '0x3f800000'
    """
    x, y, z = (np.ascontiguousarray(word).view(np.float32).astype(np.float64) for word in (a, b, c))
    product = x * y
    total = product + z
    back = total - product
    error = (product - (total - back)) + (z - back)
    word = total.view(np.int64)
    # To odd: where the sum is inexact and even, one unit toward the error.
    step = np.where((error != 0) & (word & 1 == 0), np.where((error > 0) == (total > 0), 1, -1), 0)
    word = word + step
    word = (word + ((_LOST >> 1) + ((word >> 29) & 1))) & ~_LOST
    magnitude = np.abs(total)
    valid = (magnitude >= 2.0**-126) | (total == 0)
    with np.errstate(over="ignore"):
        return word.view(np.float64).astype(np.float32).view(np.uint32), valid
