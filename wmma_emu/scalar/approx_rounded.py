# SPDX-License-Identifier: MIT
"""The function unit as ptxas models it: every operation is rounded to nearest, one number at a time.

ptxas uses this model to evaluate approximate functions of constants
(``docs/decisions/0024-constants-that-ptxas-knows.md``). Zeros, infinities, NaN and subnormal numbers are handled as in
the chip's unit: subnormal operands and results are zero.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from math import isqrt

from wmma_emu.formats import format_of
from wmma_emu.formats.reference import round_pack, value
from wmma_emu.scalar.approx_reference_units import UNITS

_F32 = format_of("f32")
_NAN, _INFINITY, _SIGN = 0x7FFF_FFFF, 0x7F80_0000, 0x8000_0000
_LEAST_NORMAL = 0x0080_0000
_GUARD = 64
"""The bits of a quotient or a root, followed by one bit that is set if there is a remainder."""

_EXACT = Context(prec=60)
"""The decimal digits of powers and logarithms."""

_PLACES = 400
"""The fraction bits of a sine: the largest f32 has 128 integer bits, and is a multiple of pi to about 60 bits."""


def _nearest(number: Fraction, sign: int = 0) -> int:
    """Round to f32; a subnormal result becomes a zero of the same sign."""
    negative = sign or number < 0
    top, bottom = abs(number.numerator), number.denominator
    shift = max(0, _GUARD + bottom.bit_length() - top.bit_length())
    quotient, rest = divmod(top << shift, bottom)
    word = round_pack(int(negative), 2 * quotient + (rest != 0), -shift - 1, _F32)
    return word if word & _NAN >= _LEAST_NORMAL else word & _SIGN


def _decimal(number: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))


def _root(number: Fraction) -> Fraction:
    """Return the square root with many more bits than f32; the last bit is set if there is a remainder."""
    top, bottom = number.numerator, number.denominator
    square = (top << 4 * _GUARD) * bottom
    root = isqrt(square)
    return Fraction(2 * root + (root * root != square), bottom << 2 * _GUARD + 1)


def _ex2(number: Fraction) -> int:
    if abs(number) >= 1 << 8:
        return 0 if number < 0 else _INFINITY
    whole = number.numerator // number.denominator
    fraction = _EXACT.exp(_EXACT.multiply(_decimal(number - whole), _LN_2))
    return _nearest(Fraction(fraction) * Fraction(2) ** whole)


def _lg2(number: Fraction) -> int:
    if number.numerator.bit_count() == number.denominator.bit_count() == 1:
        return _nearest(Fraction(number.numerator.bit_length() - number.denominator.bit_length()))
    return _nearest(Fraction(_EXACT.divide(_EXACT.ln(_decimal(number)), _LN_2)))


def _arc_tangent_of_inverse(n: int) -> int:
    """Sum the series of atan(1/n), in units of 2**-``_PLACES``."""
    total, power, k = 0, (1 << _PLACES) // n, 1
    while power:
        total += (power // k) * (2 - k % 4)
        power, k = power // (n * n), k + 2
    return total


def _circular(number: Fraction, quarters: int) -> int:
    """Return the sine of radians plus a number of quarter turns, on integers in units of 2**-``_PLACES``."""
    turns, rest = divmod((number.numerator << _PLACES) // number.denominator, _HALF_PI)
    quarter = (turns + quarters) % 4
    power, factor = (1 << _PLACES, 0) if quarter % 2 else (rest, 1)
    total = 0
    while power:
        total += power
        power = -(power * rest * rest >> 2 * _PLACES) // ((factor + 1) * (factor + 2))
        factor += 2
        power += power == -1
    return _nearest(Fraction(-total if quarter >= 2 else total, 1 << _PLACES))


def _unit(name: str, function: Callable[[Fraction], int]) -> Callable[[int], int]:
    """Let a function of numbers accept patterns; specials, and operands without a real result, use the chip's unit."""

    def unit(word: int) -> int:
        is_real = _LEAST_NORMAL <= word & _NAN < _INFINITY and not (word & _SIGN and name in _OF_POSITIVE_NUMBERS)
        return function(value(word, _F32)) if is_real else UNITS[name](word)

    return unit


_OF_POSITIVE_NUMBERS = ("rsqrt", "sqrt", "lg2")

_LN_2 = _EXACT.ln(Decimal(2))
_HALF_PI = 8 * _arc_tangent_of_inverse(5) - 2 * _arc_tangent_of_inverse(239)

ROUNDED_UNITS = {
    name: _unit(name, function)
    for name, function in {
        "rcp": lambda x: _nearest(1 / x),
        "rsqrt": lambda x: _nearest(_root(1 / x)),
        "sqrt": lambda x: _nearest(_root(x)),
        "ex2": _ex2,
        "lg2": _lg2,
        "sin": lambda x: _circular(x, 0),
        "cos": lambda x: _circular(x, 1),
    }.items()
}
"""The model of ptxas for f32 patterns for each name; ``sin`` and ``cos`` take radians."""
