# SPDX-License-Identifier: MIT
"""MUFU.EX2 and MUFU.TANH in f16 and bf16: the operand is widened to f32, and the f32 result is truncated."""

from collections.abc import Callable
from typing import Any

from wmma_emu.scalar.approx_datapath import NAN, Fields, leading_bits, namespace, select
from wmma_emu.scalar.approx_exponential import ex2
from wmma_emu.scalar.approx_tanh import tanh

_F16_UNIT = 24
"""The unit of subnormal f16 numbers, which are integers in units of 2**-24."""

_LEAST_F16 = 113
"""The f32 exponent field of the smallest normal f16 number."""


def _widen(half: Any) -> Any:
    """Convert f16 to f32, exactly.

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
    """Convert f32 to f16, rounded toward zero; NaN becomes 0x7fff.

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
"""The function of 16-bit words for (name, format); the words are int64 arrays, as for f32."""


def pairs(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Apply a function of 16-bit numbers to words with two of them, such as ``f16x2`` and ``bf16x2``."""
    return lambda word: function(word & 0xFFFF) | function(word >> 16) << 16
