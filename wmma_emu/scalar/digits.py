# SPDX-License-Identifier: MIT
"""Quotients and square roots digit by digit, on integers: for any binary format and every rounding."""

import numpy as np

from wmma_emu.formats import Format, Rounding, round_pack, unpack
from wmma_emu.formats.codec import with_specials
from wmma_emu.formats.rounding import Bits, Int64s, bit_length
from wmma_emu.scalar.reference import NaNOutput
from wmma_emu.scalar.specials import propagate_nan


def quotient(a: Bits, b: Bits, fmt: Format, rounding: Rounding, nan: NaNOutput = "canonical") -> Bits:
    """Divide patterns of any format digit by digit and round once.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(quotient(np.array([0x3C00], np.uint16), np.array([0x4200], np.uint16), format_of("f16"), "RU")[0])
    '0x3556'
    """
    a, b = np.broadcast_arrays(a, b)
    shape = a.shape
    a, b = np.atleast_1d(a).reshape(-1), np.atleast_1d(b).reshape(-1)
    x, y = unpack(a, fmt), unpack(b, fmt)
    one = np.int64(1)
    dividend, dividend_exponent = _normal(x.significand, x.exponent, fmt)
    divisor, divisor_exponent = _normal(np.maximum(y.significand, one), y.exponent, fmt)
    digits = fmt.fraction_bits + 4
    remainder, significand = dividend, np.zeros_like(dividend)
    for _ in range(digits):
        take = remainder >= divisor
        significand = significand << one | take
        remainder = (remainder - np.where(take, divisor, 0)) << one
    exponent = dividend_exponent - divisor_exponent - digits + 1
    sign = x.sign ^ y.sign
    word = round_pack(sign, significand, exponent, fmt, rounding, sticky=remainder != 0)
    nothing, other_nothing = (x.significand == 0) & ~x.is_infinity, (y.significand == 0) & ~y.is_infinity
    infinite = (x.is_infinity | other_nothing) & ~x.is_nan & ~y.is_nan
    is_nan = x.is_nan | y.is_nan | (x.is_infinity & y.is_infinity) | (nothing & other_nothing & ~x.is_nan & ~y.is_nan)
    zero = (nothing | y.is_infinity) & ~infinite
    word = np.where(zero, np.where(sign, fmt.storage.type(fmt.sign_mask), fmt.storage.type(0)), word)
    word = with_specials(word, sign, infinite, is_nan, fmt)
    if nan == "propagate":
        word = propagate_nan(word, fmt, (a, x), (b, y))
    return word.reshape(shape)


def root(a: Bits, fmt: Format, rounding: Rounding, nan: NaNOutput = "canonical") -> Bits:
    """Compute square roots of patterns of any format digit by digit and round once.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(root(np.array([0x4000], np.uint16), format_of("f16"), "RU")[0])
    '0x3da9'
    """
    shape = a.shape
    a = np.atleast_1d(a).reshape(-1)
    x = unpack(a, fmt)
    normal, exponent = _normal(x.significand, x.exponent, fmt)
    exponent = exponent - fmt.fraction_bits
    # Shift by two more bits, or three if the exponent would be odd: the root's exponent is half of it.
    odd = exponent & 1
    digits = fmt.fraction_bits + 4
    radicand, rest = (normal << odd).view(np.uint64), np.zeros(normal.shape, np.uint64)
    found = np.zeros(normal.shape, np.uint64)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    pairs = (fmt.fraction_bits + 3) // 2
    for i in range(digits):
        place = 2 * (pairs - 1 - i)
        pair = radicand >> np.uint64(place) & three if place >= 0 else np.uint64(0)
        rest = rest << two | pair
        trial = found << two | one
        take = rest >= trial
        rest = rest - np.where(take, trial, np.uint64(0))
        found = found << one | take
    word = round_pack(
        x.sign, found.view(np.int64), (exponent - odd >> 1) - (digits - pairs), fmt, rounding, sticky=rest != 0
    )
    nothing = (x.significand == 0) & ~x.is_infinity & ~x.is_nan
    word = np.where(nothing, a, word)
    word = with_specials(word, x.sign, x.is_infinity & ~x.sign, x.is_nan | (x.sign & ~nothing), fmt)
    if nan == "propagate":
        word = propagate_nan(word, fmt, (a, x))
    return word.reshape(shape)


def _normal(significand: Int64s, exponent: Int64s, fmt: Format) -> tuple[Int64s, Int64s]:
    """Shift the leading bit to its position in a normal number; the exponent is the exponent of that bit."""
    up = fmt.fraction_bits + 1 - bit_length(significand)
    return significand << np.maximum(up, 0), exponent - up
