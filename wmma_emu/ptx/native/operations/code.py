# SPDX-License-Identifier: MIT
"""The native function of a lane operation: a loop over groups of lanes around the traced NumPy function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm import ir_types
from wmma_emu.llvm.values import NotTraceableError, Symbol, symbol_of
from wmma_emu.ptx.native.rows import FUNCTION, LONG, WORD, NotNativeError
from wmma_emu.ptx.native.warp_layout import ALIGNMENT
from wmma_emu.ptx.widths import dtype_of_bits

GROUP = 16
"""The lanes of a pass of the loop: as many words of 32 bits as the widest vector registers have."""

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
        return ("!" if self.negated else "") + (
            f"{self.bits}" if self.bits == self.stored else f"{self.bits}:{self.stored}"
        )


def define(
    module: ir.Module, name: str, compute: Callable[..., Any], targets: tuple[Slot, ...], sources: tuple[Slot, ...]
) -> ir.Function:
    """Add the native function of an operation with these operands to a module."""
    function = ir.Function(module, FUNCTION, name)
    _, warp, record, mask = function.args
    entry, loop, end = (function.append_basic_block(x) for x in ("entry", "loop", "end"))
    builder = ir.IRBuilder(entry)
    pointers = iter(_pointers(builder, warp, record, sum(x.stored > 0 for x in (*targets, *sources))))
    places = [next(pointers) if x.stored else None for x in (*targets, *sources)]
    written, read = places[: len(targets)], places[len(targets) :]
    words = [_predicate(builder, x, place) for x, place in zip(sources, read, strict=True)]
    builder.branch(loop)
    builder.position_at_end(loop)
    lane = builder.phi(WORD, "lane")
    lane.add_incoming(WORD(0), entry)
    gathered = [builder.phi(WORD) if x.stored == 1 else None for x in targets]
    values = [_value(builder, x, place, word, lane) for x, place, word in zip(sources, read, words, strict=True)]
    results = _results(name, compute, values)
    executing = _bits(builder, mask, lane)
    predicates = []
    for slot, place, found, result in zip(targets, written, gathered, results, strict=False):
        if found is not None:
            both = builder.or_(found, _moved(builder, _stored(builder, slot, result), lane))
            found.add_incoming(WORD(0), entry)
            found.add_incoming(both, loop)
            predicates.append((place, both))
        elif place is not None:
            _store(builder, slot, place, lane, _stored(builder, slot, result), executing)
    following = builder.add(lane, WORD(GROUP))
    lane.add_incoming(following, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, WORD(LANES)), loop, end)
    builder.position_at_end(end)
    for place, word in predicates:
        others = builder.and_(builder.load(place, typ=WORD), builder.not_(mask))
        builder.store(builder.or_(builder.and_(word, mask), others), place)
    builder.ret_void()
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


def _predicate(builder: ir.IRBuilder, slot: Slot, place: ir.Value | None) -> ir.Value | None:
    """Return the word of a predicate; None for other operands."""
    if place is None or slot.stored != 1:
        return None
    word = builder.load(place, typ=WORD)
    return builder.not_(word) if slot.negated else word


def _value(builder: ir.IRBuilder, slot: Slot, place: ir.Value | None, word: ir.Value | None, lane: ir.Value) -> Any:
    """Return the values of a group of lanes, in the dtype of the operand's type."""
    if place is None:
        return np.full((1, 1, 1), slot.constant, dtype_of_bits(slot.bits))
    if word is None:
        kind = ir.VectorType(ir.IntType(slot.stored), GROUP)
        value = builder.load(_group(builder, slot, place, lane), typ=kind, align=_alignment(slot))
    else:
        value = _bits(builder, word, lane)
    return Symbol(builder, value, dtype_of_bits(slot.stored)).astype(dtype_of_bits(slot.bits))


def _stored(builder: ir.IRBuilder, slot: Slot, result: Any) -> ir.Value:
    """Return the values of a group of lanes in the width of the register."""
    shape = result.shape if isinstance(result, Symbol) else np.shape(result)
    value = symbol_of(builder, result, dtype_of_bits(slot.bits), shape)
    if value.size != GROUP:
        value = value.broadcast_to((GROUP,))
    return value.astype(dtype_of_bits(slot.stored)).value


def _store(
    builder: ir.IRBuilder, slot: Slot, base: ir.Value, lane: ir.Value, value: ir.Value, executing: ir.Value
) -> None:
    """Store the values of the lanes that execute."""
    place, align = _group(builder, slot, base, lane), _alignment(slot)
    old = ir_types.freeze(builder, builder.load(place, typ=value.type, align=align))
    builder.store(builder.select(executing, value, old), place, align=align)


def _alignment(slot: Slot) -> int:
    """Return the alignment of a group of lanes in bytes."""
    return min(GROUP * slot.stored // 8, ALIGNMENT)


def _group(builder: ir.IRBuilder, slot: Slot, base: ir.Value, lane: ir.Value) -> ir.Value:
    """Return the pointer to the first lane of a group."""
    return builder.gep(base, [lane], source_etype=ir.IntType(slot.stored))


def _bits(builder: ir.IRBuilder, word: ir.Value, lane: ir.Value) -> ir.Value:
    """Return the bits of a group of lanes as bools."""
    group = builder.trunc(builder.lshr(word, lane), ir.IntType(GROUP)) if GROUP < LANES else word
    return builder.bitcast(group, ir.VectorType(ir.IntType(1), GROUP))


def _moved(builder: ir.IRBuilder, bools: ir.Value, lane: ir.Value) -> ir.Value:
    """Return the bools of a group of lanes at the positions of the lanes in a word."""
    group = builder.bitcast(bools, ir.IntType(GROUP))
    return builder.shl(builder.zext(group, WORD), lane) if GROUP < LANES else group
