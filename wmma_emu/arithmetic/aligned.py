# SPDX-License-Identifier: MIT
"""One rounding step of an aligned sum for many elements at once, on integers: any operands, specials included.

`wmma_emu.arithmetic.reference.fused_step` is the same thing for one element.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.model import DotModel
from wmma_emu.formats import Format, round_pack, unpack
from wmma_emu.formats.codec import Bits, Int64s, UnpackedArray

__all__ = ["Terms", "fused_step", "multiply"]

_NO_EXPONENT = -(1 << 20)
"""Exponent of a zero: it never is the largest."""


class Terms(NamedTuple):
    """Terms of many sums, the first axis counting the terms of one sum."""

    sign: NDArray[np.bool_]
    exponent: Int64s
    significand: Int64s
    is_infinity: NDArray[np.bool_]
    is_nan: NDArray[np.bool_]


def fused_step(
    model: DotModel, a: Bits, a_format: Format, b: Bits, b_format: Format, c: Bits, pads_with_zero: bool
) -> Bits:
    """One rounding step of the unit for each element: align the terms, cut, add, round once.

    Parameters
    ----------
    model : DotModel
    a, b : unsigned integer arrays, shape (terms, ...)
        Patterns of the step's operands.
    c : unsigned integer array, shape (...)
        Patterns in the accumulator's format.
    pads_with_zero : bool
        Whether the unit adds products that are +0.

    Returns
    -------
    unsigned integer array, shape (...)
        Patterns in the accumulator's format.
    """
    out = model.output_format
    products = multiply(unpack(a, a_format), unpack(b, b_format))
    c_term = unpack(c, model.accumulator_format)
    c_fraction_bits = model.accumulator_format.fraction_bits
    is_zero = (products.significand == 0).all(0) & (c_term.significand == 0)
    exponent = np.maximum(_participating(products).max(0), model.min_exponent)
    exponent = np.maximum(exponent, np.where(c_term.significand != 0, c_term.exponent, _NO_EXPONENT))
    shift = model.fraction_bits - a_format.fraction_bits - b_format.fraction_bits
    total = _cut(products.sign, products.significand, products.exponent - exponent + shift).sum(0)
    total += _cut(c_term.sign, c_term.significand, c_term.exponent - exponent + model.fraction_bits - c_fraction_bits)
    result = round_pack(total < 0, np.abs(total), exponent - model.fraction_bits, out, model.rounding, "infinity")
    # A sum that cancels, or rounds to zero from either side, is +0; -0 needs every term to be -0.
    result = np.where(result == out.sign_mask, 0, result)
    if not pads_with_zero:
        result = np.where(is_zero & products.sign.all(0) & c_term.sign, out.sign_mask, result)
    return _specials(products, c_term, out, result).astype(out.storage)


def multiply(a: UnpackedArray, b: UnpackedArray) -> Terms:
    """Multiply exactly; significands, in [0, 4), are not normalised."""
    x, y = Terms(*a), Terms(*b)
    x_zero = (x.significand == 0) & ~x.is_infinity & ~x.is_nan
    y_zero = (y.significand == 0) & ~y.is_infinity & ~y.is_nan
    infinite = x.is_infinity | y.is_infinity
    is_nan = x.is_nan | y.is_nan | (infinite & (x_zero | y_zero))
    return Terms(x.sign ^ y.sign, x.exponent + y.exponent, x.significand * y.significand, infinite & ~is_nan, is_nan)


def _participating(terms: Terms) -> Int64s:
    """Exponents for the alignment; zero terms do not take part."""
    return np.where(terms.significand != 0, terms.exponent, _NO_EXPONENT)


def _cut(sign: NDArray[np.bool_], significand: Int64s, shift: Int64s) -> Int64s:
    """Shift to the common exponent, cutting toward zero."""
    magnitude = np.where(
        shift >= 0, significand << np.clip(shift, 0, 62), significand >> np.clip(-shift, 0, 63)
    )  # fmt: skip
    return np.where(sign, -magnitude, magnitude)


def _specials(products: Terms, c: UnpackedArray, out: Format, result: Bits) -> Bits:
    """NaN if any term is, or if infinities of both signs meet; else the infinity, if there is one."""
    c_term = Terms(*c)
    is_nan = products.is_nan.any(0) | c_term.is_nan
    plus = (products.is_infinity & ~products.sign).any(0) | (c_term.is_infinity & ~c_term.sign)
    minus = (products.is_infinity & products.sign).any(0) | (c_term.is_infinity & c_term.sign)
    result = np.where(plus, out.infinity, np.where(minus, out.infinity | out.sign_mask, result))
    return np.where(is_nan | (plus & minus), out.canonical_nan, result)
