# SPDX-License-Identifier: MIT
"""What compiled code is told of operands: codes of one dtype, what each means, and the k of every step."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.scaled_codes import unpacked_codes
from wmma_emu.formats import Format, unpack
from wmma_emu.formats.codec import Bits
from wmma_emu.scalar import convert

__all__ = ["NONE", "SPECIAL", "Codes", "codes_in", "codes_of", "step_order"]

SPECIAL = 1 << 12
"""Exponent of infinities and NaN."""

NONE = -(1 << 12)
"""Exponent of zeros."""


class Codes(NamedTuple):
    """Every pattern of an operand's format, as the unit reads it after its conversion, if there is one.

    ``value * 2**exponent`` is the number, ``value`` in [-2, 2) with ``fraction_bits`` bits behind the point. A code is
    a pattern without the low bits that the unit ignores.
    """

    value: NDArray[np.float32]
    exponent: NDArray[np.int32]
    fraction_bits: int


@cache
def codes_of(source: Format, target: Format, scale: Format | None = None) -> Codes:
    """Decode every pattern of a format, converted (exactly) to another one; or every code with a block scale."""
    if scale is None:
        low = source.ignored_low_bits
        patterns = np.arange(1 << (source.bits - low), dtype=np.uint64) << np.uint64(low)
        u = unpack(convert(patterns.astype(source.storage), source, target), target)
    else:
        u = unpacked_codes(source, scale)
    value = np.where(u.sign, -u.significand, u.significand) / 2.0**target.fraction_bits
    value = np.where(u.is_nan, np.nan, np.where(u.is_infinity, np.where(u.sign, -np.inf, np.inf), value))
    exponent = np.where(u.is_infinity | u.is_nan, SPECIAL, np.where(u.significand == 0, NONE, u.exponent))
    return Codes(value.astype(np.float32), exponent.astype(np.int32), target.fraction_bits)


def codes_in(bits: Bits, source: Format) -> NDArray[np.uint32]:
    """The codes of a matrix of patterns: of one dtype and layout, so that compiled code needs to know no other."""
    codes = np.ascontiguousarray(bits, np.uint32)
    return codes >> np.uint32(source.ignored_low_bits) if source.ignored_low_bits else codes


def step_order(product: DotProduct, k: int) -> NDArray[np.int64]:
    """The k of every step of every instruction, shape (steps, terms), in the order in which the unit takes them."""
    first = np.array(product.steps, np.int64)
    starts = np.arange(0, k, product.k, dtype=np.int64)
    return (starts[:, None, None] + first).reshape(-1, first.shape[-1])
