# SPDX-License-Identifier: MIT
"""Quotients and square roots on Python integers: exact, then rounded once, in any format and any mode.

This is the specification of `div`, `rcp` and `sqrt` of `wmma_emu.scalar`; tests check that they agree with it.
"""

from math import isqrt

from wmma_emu.formats import Format, Rounding
from wmma_emu.formats.reference import pack_infinity, pack_nan, round_pack, unpack
from wmma_emu.scalar.reference import NaNOutput, quiet


def div(a: int, b: int, fmt: Format, rounding: Rounding = "RNE", nan: NaNOutput = "canonical") -> int:
    """Divide and round once.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(div(0x3C00, 0x4200, format_of("f16")))                         # 1 / 3
    '0x3555'
    """
    x, y = unpack(a, fmt), unpack(b, fmt)
    for bits, number in ((a, x), (b, y)):
        if number.kind == "nan":
            return quiet(bits, fmt) if nan == "propagate" else pack_nan(fmt)
    sign = x.sign ^ y.sign
    if x.kind == y.kind and x.kind in ("zero", "infinity"):
        return pack_nan(fmt)
    if x.kind == "infinity" or y.kind == "zero":
        return pack_infinity(sign, fmt)
    if x.kind == "zero" or y.kind == "infinity":
        return sign * fmt.sign_mask
    # Far more digits than any format keeps, and a last one that is set if there is a remainder.
    digits = 4 * fmt.bits
    whole, rest = divmod(x.significand << digits, y.significand)
    return round_pack(sign, 2 * whole + (rest != 0), x.exponent - y.exponent - digits - 1, fmt, rounding)


def sqrt(a: int, fmt: Format, rounding: Rounding = "RNE", nan: NaNOutput = "canonical") -> int:
    """Compute the square root and round once.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(sqrt(0x4000, format_of("f16"))), hex(sqrt(0x8000, format_of("f16")))
    ('0x3da8', '0x8000')
    """
    x = unpack(a, fmt)
    if x.kind == "nan":
        return quiet(a, fmt) if nan == "propagate" else pack_nan(fmt)
    if x.kind == "zero":
        return a
    if x.sign:
        return pack_nan(fmt)
    if x.kind == "infinity":
        return a
    exponent = x.exponent - fmt.fraction_bits
    digits = 4 * fmt.bits + exponent % 2
    whole = isqrt(x.significand << digits)
    rest = (x.significand << digits) - whole * whole
    return round_pack(0, 2 * whole + (rest != 0), (exponent - digits) // 2 - 1, fmt, rounding)
