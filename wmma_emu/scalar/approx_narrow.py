# SPDX-License-Identifier: MIT
"""MUFU.EX2 and MUFU.TANH in f16 and bf16: those of f32 on the operand widened, with the result cut, not rounded."""

from collections.abc import Callable
from typing import Any

from wmma_emu.scalar.approx_datapath import NAN, Fields, leading_bits, namespace, select
from wmma_emu.scalar.approx_exponential import ex2
from wmma_emu.scalar.approx_tanh import tanh

_F16_UNIT = 24
"""A subnormal number of f16 is an integer in units of 2**-24."""

_LEAST_F16 = 113
"""The exponent field in f32 of the least normal number of f16."""


def _widen(half: Any) -> Any:
    """Turn f16 into f32, exactly.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(x) for x in _widen(np.array([0x3C00, 0x8001, 0x7C00, 0x7E00]))]
    ['0x3f800000', '0xb3800000', '0x7f800000', '0x7fc00000']
    """
    magnitude = half & 0x7FFF
    exponent, fraction = magnitude >> 10, magnitude & 0x3FF
    return (half & 0x8000) << 16 | select(
        (magnitude << 13) + ((_LEAST_F16 - 1) << 23),
        (exponent == 31, 0x7F80_0000 + (fraction << 13)),
        (exponent == 0, leading_bits(fraction, _F16_UNIT)),
    )


def _cut(word: Any) -> Any:
    """Turn f32 into f16, toward zero; NaN to 0x7fff.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(x) for x in _cut(np.array([0x3F803FFF, 0xB3FFFFFF, 0x47800000, 0x7FFFFFFF]))]
    ['0x3c01', '0x8001', '0x7c00', '0x7fff']
    """
    x = Fields(word)
    xp = namespace(word)
    normal = (x.magnitude >> 13) - ((_LEAST_F16 - 1) << 10)
    subnormal = x.significand >> xp.minimum(13 + xp.maximum(_LEAST_F16 - x.exponent, 0), 31)
    magnitude = xp.where(x.exponent < _LEAST_F16, subnormal, xp.minimum(normal, 0x7C00))
    return select(x.sign >> 16 | magnitude, (x.is_nan, NAN >> 16))


NARROW: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("ex2", "f16"): lambda half: _cut(ex2(_widen(half))),
    ("tanh", "f16"): lambda half: _cut(tanh(_widen(half))),
    ("ex2", "bf16"): lambda half: ex2(half << 16) >> 16,
    ("tanh", "bf16"): lambda half: tanh(half << 16) >> 16,
}
"""Of (name, format) the function of 16-bit words, held in int64 arrays as in f32."""


def pairs(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a function of two 16-bit numbers in a word, as ``f16x2`` and ``bf16x2`` have them, of one of a number."""
    return lambda word: function(word & 0xFFFF) | function(word >> 16) << 16
