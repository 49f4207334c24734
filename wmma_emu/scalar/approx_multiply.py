# SPDX-License-Identifier: MIT
"""FMUL and the one FADD of the sequences around the function unit, on integers."""

from typing import Any

import numpy as np

from wmma_emu.scalar import rounded_single
from wmma_emu.scalar.approx_datapath import INFINITY, NAN, Fields, namespace, select
from wmma_emu.scalar.traceable import is_traced

_LEAST_NORMAL = 0x0080_0000


def multiply(a: Any, b: Any, *, toward_zero: bool = False, ftz: bool = False) -> Any:
    """Multiply f32 numbers, rounded once to nearest even or toward zero; subnormal numbers are kept or flushed.

    Examples
    --------
    >>> [hex(y) for y in multiply(np.array([0x3F800001, 0x00800001, 0x7F000000]), 0x3F000000)]
    ['0x3f000001', '0x400000', '0x7e800000']
    """
    xp = namespace(a)
    if isinstance(b, int):
        b = xp.full_like(a, b)
    if is_traced(a, b):
        # Compiled code multiplies floats faster, and its thread does not flush subnormal numbers.
        x, y = (word.astype(np.uint32) for word in (a, b))
        return rounded_single.mul(x, y, "RZ" if toward_zero else "RNE", ftz).astype(np.int64)
    x, y = Fields(a), Fields(b)
    sign = x.sign ^ y.sign
    p = _significand(x, ftz) * _significand(y, ftz)
    # p is in units of 2**exponent; the result is in units of 2**last and has 24 bits, or fewer if it is subnormal.
    exponent = xp.maximum(x.exponent, 1) + xp.maximum(y.exponent, 1) - 300
    length = (p.astype(np.float64).view(np.int64) >> 52) - 1022
    last = exponent + length - 24
    if not ftz:
        last = xp.maximum(last, -149)
    shift = last - exponent
    left = xp.minimum(xp.maximum(-shift, 0), 62)
    right = xp.minimum(xp.maximum(shift, 0), 62)
    if not toward_zero:
        p = p + (((1 << right) >> 1) - 1 + ((p >> right) & 1)) * (right > 0)
    magnitude = ((p << left) >> right) + ((last + 149) << 23)
    magnitude = xp.minimum(magnitude, INFINITY - toward_zero)
    if ftz:
        # Rounded to 24 bits for every exponent; results below 2**-126 are then zero.
        magnitude *= magnitude >= _LEAST_NORMAL
    infinite = x.is_infinite | y.is_infinite
    zero = _is_zero(x, ftz) | _is_zero(y, ftz)
    return select(sign + magnitude, (x.is_nan | y.is_nan | infinite & zero, NAN), (infinite, sign + INFINITY))


def _significand(x: Fields, ftz: bool) -> Any:
    if ftz:
        return x.significand * (x.exponent != 0)
    return x.fraction + ((x.exponent != 0).astype(np.int64) << 23)


def _is_zero(x: Fields, ftz: bool) -> Any:
    return x.exponent == 0 if ftz else x.magnitude == 0


def minus_24(word: Any) -> Any:
    """Subtract 24 from a logarithm between -125 and -102, or an infinity or NaN, rounded to nearest even.

    Examples
    --------
    >>> hex(minus_24(np.array([0xC2FA0000]))[0])                                      # -125 - 24
    '0xc3150000'
    """
    x = Fields(word)
    # Units of 2**-17: with more than 24 bits the last bit is lost, and the exponent grows by one.
    total = x.significand + (24 << 17)
    far = total >> 24
    total = (total + (far & (total >> 1))) >> far
    return select(x.sign + total + ((132 + far) << 23), (x.exponent == 255, word))
