# SPDX-License-Identifier: MIT
"""Exact aligned sums for a tile of elements at once, on float32 and int32, in NumPy.

The algorithm of one rounding step for all elements (i, j) of a tile: operands are scaled by the largest exponent of
their row of A or column of B (`wmma_emu.arithmetic.operands`), so that products of at most 11 + 11 significand bits are
exact in float32. One pass over the step's products finds the largest exponent; a second multiplies by a power of two
that scales the bit 2**(exponent - F) to 1, converts to int32, which truncates, and adds. The sum and its rounding are
exact in float64.

Elements for which this is not valid (infinities and NaN, distant exponents, subnormal results, sums of only
zeros) are marked and recomputed by `wmma_emu.arithmetic.aligned`, the slow path.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import aligned
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.operands import LOWEST, ZERO, Operand
from wmma_emu.formats.codec import Bits

Float32s = NDArray[np.float32]
Int8s = NDArray[np.int8]
Int16s = NDArray[np.int16]

_LOWEST_MAXIMUM = LOWEST
"""The limit of the largest relative exponent: above it, the exponent was not clipped, and operands that `prepare`
flushed to zero are truncated anyway: 2**-124 < 2**(-31 - F)."""

_LOWEST_EXPONENT = -100
"""The alignment exponent from which no result is a float32 subnormal: a sum is a multiple of 2**(-100 - F), and F is at
most 26. A lower limit would also be valid."""

_HIGHEST_EXPONENT = 127
"""The exponent up to which the powers of two of a step are normal float32 numbers; infinite or NaN c is above it."""


def largest_exact_step(product: DotProduct) -> int:
    """Return the number of truncated products whose sum does not overflow int32."""
    a, b = product.operand_formats
    largest = (2 - 2.0**-a.fraction_bits) * (2 - 2.0**-b.fraction_bits) * 2.0**product.model.fraction_bits
    return int((2**31 - 1) // largest)


class TileAccumulator:
    """The running sums of a tile, float32 values in the accumulator's format, to which rounding steps are applied."""

    def __init__(self, product: DotProduct, shape: tuple[int, ...]) -> None:
        self._product = product
        self._model = product.model
        self._in_int32 = largest_exact_step(product)
        self._exponent = np.empty(shape, np.int8)
        self._exponent_k = np.empty(shape, np.int8)
        self._term = np.empty(shape, np.float32)
        self._cut = np.empty(shape, np.int32)
        self._sum = np.empty(shape, np.int32)

    def step(self, a: Operand, b: Operand, index: int, c: Float32s) -> Float32s:
        """Execute the prepared rounding step ``index`` on c; return the new sums."""
        with np.errstate(all="ignore"):
            largest = self._largest_exponent(a, b, index)
            base = a.top[index] + b.top[index]
            exponent = largest + base
            np.maximum(exponent, self._exponent_of(c), out=exponent)
            np.maximum(exponent, self._model.min_exponent, out=exponent)
            total = self._sum_of_products(a, b, index, exponent - base)
            total += np.trunc(c * _power_of_two(self._model.fraction_bits - exponent))
            result = self._round(total, exponent)
            special = bool(a.special[index].any() or b.special[index].any())
            if special or largest.min() <= _LOWEST_MAXIMUM or _outside(exponent):
                self._correct(a, b, index, largest, exponent, c, result)
        return result

    def _correct(
        self, a: Operand, b: Operand, index: int, largest: Int8s, exponent: Int16s, c: Float32s, result: Float32s
    ) -> None:
        """Pass c through if every product is zero, and recompute elements for which the fast step is invalid."""
        special = a.special[index] | b.special[index] | ~np.isfinite(c)
        no_product = (largest <= ZERO) & ~special
        kept, output = c, self._model.output_format
        if output != self._model.accumulator_format:
            kept = (kept.view(np.int32) & (-1 << output.ignored_low_bits)).view(np.float32)
        np.copyto(result, kept + np.float32(0), where=no_product)  # a zero result becomes +0
        slow_path = (largest <= _LOWEST_MAXIMUM) | special
        slow_path |= (exponent < _LOWEST_EXPONENT) | (exponent > _HIGHEST_EXPONENT)
        where = np.nonzero(slow_path & ~no_product)
        a_format, b_format = self._product.operand_formats
        chunk = 1 << 12
        for start in range(0, len(where[0]), chunk):
            element = tuple(axis[start : start + chunk] for axis in where)
            bits = aligned.fused_step(
                self._model, _gather(a.bits[index], element), a_format, _gather(b.bits[index], element), b_format,
                to_accumulator_bits(c[element], self._product), self._product.scale,
            )  # fmt: skip
            result[element] = from_accumulator_bits(bits, self._product)

    def add(self, c: Float32s, partial: Float32s) -> Float32s:
        """Add two sums, rounded once to nearest in the accumulator's format."""
        with np.errstate(all="ignore"):
            if self._model.accumulator == "f32":
                return c + partial
            return _round_to_f16(c.astype(np.float64) + partial)

    def _largest_exponent(self, a: Operand, b: Operand, index: int) -> Int8s:
        """Return the largest of the products' exponents, relative to the tops; zero products are far below."""
        largest, candidate = self._exponent, self._exponent_k
        x, y = a.exponent[index], b.exponent[index]
        np.add(x[0], y[0], out=largest)
        for k in range(1, len(x)):
            np.add(x[k], y[k], out=candidate)
            np.maximum(largest, candidate, out=largest)
        return largest

    def _sum_of_products(self, a: Operand, b: Operand, index: int, exponent: Int16s) -> NDArray[np.float64]:
        """Return the exact sum of products truncated at 2**(exponent - F), in that unit."""
        scale = _power_of_two(self._model.fraction_bits - exponent)
        x, y, at_once = a.value[index], b.value[index], self._in_int32
        total = self._sum_in_int32(x[:at_once], y[:at_once], scale)
        for start in range(at_once, len(x), at_once):
            total += self._sum_in_int32(x[start : start + at_once], y[start : start + at_once], scale)
        return total

    def _sum_in_int32(self, x: Float32s, y: Float32s, scale: Float32s) -> NDArray[np.float64]:
        """Return the sum of as many products as fit in int32; the conversion to int32 truncates them."""
        term, cut, total = self._term, self._cut, self._sum
        total[...] = 0
        for k in range(len(x)):
            np.multiply(x[k], y[k], out=term)
            np.multiply(term, scale, out=term)
            np.copyto(cut, term, casting="unsafe")
            np.add(total, cut, out=total)
        return total.astype(np.float64)

    def _exponent_of(self, c: Float32s) -> Int16s:
        """Return the exponent of each running sum; the exponent of zero is below every floor."""
        word = c.view(np.int32) >> 23
        word &= 0xFF
        exponent = word.astype(np.int16)
        exponent -= 127
        if self._model.accumulator == "f16":
            exponent = np.where(c == 0, np.int16(-127), np.maximum(exponent, -14))
        return exponent

    def _round(self, total: NDArray[np.float64], exponent: Int16s) -> Float32s:
        """Round the exact total once to the output format; a zero result is +0."""
        scale = (exponent + np.int64(1023 - self._model.fraction_bits)) << 52
        if self._model.rounding == "RNE":
            return _round_to_f16(total * scale.view(np.float64))
        # Toward zero: clear the bits below the kept fraction bits of a normal number.
        kept = self._model.output_format.fraction_bits
        word = total.view(np.int64)
        word &= np.int64(-1 << (52 - kept))
        total *= scale.view(np.float64)
        return total.astype(np.float32)


def to_accumulator_bits(values: Float32s, product: DotProduct) -> Bits:
    """Return the bits of sums that are exact in the accumulator's format; NaN becomes canonical."""
    accumulator = product.model.accumulator_format
    with np.errstate(invalid="ignore"):  # a signalling NaN of the user
        exact = values if accumulator.name == "f32" else values.astype(np.float16)
    bits: Bits = np.ascontiguousarray(exact).view(accumulator.storage)
    return np.where(np.isnan(values), accumulator.storage.type(accumulator.canonical_nan), bits)


def from_accumulator_bits(bits: Bits, product: DotProduct) -> Float32s:
    """Return the exact values of accumulator patterns in float32."""
    if product.model.accumulator == "f32":
        return np.ascontiguousarray(bits).view(np.float32)
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(bits.astype(np.uint16)).view(np.float16).astype(np.float32)


def _outside(exponent: Int16s) -> bool:
    return bool(exponent.min() < _LOWEST_EXPONENT or exponent.max() > _HIGHEST_EXPONENT)


def _power_of_two(exponent: Int16s) -> Float32s:
    """Return 2**exponent in float32, clipped to its normal range; affected elements are recomputed."""
    field = np.clip(exponent, -126, 127)
    field += 127
    word = field.astype(np.int32)
    word <<= 23
    return word.view(np.float32)


def _round_to_f16(values: NDArray[np.float64]) -> Float32s:
    """Round to the nearest f16, ties to even, by adding and subtracting 1.5 * 2**52 units in the last place."""
    field = (values.view(np.int64) >> 52) & 0x7FF
    np.clip(field, 1023 - 14, 1023 + 64, out=field)
    magic = ((field + 42) << 52).view(np.float64) * 1.5
    rounded = ((values + magic) - magic).astype(np.float32)
    return np.where(np.abs(rounded) >= 65536, np.copysign(np.float32(np.inf), rounded), rounded)


def _gather(bits: Bits, element: tuple[Any, ...]) -> Bits:
    """Return the patterns of the step's products for some elements; operands broadcast along axes of length 1."""
    index = tuple(axis if size > 1 else np.zeros_like(axis) for axis, size in zip(element, bits.shape[1:], strict=True))
    return bits[(slice(None), *index)]
