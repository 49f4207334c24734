# SPDX-License-Identifier: MIT
"""Exact sums of two floats: as the nearest number and its error, or rounded to odd.

A number rounded to odd may be rounded again to a format with at least two fewer bits (Boldo and Melquiond,
"Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers
57, 2008).
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Floats = TypeVar("Floats", Doubles, NDArray[np.float32])


def two_sum(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the sum and its exact rounding error (Knuth); the error of an infinite sum is NaN.

    Examples
    --------
    >>> total, error = two_sum(np.array([1.0]), np.array([2.0**-80]))
    >>> total[0].hex(), error[0].hex()
    ('0x1.0000000000000p+0', '0x1.0000000000000p-80')
    """
    total = x + y
    y_part = total - x
    return total, (x - (total - y_part)) + (y - y_part)


def to_odd(x: Floats, y: Floats) -> Floats:
    """Return the sum rounded to odd: exact, or the neighbour whose last bit is 1.

    Examples
    --------
    >>> to_odd(np.array([1.0]), np.array([2.0**-80])).view(np.uint64) & np.uint64(1)
    array([1], dtype=uint64)
    """
    total, error = two_sum(x, y)
    width = total.dtype.itemsize * 8
    word = total.view(f"i{width // 8}")
    # A NaN error is neither above nor below zero.
    inexact = ((error > 0) | (error < 0)) & (word & 1 == 0)
    if not inexact.any():
        return total
    # One step in magnitude toward the exact sum: up if the error has the sign of the sum.
    step = ((word ^ error.view(word.dtype)) >> (width - 1)) | 1
    odd: Floats = (word + step * inexact).view(total.dtype)
    return odd
