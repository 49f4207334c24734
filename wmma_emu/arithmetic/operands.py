# SPDX-License-Identifier: MIT
"""Operands made ready for the tile engine: float32 significands, small exponents, and the bits beside them."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.scaled_codes import unpacked_codes
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits

__all__ = ["LOWEST", "ZERO", "Operand", "prepare"]

LOWEST = -31
"""Relative exponents are clipped here: a sum of two above it holds no clipped one."""

ZERO = -64
"""Relative exponent of a zero. A sum of two exponents is at most this just where a factor is zero, and fits int8."""

_SPECIAL = 1 << 12
_NONE = -(1 << 12)


class Operand(NamedTuple):
    """One side of the steps of a tile. Axes: step, product, then axes that broadcast to the tile.

    ``value * 2**top`` is the operand and ``value`` is in [-2, 2); ``exponent`` is relative to ``top``, the
    largest exponent of its row (or column) within the step.
    """

    value: NDArray[np.float32]
    exponent: NDArray[np.int8]
    top: NDArray[np.int16]
    special: NDArray[np.bool_]
    bits: Bits


def prepare(bits: Bits, fmt: Format, scale: Format | None = None) -> Operand:
    """Split patterns, or codes with scales, shape (steps, products, ...), into float32 values and int8 exponents.

    A value more than 2**126 below the top of its row becomes zero: where the tile engine applies, the step
    cuts its products to nothing.
    """
    significands, exponents = _decoded(fmt, scale)
    index = bits >> fmt.ignored_low_bits if fmt.ignored_low_bits else bits
    value = significands[index]
    exponent = exponents[index]
    top = exponent.max(axis=1)
    special = top == _SPECIAL
    top = np.where(special | (top == _NONE), 0, top).astype(np.int16)
    relative = exponent - top[:, None]
    power = (np.clip(relative, -127, 0) + np.int32(127)).astype(np.int32) << 23
    value *= power.view(np.float32)
    small = np.where(exponent == _NONE, ZERO, np.clip(relative, LOWEST, 0)).astype(np.int8)
    return Operand(value, small, top, special, bits)


@cache
def _decoded(fmt: Format, scale: Format | None) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """Significand (signed, in [-2, 2)) and exponent of every pattern of a format, as far as it is read."""
    u = unpacked_codes(fmt, scale)
    significand = np.where(u.sign, -u.significand, u.significand) / 2.0**fmt.fraction_bits
    exponent = np.where(u.is_infinity | u.is_nan, _SPECIAL, np.where(u.significand == 0, _NONE, u.exponent))
    return significand.astype(np.float32), exponent.astype(np.int16)
