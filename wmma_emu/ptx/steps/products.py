# SPDX-License-Identifier: MIT
"""Wide integer products and their upper halves; quotients and remainders, truncated toward zero."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.steps.patterns import UNSIGNED, Array, signed
from wmma_emu.ptx.widths import bits_of_type


def wide_product(kind: str) -> Callable[[Array, Array], Array]:
    """Return the function that multiplies 16- or 32-bit integers in twice the width.

    Examples
    --------
    >>> hex(wide_product("s32")(np.array([0xFFFFFFFF], np.uint32), np.array([2], np.uint32))[0])
    '0xfffffffffffffffe'
    """
    width = bits_of_type(kind)
    wide, unsigned = np.dtype(f"{'i' if kind[0] == 's' else 'u'}{width // 4}"), UNSIGNED[2 * width]

    def multiply(a: Array, b: Array) -> Array:
        if kind[0] == "s":
            a, b = signed(a), signed(b)
        result: Array = (a.astype(wide) * b.astype(wide)).view(unsigned)
        return result

    return multiply


def high_product(kind: str) -> Callable[[Array, Array], Array]:
    """Return the function that computes the upper half of a product.

    Examples
    --------
    >>> hex(high_product("u64")(np.array([2**63], np.uint64), np.array([6], np.uint64))[0])
    '0x3'
    """
    width = bits_of_type(kind)
    if width == 64:
        return _high_signed if kind[0] == "s" else _high
    full, narrow, shift = wide_product(kind), UNSIGNED[width], UNSIGNED[2 * width].type(width)
    return lambda a, b: (full(a, b) >> shift).astype(narrow)


def _high(a: Array, b: Array) -> Array:
    half, low = np.uint64(32), np.uint64(0xFFFF_FFFF)
    a_high, a_low, b_high, b_low = a >> half, a & low, b >> half, b & low
    carried = a_high * b_low + (a_low * b_low >> half)
    middle = (carried & low) + a_low * b_high
    result: Array = a_high * b_high + (carried >> half) + (middle >> half)
    return result


def _high_signed(a: Array, b: Array) -> Array:
    # A number with its top bit set is 2**64 less than its unsigned value.
    zero = np.uint64(0)
    return _high(a, b) - np.where(signed(a) < 0, b, zero) - np.where(signed(b) < 0, a, zero)


def divide(kind: str) -> Callable[[Array, Array], Array]:
    """Return the function of `div`; division by zero gives all ones (undefined in PTX; NVIDIA H200, 2026-11-21).

    Examples
    --------
    >>> divide("s32")(np.array([-7], np.int32).view(np.uint32), np.array([2], np.uint32)).view(np.int32)
    array([-3], dtype=int32)
    """
    return lambda a, b: _divide(a, b, kind)[0]


def remain(kind: str) -> Callable[[Array, Array], Array]:
    """Return the function of `rem`: the sign is the dividend's; the remainder of a division by zero is all ones.

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
    """Return the quotient, and where the divisor is zero: there the machine code gives all ones for both results."""
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
