# SPDX-License-Identifier: MIT
"""The f32 pipes on patterns, in every rounding, with and without ``.ftz``: a fast implementation on floats.

A product of two f32 is exact in float64, and a float64 sum that is rounded to odd may be rounded again to f32.
An inexact quotient or root of f32 is so far from every f32, and from every midpoint of two, that rounding it to the 53
bits of float64 does not reach one; a float64 rounded to nearest therefore decides every rounding (Figueroa, "When
is double rounding innocuous?", SIGNUM Newsletter 30, 1995). Arguments are not checked; `wmma_emu.scalar.fma` and
similar functions do that.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Rounding
from wmma_emu.scalar.exact_sums import Doubles, to_odd
from wmma_emu.scalar.traceable import fused

Bits = NDArray[np.uint32]

CANONICAL_NAN = np.uint32(0x7FFF_FFFF)

_SIGN, _EXPONENT, _MAGNITUDE = np.uint32(0x8000_0000), np.uint32(0x7F80_0000), np.uint32(0x7FFF_FFFF)
_ONE, _NONE, _SMALLEST = np.uint32(0x3F80_0000), np.uint32(0), np.uint32(0x0080_0000)
_SMALLEST_NORMAL = 2.0**-126
_TIE_BITS, _TIE = np.int64((1 << 29) - 1), np.int64(1 << 28)


def flush(bits: Bits) -> Bits:
    """Flush subnormal numbers to zeros of their sign.

    Examples
    --------
    >>> [hex(x) for x in flush(np.array([0x807FFFFF, 0x00800000], np.uint32))]
    ['0x80000000', '0x800000']
    """
    small = bits & _EXPONENT == 0
    return np.where(small, bits & _SIGN, bits) if small.any() else bits


def saturate(bits: Bits) -> Bits:
    """Clamp to [+0, 1]; NaN becomes +0.

    Examples
    --------
    >>> [hex(x) for x in saturate(np.array([0x80000000, 0x7F800000, 0x7FFFFFFF, 0x3F000000], np.uint32))]
    ['0x0', '0x3f800000', '0x0', '0x3f000000']
    """
    # As unsigned numbers, negative numbers and NaN are above infinity.
    return np.where(bits > _EXPONENT, _NONE, np.minimum(bits, _ONE))


def add(a: Bits, b: Bits, rounding: Rounding = "RNE", ftz: bool = False) -> Bits:
    """Compute ``a + b``, rounded once.

    Examples
    --------
    >>> one, tiny = np.array([0x3F800000], np.uint32), np.array([1], np.uint32)
    >>> hex(add(one, tiny)[0]), hex(add(one, tiny, "RU")[0])
    ('0x3f800000', '0x3f800001')
    """
    if ftz:
        a, b = flush(a), flush(b)
    with np.errstate(all="ignore"):
        if rounding == "RNE":
            result = _canonical(a.view(np.float32) + b.view(np.float32))
        else:
            x, y = _wide(a), _wide(b)
            result = _directed(to_odd(x, y), rounding, a, b)
    # A subnormal sum is exact, so that it is flushed without regard to rounding.
    return flush(result) if ftz else result


def mul(a: Bits, b: Bits, rounding: Rounding = "RNE", ftz: bool = False) -> Bits:
    """Compute ``a * b``, rounded once.

    Examples
    --------
    >>> x = np.array([0x00800000], np.uint32)
    >>> hex(mul(x, np.array([0x3F000000], np.uint32))[0]), mul(x, x, "RU")
    ('0x400000', array([1], dtype=uint32))
    """
    if ftz:
        a, b = flush(a), flush(b)
    with np.errstate(all="ignore"):
        if rounding == "RNE":
            result = _canonical(a.view(np.float32) * b.view(np.float32))
            if not ftz:
                return result
            if not (result & _MAGNITUDE == _SMALLEST).any():
                return flush(result)
        return _rounded(_wide(a) * _wide(b), rounding, ftz)


def fma(a: Bits, b: Bits, c: Bits, rounding: Rounding = "RNE", ftz: bool = False) -> Bits:
    """Compute ``a * b + c``, rounded once.

    Examples
    --------
    >>> x = np.array([0x3F800001], np.uint32)
    >>> hex(fma(x, x, np.array([0xBF800002], np.uint32))[0])
    '0x28800000'
    """
    if ftz:
        a, b, c = flush(a), flush(b), flush(c)
    if rounding == "RNE" and not ftz:
        at_once = fused(a.view(np.float32), b.view(np.float32), c.view(np.float32))
        if at_once is not None:
            return _canonical(at_once)
    with np.errstate(all="ignore"):
        product: Doubles = _wide(a) * _wide(b)
        z = _wide(c)
        if rounding != "RNE":
            return _directed(
                to_odd(product, z), rounding, (product.view(np.uint64) >> np.uint64(32)).astype(np.uint32), c, ftz
            )
        total = product + z
        # Double rounding differs from single rounding only at a tie, and if the f32 is subnormal.
        hard = (total.view(np.int64) & _TIE_BITS == _TIE) | (np.abs(total) < _SMALLEST_NORMAL)
        if hard.any() and (hard & (total != 0)).any():
            return _rounded(to_odd(product, z), rounding, ftz)
        single: NDArray[np.float32] = total.astype(np.float32)
        return _canonical(single)


def div(a: Bits, b: Bits, rounding: Rounding = "RNE", ftz: bool = False) -> Bits:
    """Compute ``a / b``, rounded once.

    Examples
    --------
    >>> x, y = np.array([0x3F800000], np.uint32), np.array([0x40400000], np.uint32)
    >>> hex(div(x, y)[0]), hex(div(x, y, "RD")[0])
    ('0x3eaaaaab', '0x3eaaaaaa')
    """
    if ftz:
        a, b = flush(a), flush(b)
    with np.errstate(all="ignore"):
        if rounding == "RNE" and not ftz:
            ratio: NDArray[np.float32] = np.divide(a.view(np.float32), b.view(np.float32))
            return _canonical(ratio)
        return _rounded(_wide(a) / _wide(b), rounding, ftz)


def rcp(a: Bits, rounding: Rounding = "RNE", ftz: bool = False) -> Bits:
    """Compute ``1 / a``, rounded once.

    Examples
    --------
    >>> hex(rcp(np.array([0x40400000], np.uint32), "RU")[0])
    '0x3eaaaaab'
    """
    return div(np.full((1,) * a.ndim, _ONE), a, rounding, ftz)


def sqrt(a: Bits, rounding: Rounding = "RNE", ftz: bool = False) -> Bits:
    """Compute the square root, rounded once; negative numbers give NaN.

    Examples
    --------
    >>> [hex(x) for x in sqrt(np.array([0x40000000, 0x80000000, 0xBF800000], np.uint32))]
    ['0x3fb504f3', '0x80000000', '0x7fffffff']
    """
    if ftz:
        a = flush(a)
    with np.errstate(all="ignore"):
        if rounding == "RNE":
            root: NDArray[np.float32] = np.sqrt(a.view(np.float32))
            return _canonical(root)
        return _rounded(np.sqrt(_wide(a)), rounding, False)


def _wide(bits: Bits) -> Doubles:
    return bits.view(np.float32).astype(np.float64)


def _canonical(number: NDArray[np.float32]) -> Bits:
    nan = number != number
    bits = number.view(np.uint32)
    return np.where(nan, CANONICAL_NAN, bits) if nan.any() else bits


def _rounded(exact: Doubles, rounding: Rounding, ftz: bool) -> Bits:
    """Round to f32 a float64 that is exact, or was rounded so that double rounding does not matter."""
    nearest = exact.astype(np.float32)
    bits = nearest.view(np.uint32)
    if rounding != "RNE":
        step: Callable[[Any, Any], Any] = np.greater if rounding == "RD" else np.less
        back = nearest.astype(np.float64)
        if rounding == "RZ":
            bits = bits - (np.abs(back) > np.abs(exact))
        else:
            # A step down increases the magnitude of a negative number.
            wrong = step(back, exact)
            away = (bits >= _SIGN) == (rounding == "RD")
            bits = np.where(wrong, np.where(away, bits + np.uint32(1), bits - np.uint32(1)), bits)
    if ftz:
        bits = np.where(_tiny(exact, rounding), bits & _SIGN, bits)
    nan = exact != exact
    return np.where(nan, CANONICAL_NAN, bits) if nan.any() else bits


def _directed(total: Doubles, rounding: Rounding, x: Bits, y: Bits, ftz: bool = False) -> Bits:
    """Round a sum whose terms have the signs of x and y: one that is exactly zero is -0 when rounding down."""
    result = _rounded(total, rounding, ftz)
    if rounding == "RD":
        zero = total == 0
        if zero.any():
            result = np.where(zero, (x | y) & _SIGN, result)
    return result


def _tiny(exact: Doubles, rounding: Rounding) -> NDArray[np.bool_]:
    """Return which numbers are below the smallest normal number after rounding with an unbounded exponent."""
    size = np.abs(exact)
    if rounding == "RNE":
        return size < _SMALLEST_NORMAL - 2.0**-151
    if rounding == "RZ":
        return size < _SMALLEST_NORMAL
    away = (exact < 0) == (rounding == "RD")
    return np.where(away, size <= _SMALLEST_NORMAL - 2.0**-150, size < _SMALLEST_NORMAL)
