# SPDX-License-Identifier: MIT
"""Fused multiply-add of f64 arrays: a fast path on floats if that is exact, and 128-bit integers otherwise.

The fast path is Boldo and Melquiond's (`wmma_emu.scalar.exact_sums`): the product as an exact sum of two floats, the
three summed without error, the two small parts added with rounding to odd, and one last addition that rounds.
"""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format, Overflow, Rounding, format_of, round_pack, unpack
from wmma_emu.formats.codec import UnpackedArray
from wmma_emu.formats.rounding import Bits, Int64s
from wmma_emu.scalar.environment import in_ieee_arithmetic
from wmma_emu.scalar.exact_sums import Doubles, to_odd, two_sum
from wmma_emu.scalar.reference import NaNOutput
from wmma_emu.scalar.specials import combine_specials, propagate_nan, sign_of_zero
from wmma_emu.scalar.traceable import fused
from wmma_emu.scalar.wide import Wide, add_signed, length, multiply, shift_left, shift_right_with_sticky

_F64 = format_of("f64")
_EXPONENT_MASK = np.uint64(0x7FF)
_FRACTION_BITS = np.uint64(52)
_LOW_HALF = np.uint64(1 << 27)
_NO_EXPONENT = -(1 << 20)

# With exponents of factors from -450 to 450 and of the addend from -900 to 900, every float in the fast path is
# zero or a multiple of 2**-1004 below 2**1000. Overflow and subnormal numbers do not occur, so that the path
# is correct even in a thread that flushes subnormals.
_FACTOR_LIMIT = 450
_ADDEND_LIMIT = 900


def fma_f64(target: Format, rounding: Rounding, nan: NaNOutput, overflow: Overflow, a: Bits, b: Bits, c: Bits) -> Bits:
    """Compute ``a * b + c`` of flat arrays of f64 patterns, rounded once to the target.

    Examples
    --------
    >>> one = np.array([0x3FF0000000000001], np.uint64)      # 1 + 2**-52, and minus (1 + 2**-51)
    >>> hex(fma_f64(_F64, "RNE", "canonical", "ieee", one, one, np.array([0xBFF0000000000002], np.uint64))[0])
    '0x3970000000000000'
    """
    a, b, c = (operand.astype(np.uint64, copy=False) for operand in (a, b, c))
    if rounding != "RNE" or target != _F64:
        return _exact(target, rounding, nan, overflow, a, b, c)
    at_once = fused(a.view(np.float64), b.view(np.float64), c.view(np.float64))
    if at_once is not None:
        return _with_nan(at_once, nan, a, b, c)
    safe = _in_range(a, _FACTOR_LIMIT) & _in_range(b, _FACTOR_LIMIT) & _in_range(c, _ADDEND_LIMIT)
    if safe.all():
        return _on_floats(a, b, c)
    if not safe.any():
        return _exact(target, rounding, nan, overflow, a, b, c)
    rest = ~safe
    result = np.empty(a.shape, np.uint64)
    result[safe] = _on_floats(a[safe], b[safe], c[safe])
    result[rest] = _exact(target, rounding, nan, overflow, a[rest], b[rest], c[rest])
    return result


def _with_nan(result: Doubles, nan: NaNOutput, a: Bits, b: Bits, c: Bits) -> Bits:
    """Replace a NaN by the canonical one, or by the first NaN of the operands, made quiet."""
    word: Bits = np.where(result != result, np.uint64(_F64.canonical_nan), result.view(np.uint64))
    if nan == "canonical":
        return word
    x, y, z = unpack(a, _F64), unpack(b, _F64), unpack(c, _F64)
    return propagate_nan(word, _F64, (b, y), (c, z), (a, x))


def mul_f64(target: Format, rounding: Rounding, nan: NaNOutput, overflow: Overflow, a: Bits, b: Bits) -> Bits:
    """Compute ``a * b`` of flat arrays of f64 patterns, rounded once to the target."""
    # Adding a zero with the product's sign changes nothing, not even the sign of a zero product.
    zero = ((a ^ b) & np.uint64(_F64.sign_mask)).astype(np.uint64)
    return fma_f64(target, rounding, nan, overflow, a, b, zero)


def _in_range(bits: Bits, limit: int) -> NDArray[np.bool_]:
    biased = (bits >> _FRACTION_BITS) & _EXPONENT_MASK
    is_zero = bits << np.uint64(1) == 0
    # Unsigned, so that exponents below the range wrap to values far above it.
    inside: NDArray[np.bool_] = biased - np.uint64(_F64.bias - limit) <= np.uint64(2 * limit)
    inside |= is_zero
    return inside


@in_ieee_arithmetic
def _on_floats(a: Bits, b: Bits, c: Bits) -> Bits:
    x, y, z = a.view(np.float64), b.view(np.float64), c.view(np.float64)
    product, product_error = _two_product(x, y)
    small_sum, small_error = two_sum(z, product_error)
    large_sum, large_error = two_sum(product, small_sum)
    result = large_sum + to_odd(small_error, large_error)
    word: Bits = result.view(np.uint64)
    is_zero = result == 0
    if is_zero.any():
        sign = _F64.sign_mask
        product_sign, addend_sign = ((a ^ b) & np.uint64(sign)) != 0, (c & np.uint64(sign)) != 0
        zero = sign_of_zero(product_sign, addend_sign, "RNE").astype(np.uint64) << np.uint64(63)
        word = np.where(is_zero, zero, word)
    return word


def _two_product(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Return the product and its exact rounding error (Dekker)."""
    product = x * y
    x_high, y_high = _high_half(x), _high_half(y)
    x_low, y_low = x - x_high, y - y_high
    error = x_high * y_high - product
    error += x_high * y_low
    error += x_low * y_high
    error += x_low * y_low
    return product, error


def _high_half(x: Doubles) -> Doubles:
    """Round the pattern to 26 bits; the remainder then also has 26 bits and a sign."""
    word = x.view(np.uint64) + (_LOW_HALF >> np.uint64(1))
    word &= ~(_LOW_HALF - np.uint64(1))
    return word.view(np.float64)


def _exact(target: Format, rounding: Rounding, nan: NaNOutput, overflow: Overflow, a: Bits, b: Bits, c: Bits) -> Bits:
    x, y, z = unpack(a, _F64), unpack(b, _F64), unpack(c, _F64)
    sign, significand, exponent = _multiply_add(x, y, z, rounding)
    word = round_pack(sign, significand, exponent, target, rounding, overflow)
    word = combine_specials(word, x, y, z, target, overflow)
    return propagate_nan(word, _F64, (b, y), (c, z), (a, x)) if nan == "propagate" else word


def _multiply_add(
    x: UnpackedArray, y: UnpackedArray, z: UnpackedArray, rounding: Rounding
) -> tuple[NDArray[np.bool_], Int64s, Int64s]:
    """Return sign, significand (its last bit is sticky) and exponent of x * y + z of finite numbers.

    The algorithm equals the one in `wmma_emu.scalar.fused`, with 126 bits instead of 61.
    """
    product = multiply(x.significand.view(np.uint64), y.significand.view(np.uint64))
    addend = (np.zeros_like(product[0]), z.significand.view(np.uint64))
    product_exponent = x.exponent + y.exponent - 2 * _F64.fraction_bits
    addend_exponent = z.exponent - _F64.fraction_bits
    tops = [
        np.where(bits == 0, _NO_EXPONENT, bits + exponent)
        for bits, exponent in ((length(product), product_exponent), (length(addend), addend_exponent))
    ]
    low = np.maximum(*tops) - 126
    product = _place(product, product_exponent - low)
    addend = _place(addend, addend_exponent - low)
    product_sign = x.sign ^ y.sign
    total, negative = add_signed(product, addend, product_sign ^ z.sign)
    bits = length(total)
    surplus = np.maximum(bits - 61, 0)
    _, significand = shift_right_with_sticky(total, surplus)
    sign = np.where(bits == 0, sign_of_zero(product_sign, z.sign, rounding), product_sign ^ negative)
    return sign, significand.view(np.int64), low + surplus


def _place(x: Wide, places: Int64s) -> Wide:
    return shift_left(shift_right_with_sticky(x, np.clip(-places, 0, 127)), np.clip(places, 0, 127))
