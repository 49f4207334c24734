# SPDX-License-Identifier: MIT
"""MUFU.EX2 and MUFU.LG2: fixed point on one side, exponent and significand on the other."""

from typing import Any

from wmma_emu.scalar.approx_datapath import (
    INFINITY,
    NAN,
    SUM_BITS,
    Fields,
    interpolate,
    leading_bits,
    namespace,
    select,
)

_FRACTION_BITS = 23
"""The fraction bits of x that ex2 reads."""

_LOST = 31
"""The number of low bits of lg2's sum that are dropped before the exponent is joined to it."""


def ex2(word: Any) -> Any:
    """Compute 2**x, rounded toward zero; subnormal results are zero.

    x is converted to fixed point, its magnitude truncated to 23 fraction bits. A negative number is complemented
    bitwise, so that it is one unit too low, unless all fraction bits are zero.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(y) for y in ex2(np.array([0x3F000000, 0xBF800000, 0xC2FD0000]))]        # 0.5, -1, -126.5
    ['0x3fb504f3', '0x3f000000', '0x0']
    """
    x = Fields(word)
    xp = namespace(word)
    # If |x| is at least 2**7 the result is an infinity or zero, so that exponents from 8 upward may be reduced.
    fixed = (x.significand << 8) >> xp.minimum(xp.maximum(135 - x.exponent, 0), 63)
    fixed *= x.exponent != 0
    behind = fixed & 0x7F_FFFF
    negative = x.sign != 0
    fixed = xp.where(negative, -fixed - (behind != 0), fixed)
    whole = fixed >> _FRACTION_BITS
    total = interpolate("ex2", (fixed >> 17) & 0x3F, fixed & 0x1_FFFF)
    magnitude = (total >> 17) + ((whole + 126) << 23)
    return select(magnitude, (x.is_nan, NAN), (whole >= 128, INFINITY), (whole < -126, 0))


def lg2(word: Any) -> Any:
    """Compute the binary logarithm, truncated; subnormal numbers are zero.

    The logarithm of the significand, truncated to 36 fraction bits, is appended to the exponent. The magnitude of a
    negative sum is its bitwise complement. The logarithm of 1 is zero.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(y) for y in lg2(np.array([0x3F800000, 0x40400000, 0x3F000000]))]        # 1, 3, 0.5
    ['0x0', '0x3fcae00d', '0xbf7ffffe']
    """
    x = Fields(word)
    total = interpolate("lg2", x.fraction >> 17, x.fraction & 0x1_FFFF)
    total = (((x.exponent - 127) << SUM_BITS) + total) | _LOST
    sign = total >> 63
    magnitude = leading_bits((total ^ sign) & ~_LOST)
    return select(
        magnitude - (sign << 31),
        (x.is_nan, NAN),
        (x.is_zero, 0xFF80_0000),
        (x.sign != 0, NAN),
        (x.is_infinite, INFINITY),
        (word == 0x3F80_0000, 0),
    )
