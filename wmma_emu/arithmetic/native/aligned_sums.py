# SPDX-License-Identifier: MIT
"""Aligned sums for some elements of D at once: a fast step on float32 and int32, and a slow step for all other cases.

The fast step is the algorithm of `wmma_emu.arithmetic.tiles`, without scaling by row and column: products of float32
values are exact if the alignment exponent is in a range that is checked, for products below the range of normal numbers
are then truncated to zero. The slow step matches `wmma_emu.arithmetic.aligned`, in float64, where infinities and NaN
need no special case.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.native.code import LONG, POINTER, any_of, entry, fold, fused, to_int32, truncated
from wmma_emu.arithmetic.native.operands import NONE, SPECIAL, exponent_of
from wmma_emu.arithmetic.native.panel import LINES, PanelRow
from wmma_emu.arithmetic.native.tile import Column
from wmma_emu.arithmetic.tiles import largest_exact_step
from wmma_emu.llvm import ir_types
from wmma_emu.llvm.values import Symbol, constant

Row = Column | PanelRow
"""The operands of some elements of D, which are neighbours."""

_HIGHEST = 126
"""The largest alignment exponent of the fast step: products are below 2**128."""

_LARGEST_SCALE = 125
"""The largest power of two of the fast step: a product that float32 rounds, below 2**-126, is still truncated to 0."""

_MOST_FRACTION_BITS = 26
"""The limit of F in the fast step: a truncated c, below 2**(F + 1), fits in int32."""

_EXACT_SUMS = 4
"""The partial sums of an exact sum, which the processor adds to at the same time."""


def aligned_sum(rows: Sequence[Row], values: Sequence[Any]) -> list[Any]:
    """Execute all steps of an instruction on values of c of each row, and combine them with the results."""
    panels = [row for row in rows if isinstance(row, PanelRow) and row.tile.has_sizes]
    if not panels:
        return _in_steps(rows, values)
    builder = rows[0].builder
    # Sums below 2**24 units are exact in float32, in any order, and no step rounds or truncates.
    is_inexact = any_of(reduce(lambda x, y: x | y, [~(row.size() < np.float32(1 << 24)) for row in panels]))

    def in_steps() -> list[Any]:
        return _in_steps(rows, values)

    return _one_of(
        builder, is_inexact, in_steps, lambda: [c + _exact_sum(row) for row, c in zip(panels, values, strict=True)]
    )


def _exact_sum(row: PanelRow) -> Any:
    """Add products that are exact in float32, and so are their sums: the number of sums hides the time of each."""
    zero = constant(row.builder, 0, np.float32, (LINES,))
    sums: list[Any] = [zero] * _EXACT_SUMS
    for k in range(row.tile.product.k):
        sums[k % _EXACT_SUMS] = fused(row.a(k).value, row.b(k).value, sums[k % _EXACT_SUMS])
    return reduce(lambda x, y: x + y, sums)


def _one_of(
    builder: ir.IRBuilder, condition: ir.Value, first: Callable[[], list[Any]], second: Callable[[], list[Any]]
) -> list[Any]:
    """Write a branch: float32 results of one function if a bit is set, otherwise those of another."""
    blocks = [builder.append_basic_block(x) for x in ("first", "second", "end")]
    builder.cbranch(condition, blocks[0], blocks[1])
    found = []
    for block, write in zip(blocks[:2], (first, second), strict=True):
        builder.position_at_end(block)
        found.append((write(), builder.block))
        builder.branch(blocks[2])
    builder.position_at_end(blocks[2])
    results: list[Any] = []
    for both in zip(*(values for values, _ in found), strict=True):
        phi = builder.phi(both[0].value.type)
        for value, (_, block) in zip(both, found, strict=True):
            phi.add_incoming(value.value, block)
        results.append(Symbol(builder, phi, np.float32, both[0].shape))
    return results


def _in_steps(rows: Sequence[Row], values: Sequence[Any]) -> list[Any]:
    """Execute all steps one after another."""
    product = rows[0].tile.product
    model = product.model
    zeros: list[Any] = [constant(c.builder, 0, np.float32, c.shape) for c in values]
    running = list(values) if model.c_joins == "first_step" else zeros
    results = []
    for number in range(len(product.steps)):
        running = _step(rows, number, running)
        if model.partial_sums == "added":
            results.append(running)
            running = zeros
    if results:
        running = [reduce(partial(_sum, product), parts) for parts in zip(*results, strict=True)]
    if model.c_joins == "last_add":
        running = [_sum(product, c, x) for c, x in zip(values, running, strict=True)]
    return running


def _sum(product: DotProduct, x: Any, y: Any) -> Any:
    """Add, rounded once to nearest; two float16 numbers may be rounded to float32 first."""
    total: Any = x + y
    return total.astype(np.float16).astype(np.float32) if product.model.accumulator == "f16" else total


def _step(rows: Sequence[Row], number: int, values: Sequence[Any]) -> list[Any]:
    """Execute one step for some rows: fast if that is exact for every element."""
    builder, model = rows[0].builder, rows[0].tile.product.model
    if model.fraction_bits > _MOST_FRACTION_BITS or model.scaling == "groups":
        return [_call_slow_step(row, number, c) for row, c in zip(rows, values, strict=True)]
    fast = [_fast_step(row, number, c) for row, c in zip(rows, values, strict=True)]
    is_slow = any_of(reduce(lambda x, y: x | y, [x.wrong for x in fast]))

    def slow() -> list[Any]:
        return [_call_slow_step(row, number, c) for row, c in zip(rows, values, strict=True)]

    return _one_of(builder, is_slow, slow, lambda: [x.result for x in fast])


class _Fast(NamedTuple):
    """The result of a fast step, and the elements for which it is not exact."""

    result: Any
    wrong: Any


def _fast_step(row: Row, number: int, c: Any) -> _Fast:
    """Align, truncate and add products and c in float32 and int32, and round once."""
    product = row.tile.product
    model, ks = product.model, product.steps[number]
    largest = row.largest(number)
    exponent: Any = np.maximum(largest, _exponent_of_c(c, model.accumulator_format.emin))
    exponent = np.maximum(exponent, np.int32(model.min_exponent))
    unit, power = model.fraction_bits - exponent, None
    terms = []
    for block, part in groupby(ks, key=lambda k: k // product.scale_block if product.scale_block else 0):
        if product.scale_block or power is None:
            power = _power_of_two(unit + row.scales(block).exponent if product.scale_block else unit)
        terms += [to_int32(row.a(k).value * row.b(k).value * power) for k in part]
    total, too_large = _total([*terms, to_int32(c * _power_of_two(unit))], product)
    wrong = _is_outside(product, exponent, largest, c)
    return _Fast(_rounded_total(product, total, exponent), wrong if too_large is None else wrong | too_large)


def _exponent_of_c(c: Symbol, smallest: int) -> Any:
    """Return the exponents of c, those of infinities and NaN above all others.

    The smallest exponent of float32 does not matter: results near it take the slow step.
    """
    exponent: Any = (c.view(np.int32) >> 23 & 255) - 127
    if smallest <= -126:
        return exponent
    return np.where(c == np.float32(0), np.int32(NONE), np.maximum(exponent, np.int32(smallest)))


def _lowest(product: DotProduct) -> int:
    """Return the lowest alignment exponent of the fast step."""
    model = product.model
    lowest = model.fraction_bits - _LARGEST_SCALE
    # A result that is truncated must not be subnormal.
    return max(lowest, model.output_format.emin + model.fraction_bits) if model.rounding == "RZ" else lowest


def _is_outside(product: DotProduct, exponent: Any, largest: Any, c: Any) -> Any:
    """Return the elements for which the fast step is not exact, among them those with infinities and NaN."""
    wrong: Any = exponent > _HIGHEST
    if product.model.min_exponent < _lowest(product):
        wrong |= (exponent < _lowest(product)) & ((largest > NONE // 2) | (c != np.float32(0)))
    return wrong


def _total(terms: list[Any], product: DotProduct) -> tuple[Any, Any]:
    """Add truncated terms in int32, and return the sums that do not fit, if there may be any."""
    at_once = largest_exact_step(product)
    parts = [reduce(lambda x, y: x + y, terms[i : i + at_once]) for i in range(0, len(terms), at_once)]
    total, wrong = _frozen(parts[0]), None
    for part in map(_frozen, parts[1:]):
        old, total = total, total + part
        overflow = (old ^ total) & (part ^ total) < np.int32(0)
        wrong = overflow if wrong is None else wrong | overflow
    return total, wrong


def _frozen(x: Symbol) -> Any:
    """Return numbers that are defined, though maybe arbitrary, even where a conversion to int32 had no result."""
    return Symbol(x.builder, ir_types.freeze(x.builder, x.value), x.dtype, x.shape)


def _rounded_total(product: DotProduct, total: Any, exponent: Any) -> Any:
    """Round int32 totals, in units of 2**(exponent - F), to values of the output's format; a zero result is +0."""
    model, out = product.model, product.model.output_format
    size = np.abs(total).view(np.uint32)
    # The highest bit below the first 24 is cleared: then the conversion rounds toward zero.
    kept = (size & ~(size >> 24)).view(np.int32).astype(np.float32)
    word = kept.view(np.uint32)
    if model.accumulator == "f16":  # the last bit tells whether lower bits were set: rounding to 11 bits is exact
        word = word | np.where(to_int32(kept).view(np.uint32) != size, np.uint32(1), np.uint32(0))
    elif out.fraction_bits < 23:
        word = word & np.uint32(-1 << 23 - out.fraction_bits & 0xFFFF_FFFF)
    word = word | total.view(np.uint32) & np.uint32(1 << 31)
    value = word.view(np.float32) * (np.maximum(exponent - model.fraction_bits, -126) + 127 << 23).view(np.float32)
    return value.astype(np.float16).astype(np.float32) + np.float32(0) if model.accumulator == "f16" else value


def _power_of_two(exponent: Any) -> Any:
    """Return a power of two in float32; below its range, terms are truncated to zero in any case."""
    return (np.clip(exponent, -126, _LARGEST_SCALE) + 127 << 23).view(np.float32)


def _wide_power_of_two(exponent: Any) -> Any:
    return ((exponent + 1023).astype(np.int64) << 52).view(np.float64)


def _rounded(product: DotProduct, total: Any, exponent: Any) -> Any:
    """Round finite totals of the slow step, like `_rounded_total`."""
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
    exact = total * power
    unit = 2.0 ** (out.emin - out.fraction_bits)
    small = (truncated(exact * np.float64(1 / unit)) * np.float64(unit)).astype(np.float32)
    is_small = np.abs(exact) < np.float64(2.0**out.emin)
    return np.where(is_small, small, value) + np.float32(0)


def _call_slow_step(column: Row, number: int, c: Symbol) -> Any:
    name = f"{column.name} step {number}"
    function = column.builder.module.globals.get(name) or _slow_step(column, number, name, c.value.type)
    value = column.builder.call(function, [*column.operands.values(), c.value])
    return Symbol(column.builder, value, np.float32, c.shape)


def _slow_step(column: Row, number: int, name: str, kind: ir.Type) -> ir.Function:
    """Define the slow step: align the terms, truncate, add, round once, all in float64."""
    product, model = column.tile.product, column.tile.product.model
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
    rounded = _rounded(product, total, exponent)
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

    def __init__(self, column: Row, ks: Sequence[int]) -> None:
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
