# SPDX-License-Identifier: MIT
"""The function unit as ptxas imagines it: every operation rounded to nearest, one number at a time.

This is what ptxas puts in the place of an approximate function of a value that it knows
(``docs/decisions/0024-constants-that-ptxas-knows.md``). Zeros, infinities, NaN and subnormal numbers are what the
chip's unit makes of them: operands and results that are subnormal are zero.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from math import isqrt

from wmma_emu.formats import format_of
from wmma_emu.formats.reference import round_pack, unpack

__all__ = ["ROUNDED_UNITS"]

_F32 = format_of("f32")
_NAN, _INFINITY, _SIGN, _ONE = 0x7FFF_FFFF, 0x7F80_0000, 0x8000_0000, 0x3F80_0000
_LEAST_NORMAL = 0x0080_0000
_GUARD = 64
"""Bits of a quotient or a root before its last one, which says whether anything is left."""

_EXACT = Context(prec=60)
"""Digits of powers and logarithms."""

_PLACES = 400
"""Bits behind the point of a sine: the largest f32 has 128 before it, and is a multiple of pi to some 60 bits."""


def _value(word: int) -> Fraction:
    """Number of a pattern that is finite."""
    x = unpack(word, _F32)
    return Fraction((-1) ** x.sign * x.significand) * Fraction(2) ** (x.exponent - _F32.fraction_bits)


def _nearest(number: Fraction, sign: int = 0) -> int:
    """Round to f32; what is subnormal then is a zero of the same sign."""
    negative = sign or number < 0
    top, bottom = abs(number.numerator), number.denominator
    shift = max(0, _GUARD + bottom.bit_length() - top.bit_length())
    quotient, rest = divmod(top << shift, bottom)
    word = round_pack(int(negative), 2 * quotient + (rest != 0), -shift - 1, _F32)
    return word if word & _NAN >= _LEAST_NORMAL else word & _SIGN


def _decimal(number: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))


def _is_tiny(word: int) -> bool:
    return word & _NAN < _LEAST_NORMAL


def _rcp(word: int) -> int:
    sign, magnitude = word & _SIGN, word & _NAN
    if magnitude > _INFINITY:
        return _NAN
    if _is_tiny(word):
        return sign | _INFINITY
    return sign if magnitude == _INFINITY else _nearest(1 / _value(word))


def _root(number: Fraction) -> Fraction:
    """Square root, down to a bit far below what is rounded, with that bit set where anything is left."""
    top, bottom = number.numerator, number.denominator
    square = (top << 4 * _GUARD) * bottom
    root = isqrt(square)
    return Fraction(2 * root + (root * root != square), bottom << 2 * _GUARD + 1)


def _sqrt(word: int) -> int:
    if word & _NAN > _INFINITY or (word & _SIGN and not _is_tiny(word)):
        return _NAN
    if _is_tiny(word):
        return word & _SIGN
    return word if word == _INFINITY else _nearest(_root(_value(word)))


def _rsqrt(word: int) -> int:
    if word & _NAN > _INFINITY or (word & _SIGN and not _is_tiny(word)):
        return _NAN
    if _is_tiny(word):
        return word & _SIGN | _INFINITY
    return 0 if word == _INFINITY else _nearest(_root(1 / _value(word)))


def _ex2(word: int) -> int:
    if word & _NAN > _INFINITY:
        return _NAN
    if _is_tiny(word):
        return _ONE
    number = _value(word) if word & _NAN < _INFINITY else Fraction(1 << 10)
    if abs(number) >= 1 << 8:
        return 0 if word & _SIGN else _INFINITY
    whole = number.numerator // number.denominator
    fraction = _EXACT.exp(_EXACT.multiply(_decimal(number - whole), _LN_2))
    return _nearest(Fraction(fraction) * Fraction(2) ** whole)


def _lg2(word: int) -> int:
    if word & _NAN > _INFINITY or (word & _SIGN and not _is_tiny(word)):
        return _NAN
    if _is_tiny(word):
        return _SIGN | _INFINITY
    if word == _INFINITY:
        return word
    number = _value(word)
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


def _circular(word: int, quarters: int) -> int:
    """Sine of radians and some quarters of a turn, on integers in units of 2**-``_PLACES``."""
    if word & _NAN >= _INFINITY:
        return _NAN
    number = _value(word)
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


def _sin(word: int) -> int:
    return word & _SIGN if _is_tiny(word) else _circular(word, 0)


def _cos(word: int) -> int:
    return _ONE if _is_tiny(word) else _circular(word, 1)


_LN_2 = _EXACT.ln(Decimal(2))
_HALF_PI = 8 * _arc_tangent_of_inverse(5) - 2 * _arc_tangent_of_inverse(239)

ROUNDED_UNITS: dict[str, Callable[[int], int]] = {
    "rcp": _rcp,
    "rsqrt": _rsqrt,
    "sqrt": _sqrt,
    "ex2": _ex2,
    "lg2": _lg2,
    "sin": _sin,
    "cos": _cos,
}
"""Of a name what ptxas takes the unit to give of a pattern of f32; ``sin`` and ``cos`` take radians."""
