# SPDX-License-Identifier: MIT
"""The native function of a lane operation: a loop over groups of lanes around the traced NumPy function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.values import NotTraceableError, Symbol, symbol_of
from wmma_emu.ptx.native.rows import FUNCTION, LONG, WORD, NotNativeError
from wmma_emu.ptx.widths import dtype_of_bits

GROUP = 8
"""The lanes of a pass of the loop: as many as a vector register has elements of 64 bits."""

_BYTE = ir.IntType(8)


@dataclass(frozen=True, slots=True)
class Slot:
    """An operand in the memory of a warp: the width of its type, and the width of its register, 1 for a predicate.

    ``stored`` is 0 for a sink, and for a constant that the code contains.
    """

    bits: int
    stored: int
    negated: bool = False
    constant: int | None = None

    def __str__(self) -> str:
        if self.constant is not None:
            return f"={self.constant}"
        return ("!" if self.negated else "") + (f"{self.bits}" if self.bits == self.stored else f"{self.bits}:{self.stored}")


def define(
    module: ir.Module, name: str, compute: Callable[..., Any], targets: tuple[Slot, ...], sources: tuple[Slot, ...]
) -> ir.Function:
    """Add the native function of an operation with these operands to a module."""
    function = ir.Function(module, FUNCTION, name)
    _, warp, record, mask = function.args
    entry, loop, end = (function.append_basic_block(x) for x in ("entry", "loop", "end"))
    builder = ir.IRBuilder(entry)
    pointers = iter(_pointers(builder, warp, record, sum(x.stored > 0 for x in (*targets, *sources))))
    bases = [next(pointers) if x.stored else None for x in (*targets, *sources)]
    builder.branch(loop)
    builder.position_at_end(loop)
    lane = builder.phi(WORD, "lane")
    lane.add_incoming(WORD(0), entry)
    values = [_load(builder, x, base, lane) for x, base in zip(sources, bases[len(targets) :], strict=True)]
    results = _results(name, compute, values)
    executing = _bits(builder, builder.trunc(builder.lshr(mask, lane), ir.IntType(GROUP)))
    for slot, base, result in zip(targets, bases, results, strict=False):
        if base is not None:
            _store(builder, slot, base, lane, result, executing)
    following = builder.add(lane, WORD(GROUP))
    lane.add_incoming(following, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, WORD(LANES)), loop, end)
    ir.IRBuilder(end).ret_void()
    return function


def _pointers(builder: ir.IRBuilder, warp: ir.Value, record: ir.Value, count: int) -> list[ir.Value]:
    """Return pointers to the operands, whose offsets are the words of the record."""
    places = [builder.gep(record, [WORD(i)], source_etype=WORD) for i in range(count)]
    offsets = [builder.zext(builder.load(place, typ=WORD), LONG) for place in places]
    return [builder.gep(warp, [offset], source_etype=_BYTE) for offset in offsets]


def _results(name: str, compute: Callable[..., Any], values: list[Any]) -> tuple[Any, ...]:
    try:
        with np.errstate(all="ignore"):
            found = compute(*values)
    except NotTraceableError as error:
        raise NotNativeError(f"{name.split(' ')[0]}: {error}") from error
    return found if isinstance(found, tuple) else (found,)


def _load(builder: ir.IRBuilder, slot: Slot, base: ir.Value | None, lane: ir.Value) -> Any:
    """Return the values of a group of lanes, in the dtype of the operand's type."""
    if base is None:
        return np.full((1, 1, 1), slot.constant, dtype_of_bits(slot.bits))
    dtype = dtype_of_bits(slot.stored)
    if slot.stored == 1:
        value = _bits(builder, builder.load(_group(builder, slot, base, lane), typ=ir.IntType(GROUP), align=GROUP // 8))
        value = builder.not_(value) if slot.negated else value
    else:
        value = builder.load(_group(builder, slot, base, lane), typ=_whole(slot), align=GROUP * slot.stored // 8)
    return Symbol(builder, value, dtype).astype(dtype_of_bits(slot.bits))


def _store(
    builder: ir.IRBuilder, slot: Slot, base: ir.Value, lane: ir.Value, result: Any, executing: ir.Value
) -> None:
    """Store the values of the lanes that execute."""
    value = symbol_of(builder, result, dtype_of_bits(slot.bits), np.shape(result) if not isinstance(result, Symbol) else result.shape)
    if value.size != GROUP:
        value = value.broadcast_to((GROUP,))
    value = value.astype(dtype_of_bits(slot.stored))
    place = _group(builder, slot, base, lane)
    if slot.stored == 1:
        word = ir.IntType(GROUP)
        old = _bits(builder, builder.load(place, typ=word, align=GROUP // 8))
        builder.store(builder.bitcast(builder.select(executing, value.value, old), word), place, align=GROUP // 8)
        return
    align = GROUP * slot.stored // 8
    old = builder.load(place, typ=_whole(slot), align=align)
    builder.store(builder.select(executing, value.value, old), place, align=align)


def _group(builder: ir.IRBuilder, slot: Slot, base: ir.Value, lane: ir.Value) -> ir.Value:
    """Return the pointer to the first lane of a group."""
    kind = ir.IntType(slot.stored)
    if slot.stored == 1:
        return builder.gep(base, [builder.lshr(lane, WORD(3))], source_etype=_BYTE)
    return builder.gep(base, [lane], source_etype=kind)


def _whole(slot: Slot) -> ir.Type:
    return ir.VectorType(ir.IntType(slot.stored), GROUP)


def _bits(builder: ir.IRBuilder, word: ir.Value) -> ir.Value:
    return builder.bitcast(word, ir.VectorType(ir.IntType(1), GROUP))
