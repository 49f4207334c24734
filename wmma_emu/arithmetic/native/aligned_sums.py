# SPDX-License-Identifier: MIT
"""Aligned sums for the rows of a block at once: a fast step on float32 and int32, and a slow step for all other cases.

The fast step is the algorithm of `wmma_emu.arithmetic.tiles`, without scaling by row and column: products of float32
values are exact if the alignment exponent is in a range that is checked, for products below the range of normal numbers
are then truncated to zero. The slow step matches `wmma_emu.arithmetic.aligned`, in float64, where infinities and NaN
need no special case.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.native.code import LONG, POINTER, any_of, entry, fold, to_int32, truncated
from wmma_emu.arithmetic.native.operands import NONE, SPECIAL, exponent_of
from wmma_emu.arithmetic.native.tile import Column, Tile
from wmma_emu.arithmetic.tiles import largest_exact_step
from wmma_emu.llvm.values import Symbol, constant

_HIGHEST = 126
"""The largest alignment exponent of the fast step: products are below 2**128."""

_LARGEST_SCALE = 125
"""The largest power of two of the fast step: a product that float32 rounds, below 2**-126, is still truncated to 0."""

_MOST_FRACTION_BITS = 26
"""The limit of F in the fast step: a truncated c, below 2**(F + 1), fits in int32."""


def aligned_sum(column: Column, c: Symbol) -> Any:
    """Execute all steps of an instruction on values of c, and combine c with their results."""
    model = column.tile.product.model
    zero: Any = constant(c.builder, 0, np.float32, c.shape)
    running = c if model.c_joins == "first_step" else zero
    results = []
    for number in range(len(column.tile.product.steps)):
        running = _step(column, number, running)
        if model.partial_sums == "added":
            results.append(running)
            running = zero
    if results:
        running = reduce(lambda x, y: _sum(x, y, column.tile.product), results)
    return _sum(c, running, column.tile.product) if model.c_joins == "last_add" else running


def _sum(x: Symbol, y: Symbol, product: DotProduct) -> Any:
    """Add, rounded once to nearest; two float16 numbers may be rounded to float32 first."""
    total: Any = x + y
    return total.astype(np.float16).astype(np.float32) if product.model.accumulator == "f16" else total


def _step(column: Column, number: int, c: Symbol) -> Any:
    """Execute one step: fast if that is exact for every row."""
    builder, product = column.builder, column.tile.product
    model, ks = product.model, product.steps[number]
    if model.fraction_bits > _MOST_FRACTION_BITS or model.scaling == "groups":
        return _call_slow_step(column, number, c)
    a, b = [column.a(k) for k in ks], [column.b(k) for k in ks]
    of_scales = _exponents_of_scales(column, ks)
    largest = _largest([x.exponent + y.exponent + z for x, y, z in zip(a, b, of_scales, strict=True)])
    exponent: Any = np.maximum(largest, _exponent_of_c(c, model.accumulator_format.emin))
    exponent = np.maximum(exponent, np.int32(model.min_exponent))
    slow = any_of(_is_outside(product, exponent, largest, c))
    fast_block, slow_block, end = (builder.append_basic_block(x) for x in ("fast", "slow", "end"))
    builder.cbranch(slow, slow_block, fast_block)
    builder.position_at_end(slow_block)
    from_slow = _call_slow_step(column, number, c)
    builder.branch(end)
    builder.position_at_end(fast_block)
    unit = model.fraction_bits - exponent
    powers = {id(x): _power_of_two(unit + x) for x in of_scales}
    terms: list[Any] = [to_int32(x.value * y.value * powers[id(z)]) for x, y, z in zip(a, b, of_scales, strict=True)]
    total = _exact_sum([*_in_int32(terms, product), to_int32(c * _power_of_two(unit))])
    from_fast = _rounded(product, total, exponent, subnormal=False)
    builder.branch(end)
    builder.position_at_end(end)
    result = builder.phi(c.value.type)
    result.add_incoming(from_slow.value, slow_block)
    result.add_incoming(from_fast.value, fast_block)
    return Symbol(builder, result, np.float32, c.shape)


def _exponents_of_scales(column: Column, ks: Sequence[int]) -> list[Any]:
    """Return the exponents of the scales of each product; 0 without scales."""
    size = column.tile.product.scale_block
    if not size:
        return [0] * len(ks)
    found = {block: column.scales(block).exponent for block in dict.fromkeys(k // size for k in ks)}
    return [found[k // size] for k in ks]


def _largest(exponents: list[Any]) -> Any:
    while len(exponents) > 1:
        pairs = [np.maximum(x, y) for x, y in zip(exponents[::2], exponents[1::2], strict=False)]
        exponents = [*pairs, *exponents[len(exponents) // 2 * 2 :]]
    return exponents[0]


def _exponent_of_c(c: Symbol, smallest: int) -> Any:
    """Return the exponents of c, those of infinities and NaN above all others.

    The smallest exponent of float32 does not matter: results near it take the slow step.
    """
    exponent: Any = (c.view(np.int32) >> 23 & 255) - 127
    if smallest <= -126:
        return exponent
    return np.where(c == np.float32(0), np.int32(NONE), np.maximum(exponent, np.int32(smallest)))


def _is_outside(product: DotProduct, exponent: Any, largest: Any, c: Any) -> Any:
    """Return the rows for which the fast step is not exact, among them those with infinities and NaN."""
    model, out = product.model, product.model.output_format
    lowest = model.fraction_bits - _LARGEST_SCALE
    if model.rounding == "RZ":  # no result is subnormal
        lowest = max(lowest, out.emin + model.fraction_bits)
    wrong: Any = exponent > _HIGHEST
    if model.min_exponent < lowest:
        wrong |= (exponent < lowest) & ((largest > NONE // 2) | (c != np.float32(0)))
    return wrong


def _in_int32(terms: list[Any], product: DotProduct) -> list[Any]:
    """Add truncated terms, as many at a time as fit in int32."""
    at_once = largest_exact_step(product)
    parts = [terms[i : i + at_once] for i in range(0, len(terms), at_once)]
    return [reduce(lambda x, y: x + y, part) for part in parts]


def _exact_sum(parts: list[Any]) -> Any:
    return reduce(lambda x, y: x + y, [x.astype(np.float64) for x in parts])


def _power_of_two(exponent: Any) -> Any:
    """Return a power of two in float32; below its range, terms are truncated to zero in any case."""
    return (np.clip(exponent, -126, _LARGEST_SCALE) + 127 << 23).view(np.float32)


def _wide_power_of_two(exponent: Any) -> Any:
    return ((exponent + 1023).astype(np.int64) << 52).view(np.float64)


def _rounded(product: DotProduct, total: Any, exponent: Any, *, subnormal: bool) -> Any:
    """Round finite totals, in units of 2**(exponent - F), to values of the output's format; a zero result is +0."""
    model, out = product.model, product.model.output_format
    power = _wide_power_of_two(exponent - model.fraction_bits)
    if model.accumulator == "f16":
        # 24 bits are enough to round to 11, if the last one tells whether any lower bits are set.
        low = (1 << 29) - 1
        word = (total * power).view(np.int64)
        odd = ((word & low) + low | word) & ~low
        return odd.view(np.float64).astype(np.float32).astype(np.float16).astype(np.float32) + np.float32(0)
    word = total.view(np.int64) & np.int64(-1 << 52 - out.fraction_bits)
    value = (word.view(np.float64) * power).astype(np.float32)
    if not subnormal:
        return value
    exact = total * power
    unit = 2.0 ** (out.emin - out.fraction_bits)
    small = (truncated(exact * np.float64(1 / unit)) * np.float64(unit)).astype(np.float32)
    is_small = np.abs(exact) < np.float64(2.0**out.emin)
    return np.where(is_small, small, value) + np.float32(0)


def _call_slow_step(column: Column, number: int, c: Symbol) -> Any:
    function = _slow_step(column, number, f"{column.name} step {number}", c.value.type)
    value = column.builder.call(function, [*column.operands.values(), c.value])
    return Symbol(column.builder, value, np.float32, c.shape)


def _slow_step(column: Column, number: int, name: str, kind: ir.Type) -> ir.Function:
    """Define the slow step: align the terms, truncate, add, round once, all in float64."""
    tile: Tile = column.tile
    product, model = tile.product, tile.product.model
    pointers = [POINTER] * len(column.operands)
    function = ir.Function(column.builder.module, ir.FunctionType(kind, [*pointers, kind]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    here = column.with_pointers(builder, function.args[:-1])
    c: Any = Symbol(builder, function.args[-1], np.float32)
    terms = _Terms(here, product.steps[number])

    def larger(index: ir.Value, found: Any) -> Any:
        return np.maximum(found, _without_specials(terms.at(index).exponent))

    def added(index: ir.Value, total: Any) -> Any:
        term = terms.at(index)
        shift = np.clip(model.fraction_bits - exponent + term.scales, -1000, 1000)
        return total + truncated(term.value * _wide_power_of_two(shift))

    least = np.maximum(_without_specials(exponent_of(c, model.accumulator_format.emin)), np.int32(model.min_exponent))
    exponent = fold(builder, terms.count, least, larger)
    power = _wide_power_of_two(model.fraction_bits - exponent)
    total: Any = fold(builder, terms.count, truncated(c.astype(np.float64) * power), added)
    rounded = _rounded(product, total, exponent, subnormal=True)
    # Infinities stay; a NaN becomes canonical.
    special: Any = np.where(total != total, np.float64(np.nan), total).astype(np.float32)
    finite = np.abs(total) < np.float64(np.inf)
    builder.ret(np.where(finite, rounded, special).value)
    return function


def _without_specials(exponent: Any) -> Any:
    return np.where(exponent > SPECIAL // 2, np.int32(NONE), exponent)


class _Term(NamedTuple):
    """A term for all rows: ``value * 2**scales``, in float64, and the exponent by which it is aligned."""

    value: Any
    exponent: Any
    scales: Any = 0


class _Terms:
    """The terms of a step, exact: products, with their scales, or sums of groups of products."""

    def __init__(self, column: Column, ks: Sequence[int]) -> None:
        self._column, self._ks, self._product = column, ks, column.tile.product
        self._is_grouped = self._product.model.scaling == "groups"
        self.count = len(ks) // self._product.model.group_terms if self._is_grouped else len(ks)

    def at(self, index: ir.Value) -> _Term:
        """Return the term with a number."""
        column, builder, size = self._column, self._column.builder, self._product.scale_block
        if self._is_grouped:
            return self._group(index)
        k = entry(builder, self._ks, index)
        x, y = column.a(k), column.b(k)
        value, exponent = x.value.astype(np.float64) * y.value.astype(np.float64), x.exponent + y.exponent
        if not size:
            return _Term(value, exponent)
        scales = column.scales(builder.udiv(k, ir.Constant(LONG, size)))
        return _Term(value * scales.value.astype(np.float64), exponent + scales.exponent, scales.exponent)

    def _group(self, index: ir.Value) -> _Term:
        """Return a group, whose sum is exact in float32; only its scales align it."""
        column, builder, model = self._column, self._column.builder, self._product.model
        first = entry(builder, self._ks[:: model.group_terms], index)
        ks = [builder.add(first, ir.Constant(LONG, i)) for i in range(model.group_terms)]
        total = reduce(lambda x, y: x + y, [column.a(k).value * column.b(k).value for k in ks])
        scales = column.scales(builder.udiv(first, ir.Constant(LONG, self._product.scale_block)))
        value = total.astype(np.float64) * scales.value.astype(np.float64)
        counts = scales.value != np.float32(0)
        if model.zero_groups == "left_out":
            counts = value != np.float64(0)
        return _Term(value, np.where(counts, scales.exponent, np.int32(NONE)), scales.exponent)
