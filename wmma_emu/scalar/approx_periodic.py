# SPDX-License-Identifier: MIT
"""MUFU.SIN and MUFU.COS: the fraction of the number of turns, split into quarters."""

from typing import Any

from wmma_emu.scalar.approx_datapath import NAN, Fields, interpolate, leading_bits, namespace, select

_TURN_BITS = 25
"""The fraction bits of x: two select the quarter, 23 are the position in it."""


def sin(word: Any) -> Any:
    """Compute the sine of x turns, rounded toward zero; for negative x it is the negated result of -x.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(y) for y in sin(np.array([0x3E000000, 0xBE800000, 0x3F800000]))]        # 1/8, -1/4, 1
    ['0x3f3504f2', '0xbf800000', '0x0']
    """
    x = Fields(word)
    return _sine(x, _turns(x), x.sign)


def cos(word: Any) -> Any:
    """Compute the cosine of x turns: the sine of the magnitude plus a quarter turn.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(y) for y in cos(np.array([0x80000000, 0x3E000000, 0x7F800000]))]        # -0, 1/8, infinity
    ['0x3f800000', '0x3f3504f3', '0x7fffffff']
    """
    x = Fields(word)
    return _sine(x, _turns(x) + (1 << 23), 0)


def _turns(x: Fields) -> Any:
    """Return the number in fixed point with 25 fraction bits; integer bits are irrelevant and may be lost."""
    xp = namespace(x.magnitude)
    fixed = (x.significand << _TURN_BITS) >> xp.minimum(xp.maximum(150 - x.exponent, 0), 63)
    return select(fixed, (x.exponent > 150, 0), (x.is_zero, 0))


def _sine(x: Fields, fixed: Any, sign: Any) -> Any:
    quarter = fixed >> 23
    # The position runs backwards in every other quarter: the bitwise complement.
    position = (fixed ^ -(quarter & 1)) & 0x7F_FFFF
    total = interpolate("sin", position >> 17, position & 0x1_FFFF)
    sign = sign ^ ((quarter & 2) << 30)
    return select(leading_bits(total) + sign, (x.exponent == 255, NAN))
