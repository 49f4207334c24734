# SPDX-License-Identifier: MIT
"""Operands prepared for the engines: codes, their values, the k of every step, and the operands of tiles."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.scaled_codes import unpacked_codes
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits

SPECIAL = 1 << 12
"""The exponent of infinities and NaN."""

NONE = -(1 << 12)
"""The exponent of zeros."""

LOWEST = -31
"""The limit to which relative exponents are clipped: a sum of two that is above it contains no clipped one."""

ZERO = -64
"""The relative exponent of a zero. A sum of two exponents is at most this only if a factor is zero; it fits in int8."""


class Codes(NamedTuple):
    """Every pattern of an operand's format, as the unit reads it after a conversion, if there is one.

    The number is ``value * 2**exponent``, with ``value`` in [-2, 2) with ``fraction_bits`` fraction bits. A code is a
    pattern without the low bits that the unit ignores.
    """

    value: NDArray[np.float32]
    exponent: NDArray[np.int32]
    fraction_bits: int


class Operand(NamedTuple):
    """One operand of the steps of a tile. The axes are step, product, then axes that broadcast to the tile.

    ``value * 2**top`` is the operand and ``value`` is in [-2, 2); ``exponent`` is relative to ``top``, the
    largest exponent of its row (or column) within the step.
    """

    value: NDArray[np.float32]
    exponent: NDArray[np.int8]
    top: NDArray[np.int16]
    special: NDArray[np.bool_]
    bits: Bits


@cache
def codes_of(source: Format, target: Format, scale: Format | None = None) -> Codes:
    """Decode every pattern of a format, converted (exactly) to another format; or every code with a block scale."""
    u = unpacked_codes(source, target, scale)
    value = np.where(u.sign, -u.significand, u.significand) / 2.0**target.fraction_bits
    value = np.where(u.is_nan, np.nan, np.where(u.is_infinity, np.where(u.sign, -np.inf, np.inf), value))
    exponent = np.where(u.is_infinity | u.is_nan, SPECIAL, np.where(u.significand == 0, NONE, u.exponent))
    return Codes(value.astype(np.float32), exponent.astype(np.int32), target.fraction_bits)


def operand_codes(product: DotProduct) -> tuple[Codes, Codes]:
    """Return the values of the codes of A and of B."""
    a, b = product.operand_formats
    return codes_of(product.a, a, product.scale), codes_of(product.b, b, product.scale)


def codes_in(bits: Bits, source: Format) -> Bits:
    """Return the codes of patterns: without the low bits that the unit ignores."""
    return bits >> np.uint32(source.ignored_low_bits) if source.ignored_low_bits else bits


def step_order(product: DotProduct, k: int) -> NDArray[np.int64]:
    """Return the k of every step of every instruction, shape (steps, terms), in the order of the unit."""
    first = np.array(product.steps, np.int64)
    starts = np.arange(0, k, product.k, dtype=np.int64)
    return (starts[:, None, None] + first).reshape(-1, first.shape[-1])


def prepare(bits: Bits, fmt: Format, scale: Format | None = None) -> Operand:
    """Split patterns, or codes with scales, shape (steps, products, ...), into float32 values and int8 exponents.

    A value more than 2**126 below the top of its row becomes zero: in the tile engine, the step truncates its products
    to zero anyway.
    """
    index = codes_in(bits, fmt)
    value, exponent = codes_of(fmt, fmt, scale).value[index], _short_exponents(fmt, scale)[index]
    top = exponent.max(axis=1)
    special = top == SPECIAL
    top = np.where(special | (top == NONE), 0, top).astype(np.int16)
    relative = exponent - top[:, None]
    power = (np.clip(relative, -127, 0) + np.int32(127)).astype(np.int32) << 23
    value *= power.view(np.float32)
    small = np.where(exponent == NONE, ZERO, np.clip(relative, LOWEST, 0)).astype(np.int8)
    return Operand(value, small, top, special, bits)


@cache
def _short_exponents(fmt: Format, scale: Format | None) -> NDArray[np.int16]:
    return codes_of(fmt, fmt, scale).exponent.astype(np.int16)
