# SPDX-License-Identifier: MIT
"""The code of ptxas for ``approx`` instructions in f32: MUFU, with instructions around it to keep subnormal numbers.

With ``.ftz`` most are one MUFU, whose subnormal operands and results are zero. The sequences are ptxas
12.9's and 13.0's, the same for sm_80 and sm_90.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from wmma_emu.scalar import approx_algebraic as algebraic
from wmma_emu.scalar import approx_exponential as exponential
from wmma_emu.scalar import approx_periodic as periodic
from wmma_emu.scalar.approx_datapath import Fields, namespace
from wmma_emu.scalar.approx_multiply import minus_24, multiply
from wmma_emu.scalar.approx_tanh import tanh

Unit = Callable[[Any], Any]

_ONE, _HALF, _QUARTER = 0x3F80_0000, 0x3F00_0000, 0x3E80_0000
_2_TO_24, _2_TO_12, _2_TO_MINUS_12 = 0x4B80_0000, 0x4580_0000, 0x3980_0000
_2_TO_126 = 0x7E80_0000
_MINUS_126 = 0xC2FC_0000
_TURNS_A_RADIAN = 0x3E22_F983
"""The f32 0.15915493667125701904, just below 1 / (2 pi)."""


def _is_small(word: Any) -> Any:
    """Return whether FSETP.GEU |x|, 2**-126 is false: for subnormal numbers and zeros, not for NaN."""
    return Fields(word).exponent == 0


def _ex2(word: Any) -> Any:
    """Halve numbers below -126, and square the result."""
    xp = namespace(word)
    low = (word > _MINUS_126) & (word <= 0xFF80_0000)
    if not low.any():
        return exponential.ex2(word)
    result = exponential.ex2(xp.where(low, multiply(word, _HALF), word))
    return xp.where(low, multiply(result, result), result)


def _lifted(unit: Unit, undo: Unit) -> Unit:
    """Multiply subnormal operands by 2**24, and undo the effect on the results."""

    def lifted(word: Any) -> Any:
        small = _is_small(word)
        if not small.any():
            return unit(word)
        xp = namespace(word)
        result = unit(xp.where(small, multiply(word, _2_TO_24), word))
        return xp.where(small, undo(result), result)

    return lifted


def _rcp(word: Any) -> Any:
    reciprocal, factor = factors_of_rcp(word)
    return reciprocal if isinstance(factor, int) else multiply(reciprocal, factor)


def _of_radians(unit: Unit) -> Unit:
    """Convert radians to turns first, rounded toward zero."""
    return lambda word: unit(multiply(word, _TURNS_A_RADIAN, toward_zero=True))


SEQUENCES: dict[tuple[str, bool], Unit] = {
    ("ex2", True): exponential.ex2,
    ("ex2", False): _ex2,
    ("lg2", True): exponential.lg2,
    ("lg2", False): _lifted(exponential.lg2, minus_24),
    ("rcp", True): algebraic.rcp,
    ("rcp", False): _rcp,
    ("rsqrt", True): algebraic.rsqrt,
    ("rsqrt", False): _lifted(algebraic.rsqrt, lambda result: multiply(result, _2_TO_12)),
    ("sqrt", True): algebraic.sqrt,
    ("sqrt", False): _lifted(algebraic.sqrt, lambda result: multiply(result, _2_TO_MINUS_12)),
    **{("sin", ftz): _of_radians(periodic.sin) for ftz in (False, True)},
    **{("cos", ftz): _of_radians(periodic.cos) for ftz in (False, True)},
    **{("tanh", ftz): tanh for ftz in (False, True)},
}
"""The function of words for (name, ftz). PTX has no ``tanh.approx.ftz.f32``; with ``-ftz=true`` the compiler also uses
``tanh.approx.f32``.
"""


def factors_of_rcp(word: Any) -> tuple[Any, Any]:
    """Return the factors of ``rcp.approx`` without ``.ftz``: the reciprocal of the scaled operand, and the scale.

    The scale is 2**24 if the operand is subnormal, 1/4 if it exceeds 2**126, and 1 otherwise (the integer 1, if that
    holds for all elements).
    """
    xp = namespace(word)
    magnitude = Fields(word).magnitude
    large = (magnitude > _2_TO_126) & (magnitude <= 0x7F80_0000)
    small = _is_small(word)
    if not (large | small).any():
        return algebraic.rcp(word), _ONE
    factor = xp.where(large, _QUARTER, xp.where(small, _2_TO_24, _ONE))
    return algebraic.rcp(multiply(word, factor)), factor


def factors_of_div(a: Any, b: Any, kind: str, ftz: bool) -> tuple[Any, Any]:
    """Return the factors of ``div.approx`` and ``div.full``: a and 1/b.

    Without ``.ftz`` both operands are first multiplied by 2**24 if b is subnormal; in ``div.full`` also by 1/4 if b
    exceeds 2**126.
    """
    xp = namespace(b)
    small = _is_small(b) & (not ftz)
    large = Fields(b).magnitude > _2_TO_126 if kind == "full" else xp.zeros_like(small)
    if (large | small).any():
        factor = xp.where(large, _QUARTER, xp.where(small, _2_TO_24, _ONE))
        a, b = xp.where(large | small, multiply(a, factor, ftz=ftz), a), multiply(b, factor, ftz=ftz)
    return a, algebraic.rcp(b)


FACTORS: dict[tuple[str, bool], Callable[..., tuple[Any, Any]]] = {
    **{
        (f"div.{kind}", ftz): partial(factors_of_div, kind=kind, ftz=ftz)
        for kind in ("approx", "full")
        for ftz in (False, True)
    },
    ("rcp.approx", False): factors_of_rcp,
}
"""The factors of the final multiplication for (name, ftz). ``rcp.approx.ftz`` does not end in a multiplication."""


def divide(kind: str, a: Any, b: Any, ftz: bool) -> Any:
    """Compute ``div.approx`` or ``div.full``: the product of the two factors."""
    return multiply(*FACTORS[f"div.{kind}", ftz](a, b), ftz=ftz)
