# SPDX-License-Identifier: MIT
"""Zeros, infinities and NaNs of x * y + z, for arrays of unpacked numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format, Overflow, Rounding
from wmma_emu.formats.codec import UnpackedArray, with_specials
from wmma_emu.formats.rounding import Bits


def sign_of_zero(
    product_sign: NDArray[np.bool_], addend_sign: NDArray[np.bool_], rounding: Rounding
) -> NDArray[np.bool_]:
    """Return the sign of an exact zero sum: the common sign of two zeros, else plus, or minus when rounding down."""
    return np.where(product_sign == addend_sign, product_sign, rounding == "RD")


def zero_like(sign: NDArray[np.bool_]) -> UnpackedArray:
    """Return unpacked zeros of given signs."""
    nothing, no = np.zeros(sign.shape, np.int64), np.zeros(sign.shape, np.bool_)
    return UnpackedArray(sign, nothing, nothing, no, no)


def combine_specials(
    word: Bits, x: UnpackedArray, y: UnpackedArray, z: UnpackedArray, target: Format, overflow: Overflow
) -> Bits:
    """Replace finite results by the infinities and NaNs of x * y + z."""
    product_infinite = x.is_infinity | y.is_infinity
    infinite = product_infinite | z.is_infinity
    is_nan = x.is_nan | y.is_nan | z.is_nan
    if not (infinite.any() or is_nan.any()):
        return word
    product_sign = x.sign ^ y.sign
    # Specials also have the significand zero: infinity times zero is handled after the infinities.
    is_zero = [(u.significand == 0) & ~u.is_infinity for u in (x, y)]
    is_nan = is_nan | (x.is_infinity & is_zero[1]) | (y.is_infinity & is_zero[0])
    is_nan = is_nan | (product_infinite & z.is_infinity & (product_sign != z.sign))
    sign = np.where(product_infinite, product_sign, z.sign)
    return with_specials(word, sign, infinite, is_nan, target, overflow)


def propagate_nan(word: Bits, fmt: Format, *candidates: tuple[Bits, UnpackedArray]) -> Bits:
    """Replace the result by the first NaN among the candidates, made quiet."""
    quiet_bit: Any = fmt.storage.type(0)
    if fmt.nan == "ieee":
        quiet_bit = fmt.storage.type(1 << (fmt.fraction_bits - 1 + fmt.ignored_low_bits))
    for bits, number in reversed(candidates):
        if number.is_nan.any():
            word = np.where(number.is_nan, bits.astype(fmt.storage) | quiet_bit, word)
    return word
