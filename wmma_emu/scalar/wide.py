# SPDX-License-Identifier: MIT
"""Arrays of 128-bit integers: a pair of uint64 arrays, the high limb first.

Exact sums and products of f64 need 126 bits; a loop over Python integers would be a thousand times slower.
"""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.rounding import Int64s, bit_length

Words = NDArray[np.uint64]
Wide = tuple[Words, Words]

_LOW_HALF = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_LAST = np.uint64(63)


def multiply(x: Words, y: Words) -> Wide:
    """Multiply integers below 2**53.

    Examples
    --------
    >>> high, low = multiply(np.array([2**53 - 1], np.uint64), np.array([2**53 - 1], np.uint64))
    >>> hex(high[0]), hex(low[0])
    ('0x3ffffffffff', '0xffc0000000000001')
    """
    x_high, x_low, y_high, y_low = x >> _HALF, x & _LOW_HALF, y >> _HALF, y & _LOW_HALF
    low = x_low * y_low
    middle = x_high * y_low + x_low * y_high + (low >> _HALF)
    return x_high * y_high + (middle >> _HALF), (middle << _HALF) | (low & _LOW_HALF)


def length(x: Wide) -> Int64s:
    """Return the number of bits.

    Examples
    --------
    >>> length((np.array([0, 0, 1], np.uint64), np.array([0, 2**63, 0], np.uint64)))
    array([ 0, 64, 65])
    """
    high, low = x
    word = np.where(high != 0, high, low)
    bits = bit_length((word >> _ONE).view(np.int64)) + (word != 0)
    total: Int64s = np.where(high != 0, bits + 64, bits)
    return total


def shift_left(x: Wide, places: Int64s) -> Wide:
    """Shift left by 0 to 127 bits.

    Examples
    --------
    >>> zero, one = np.zeros(1, np.uint64), np.ones(1, np.uint64)
    >>> shift_left((zero, one), np.array([65]))
    (array([2], dtype=uint64), array([0], dtype=uint64))
    """
    high, low = x
    small = places.view(np.uint64) & _LAST
    whole = places >= 64
    shifted = low << small
    # Shifting twice keeps each count below 64 if no bits move from one limb to the other.
    carried = (high << small) | ((low >> _ONE) >> (_LAST - small))
    return np.where(whole, shifted, carried), np.where(whole, np.uint64(0), shifted)


def shift_right_with_sticky(x: Wide, places: Int64s) -> Wide:
    """Shift right by 0 to 127 bits; dropped bits are merged into the last bit.

    Examples
    --------
    >>> zero, one = np.zeros(1, np.uint64), np.ones(1, np.uint64)
    >>> shift_right_with_sticky((one, one), np.array([63]))
    (array([0], dtype=uint64), array([3], dtype=uint64))
    """
    high, low = x
    small = places.view(np.uint64) & _LAST
    whole = places >= 64
    shifted = high >> small
    carried = (low >> small) | ((high << _ONE) << (_LAST - small))
    lost_high, lost_low = (shifted << small) != high, ((low >> small) << small) != low
    lost = np.where(whole, lost_high | (low != 0), lost_low).astype(np.uint64)
    return np.where(whole, np.uint64(0), shifted), np.where(whole, shifted, carried) | lost


def add_signed(x: Wide, y: Wide, opposed: NDArray[np.bool_]) -> tuple[Wide, NDArray[np.bool_]]:
    """Add magnitudes below 2**126, or subtract the second if opposed; return the magnitude and whether it is negative.

    Examples
    --------
    >>> zero, one = np.zeros(1, np.uint64), np.ones(1, np.uint64)
    >>> add_signed((zero, one), (one, zero), np.array([True]))
    ((array([0], dtype=uint64), array([18446744073709551615], dtype=uint64)), array([ True]))
    """
    high, low = _add(x, _negate_where(y, opposed))
    negative = (high >> _LAST) != 0
    return _negate_where((high, low), negative), negative


def _add(x: Wide, y: Wide) -> Wide:
    low = x[1] + y[1]
    return x[0] + y[0] + (low < x[1]), low


def _negate_where(x: Wide, where: NDArray[np.bool_]) -> Wide:
    mask = np.uint64(0) - where.astype(np.uint64)
    low = (x[1] ^ mask) - mask
    # Negation carries into the high limb only if the low limb is zero.
    return (x[0] ^ mask) + (where & (low == 0)), low
