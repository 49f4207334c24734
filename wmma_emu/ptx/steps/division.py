# SPDX-License-Identifier: MIT
"""Quotients and remainders of integers, truncated toward zero, and what a division by zero gives."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.steps.patterns import UNSIGNED, Array, signed
from wmma_emu.ptx.widths import bits_of_type

__all__ = ["divide", "remain"]


def divide(kind: str) -> Callable[[Array, Array], Array]:
    """Make the function of `div`; a quotient by zero is all ones (undefined in PTX; NVIDIA H200, 2026-11-21).

    Examples
    --------
    >>> divide("s32")(np.array([-7], np.int32).view(np.uint32), np.array([2], np.uint32)).view(np.int32)
    array([-3], dtype=int32)
    """
    return lambda a, b: _divide(a, b, kind)[0]


def remain(kind: str) -> Callable[[Array, Array], Array]:
    """Make the function of `rem`: the sign is the dividend's; what a division by zero leaves is all ones too.

    Examples
    --------
    >>> remain("s32")(np.array([-7], np.int32).view(np.uint32), np.array([2], np.uint32)).view(np.int32)
    array([-1], dtype=int32)
    """

    def compute(a: Array, b: Array) -> Array:
        quotient, zero = _divide(a, b, kind)
        rest = a - quotient * b
        return rest if zero is None else np.where(zero, quotient, rest)

    return compute


def _divide(a: Array, b: Array, kind: str) -> tuple[Array, Array | None]:
    """Quotient, and where the divisor is zero, if anywhere: there the machine code gives all ones for both results."""
    width = bits_of_type(kind)
    unsigned = UNSIGNED[width].type
    zero = b == 0
    none = zero.any()
    divisor = np.where(zero, unsigned(1), b) if none else b
    if kind[0] == "s":
        quotient = _magnitude(a) // _magnitude(divisor)
        quotient = np.where((signed(a) < 0) != (signed(divisor) < 0), -quotient, quotient)
    else:
        quotient = a // divisor
    if not none:
        return quotient, None
    return np.where(zero, unsigned((1 << width) - 1), quotient), zero


def _magnitude(number: Array) -> Array:
    return np.abs(signed(number)).view(number.dtype)
