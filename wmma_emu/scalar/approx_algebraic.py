# SPDX-License-Identifier: MIT
"""MUFU.RCP, MUFU.RSQ, MUFU.SQRT: exponents are halved or negated, the significand is looked up in the table."""

from typing import Any

from wmma_emu.scalar.approx_datapath import INFINITY, NAN, Fields, interpolate, select

_LEAST_NORMAL = 0x0080_0000


def rcp(word: Any) -> Any:
    """Compute 1/x, rounded toward zero; subnormal numbers and results are zero.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(y) for y in rcp(np.array([0x40400000, 0x80000001, 0x7E800001]))]        # 3, -2**-149, above 2**126
    ['0x3eaaaaab', '0xff800000', '0x0']
    """
    x = Fields(word)
    total = interpolate("rcp", x.fraction >> 16, (x.fraction & 0xFFFF) << 1)
    magnitude = (total >> 17) + ((252 - x.exponent) << 23)
    magnitude *= magnitude >= _LEAST_NORMAL
    return select(
        magnitude + x.sign, (x.is_nan, NAN), (x.is_zero, x.sign + INFINITY), (x.is_infinite, x.sign)
    )  # fmt: skip


def rsqrt(word: Any) -> Any:
    """Compute the reciprocal of the square root, rounded toward zero; subnormal numbers are zero.

    Even powers of two bypass the table, whose result would be one unit in the last place too small.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(y) for y in rsqrt(np.array([0x3F800000, 0x40000000, 0xBF800000]))]      # 1, 2, -1
    ['0x3f800000', '0x3f3504f2', '0x7fffffff']
    """
    x = Fields(word)
    odd = ~x.exponent & 1  # The exponent's bias is odd.
    total = interpolate("rsqrt", (odd << 6) + (x.fraction >> 17), x.fraction & 0x1_FFFF)
    half = (x.exponent - 127) >> 1
    magnitude = (total >> 17) + ((125 - half) << 23)
    magnitude += (x.fraction == 0) & (odd == 0)
    return select(
        magnitude,
        (x.is_nan, NAN), (x.is_zero, x.sign + INFINITY), (x.sign != 0, NAN), (x.is_infinite, 0),
    )  # fmt: skip


def sqrt(word: Any) -> Any:
    """Compute the square root, rounded toward zero, from a separate table; subnormal numbers are zero.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(y) for y in sqrt(np.array([0x40000000, 0x80000001, 0x7F800000]))]       # 2, -2**-149, infinity
    ['0x3fb504f3', '0x80000000', '0x7f800000']
    """
    x = Fields(word)
    odd = ~x.exponent & 1
    total = interpolate("sqrt", (odd << 6) + (x.fraction >> 17), x.fraction & 0x1_FFFF)
    half = (x.exponent - 127) >> 1
    magnitude = (total >> 18) + ((126 + half) << 23)
    return select(
        magnitude, (x.is_nan, NAN), (x.is_zero, x.sign), (x.sign != 0, NAN), (x.is_infinite, INFINITY)
    )  # fmt: skip
