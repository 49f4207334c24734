# SPDX-License-Identifier: MIT
"""Chains of fused multiply-adds, exact integer sums and population counts, for the rows of a block at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wmma_emu.arithmetic.native.code import any_of, fused, fused_in_mode, rounding, to_int32
from wmma_emu.arithmetic.native.tile import Column
from wmma_emu.llvm import ir_types
from wmma_emu.llvm.values import Symbol, constant

_Fma = Callable[[Symbol, Symbol, Symbol], Symbol]


def fma_chain(column: Column, c: Symbol) -> Any:
    """Execute the chains of an instruction, and combine c with their results."""
    product = column.tile.product
    model = product.model
    if model.c_joins == "each_add":
        for step in product.steps:
            chain: Any = column.a(step[0]).value * column.b(step[0]).value
            for k in step[1:]:
                chain = fused(column.a(k).value, column.b(k).value, chain)
            c = c + chain
        return c
    running: Any = constant(c.builder, 0, c.dtype, c.shape) if model.c_joins == "last_add" else c
    fma = fused if product.rounding == "RNE" else fused_in_mode
    with rounding(c.builder, product.rounding):
        for k in range(product.k):
            running = fma(column.a(k).value, column.b(k).value, running)
        if model.nan == "propagate":
            running = _with_propagated_nan(column, c, running, fma)
    return c + running if model.c_joins == "last_add" else running


def _with_propagated_nan(column: Column, c: Symbol, result: Any, fma: _Fma) -> Any:
    """Execute the chain again if a result is NaN: it takes the sign and payload of the first NaN among (b, c, a)."""
    builder = column.builder
    before = builder.block
    again, end = builder.append_basic_block("nan"), builder.append_basic_block("end")
    builder.cbranch(any_of(result != result), again, end)
    builder.position_at_end(again)
    running: Any = c
    for k in range(column.tile.product.k):
        a, b = (x.value.broadcast_to(c.shape) for x in (column.a(k), column.b(k)))
        running = _first_nan(b, running, a, fma(a, b, running))
    after = builder.block
    builder.branch(end)
    builder.position_at_end(end)
    chosen = builder.phi(result.value.type)
    chosen.add_incoming(result.value, before)
    chosen.add_incoming(running.value, after)
    return Symbol(builder, chosen, result.dtype, result.shape)


def _first_nan(first: Any, second: Any, third: Any, result: Any) -> Any:
    """Replace results by the first NaN among their operands, made quiet; other NaN are canonical."""
    quiet, canonical = np.uint64(1 << 51), np.uint64(0xFFF8 << 48)
    word: Any = np.where(result != result, canonical, result.view(np.uint64))
    for x in (third, second, first):
        word = np.where(x != x, x.view(np.uint64) | quiet, word)
    return word.view(np.float64)


def integer_sum(column: Column, c: Symbol) -> Any:
    """Return the exact total, wrapped to 32 bits or clamped once; sums of products are exact in float32."""
    total: Any = constant(c.builder, 0, np.float32, c.shape)
    for k in range(column.tile.terms):
        total = fused(column.a(k).value, column.b(k).value, total)
    whole = to_int32(total)
    if column.tile.product.satfinite:
        value = ir_types.call(c.builder, "llvm.sadd.sat", whole.value, c.value)
        return Symbol(c.builder, value, np.uint32, c.shape)
    return whole.view(np.uint32) + c


def popcount(column: Column, c: Symbol) -> Any:
    """Add the numbers of bits that are set in both words of A and B, or in one of them, to c."""
    xor = column.tile.product.bit_operation == "xor"
    for k in range(column.tile.terms):
        a, b = column.a(k).value, column.b(k).value
        bits: Any = a ^ b if xor else a & b
        count = ir_types.call(c.builder, "llvm.ctpop", bits.value)
        c = c + Symbol(c.builder, count, np.uint32, c.shape)
    return c
