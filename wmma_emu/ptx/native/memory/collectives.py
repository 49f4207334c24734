# SPDX-License-Identifier: MIT
"""shfl, vote, match, redux, elect and activemask: operations of the lanes of a warp on values of each other."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.values import Symbol
from wmma_emu.ptx.native.body import BIT, Bits, Body, internal, native
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.operands import (
    FULL,
    NOWHERE,
    Source,
    read,
    source_of,
    target_of,
    word,
    write,
    write_predicate,
)
from wmma_emu.ptx.native.memory.stamps import flag_if
from wmma_emu.ptx.native.rows import POINTER, WORD, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import Immediate, Operand, Predicate, PtxInstruction
from wmma_emu.ptx.steps.collectives import destinations
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.warp.shuffle import sources
from wmma_emu.warp.vote import VOTES

_WORDS = ir.VectorType(WORD, LANES)

Write = Callable[[Body, Bits, Bits, Bits, Bits, Bits], None]
"""Writes an operation: body, context, warp, record, the executing lanes, and for each lane those that take part."""


def _row(
    name: str, layout: WarpLayout, members: Operand | None, record: tuple[int, ...], write_operation: Write
) -> Row:
    """Return the row of an operation; the word before those of ``record`` is the offset of the membermask."""
    is_full = members is None or (isinstance(members, Immediate) and members.value & FULL == FULL)
    place = 0 if is_full or members is None else source_of(layout, members, "b32").offset
    full = f"memory_{name}{'' if is_full else '_members'}"

    def write_body(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
        together = mask.repeated(LANES)
        if not is_full:
            masks = read(body, warp, word(record, 0), 32)
            check_members(body, context, warp.at(word(record, 0)), mask)
            together = together & masks
        write_operation(body, context, warp, record, mask, together)

    return Row(full, lambda module: native(full, module, write_body), (place, *record))


@internal(ir.VoidType(), POINTER, POINTER, WORD)
def check_members(body: Body, context: Bits, masks: Bits, present: Bits) -> None:
    """Check that each executing lane is in its membermask, and that the lanes in a membermask give the same one."""
    given = masks.load(_WORDS, 64)
    with body.lanes(present) as lane:
        mine = masks.at(lane << 2).load(WORD, 4)
        alike = given.equals(mine.repeated(LANES)).as_type(WORD)
        is_left_out = (mine >> lane.cast(32) & 1).equals(0)
        flag_if(body, is_left_out | (mine & present & ~alike).differs(0), context, Flag.COLLECTIVE)


def _read_predicate(warp: Bits, offset: Bits, negated: int) -> Bits:
    found = warp.at(offset).load(WORD, 4)
    return ~found if negated else found


def shuffle(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``shfl``."""
    mode = instruction.modifiers[-2]
    target, a, b, c, *members = instruction.operands
    result, predicate = destinations(target)
    to, value = target_of(layout, result), source_of(layout, a, "b32")
    _require_words(to, value, source_of(layout, b, "b32"), source_of(layout, c, "b32"))
    # A constant is part of the code: the lanes are then known.
    known = [x.value & FULL if isinstance(x, Immediate) else None for x in (b, c)]
    places = [source_of(layout, x, "b32").offset for x in (b, c)]
    spelled = "_".join("" if x is None else f"{x:x}" for x in known)
    writes = f"{'r' if to.bits else ''}{'p' if predicate is not None else ''}"
    name = f"shfl_{mode}_{spelled}_{writes}"

    def write_operation(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, together: Bits) -> None:
        b, c = (
            np.full(LANES, x, np.uint32) if x is not None
            else Symbol(body.builder, read(body, warp, word(record, 4 + i), 32).value, np.uint32)
            for i, x in enumerate(known)
        )  # fmt: skip
        source, inside = sources(mode, b, c)  # type: ignore[arg-type]
        if isinstance(source, np.ndarray):
            lanes = body.constant(_WORDS, [int(x) for x in source])
            within = body.constant(WORD, int(sum(int(x) << i for i, x in enumerate(inside))))
        else:
            lanes = Bits(body, source.astype(np.uint32).value)
            within = Bits(body, inside.value).as_type(WORD)
        if to.bits:
            present = (together >> lanes & 1).differs(0).as_type(WORD)
            flag_if(body, (mask & ~present).differs(0), context, Flag.UNDEFINED)
            values = read(body, warp, word(record, 2), 32)
            write(body, warp, word(record, 1), _permuted(body, values, lanes), mask)
        if predicate is not None:
            write_predicate(warp, word(record, 3), within, mask)

    offset = NOWHERE if predicate is None else layout.offset_of(predicate)
    record = (to.offset, value.offset, offset, *places)
    return _row(name, layout, members[0] if members else None, record, write_operation)


def _require_words(*operands: Source) -> None:
    if any(x.bits not in (0, 32) for x in operands):
        raise NotNativeError("a shuffle of registers that have not 32 bits has no native code")


def _permuted(body: Body, values: Bits, lanes: Bits) -> Bits:
    """Return the value of another lane for each lane."""
    if isinstance(lanes.value, ir.Constant):
        nothing = ir.Constant(values.type, ir.Undefined)
        return Bits(body, body.builder.shuffle_vector(values.value, nothing, lanes.value))
    place = body.variable(_WORDS, alignment=64)
    place.store(values, 64)
    out = body.variable(_WORDS, alignment=64)
    at = body.variable(_WORDS, alignment=64)
    at.store(lanes, 64)
    with body.repeat(LANES) as lane:
        chosen = at.at(lane << 2).load(WORD, 4).cast(64)
        out.at(lane << 2).store(place.at(chosen << 2).load(WORD, 4), 4)
    return out.load(_WORDS, 64)


def vote(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``vote``."""
    mode = instruction.modifiers[-2]
    target, a, *members = instruction.operands
    result, _ = destinations(target)
    to = target_of(layout, result)
    negated = int(isinstance(a, Predicate) and a.negated)
    offset = source_of(layout, a, "pred").offset
    if not to.bits:
        raise NotNativeError("a vote without a result has no native code")

    def write_operation(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, together: Bits) -> None:
        yes = _read_predicate(warp, word(record, 2), negated).repeated(LANES) & together
        found = VOTES[mode](*(Symbol(body.builder, x.value, np.uint32) for x in (yes, together)))
        if mode == "ballot":
            write(body, warp, word(record, 1), Bits(body, found.value).cast(to.bits), mask)
        else:
            write_predicate(warp, word(record, 1), Bits(body, found.value).as_type(WORD), mask)

    name = f"vote_{mode}_{negated}_{to.bits}"
    return _row(name, layout, members[0] if members else None, (to.offset, offset), write_operation)


def match(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``match``."""
    is_any, bits = "any" in instruction.modifiers, int(instruction.modifiers[-1][1:])
    target, a, members = instruction.operands
    result, predicate = destinations(target)
    to, value = target_of(layout, result), source_of(layout, a, f"b{bits}")
    if value.bits != bits or to.bits not in (0, 32):
        raise NotNativeError(f"{instruction.opcode} with registers of other widths has no native code")

    def write_operation(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, together: Bits) -> None:
        values = read(body, warp, word(record, 2), bits)
        same = body.variable(_WORDS, alignment=64)
        with body.repeat(LANES) as lane:
            mine = warp.at(word(record, 2)).at(lane * (bits // 8)).load(ir.IntType(bits), bits // 8)
            same.at(lane << 2).store(values.equals(mine.repeated(LANES)).as_type(WORD), 4)
        alike = same.load(_WORDS, 64) & together
        agreed = alike.equals(together)
        if to.bits:
            found = alike if is_any else agreed.chosen(alike, 0)
            write(body, warp, word(record, 1), found, mask)
        if predicate is not None:
            write_predicate(warp, word(record, 3), agreed.as_type(WORD), mask)

    offset = NOWHERE if predicate is None else layout.offset_of(predicate)
    name = f"match_{'any' if is_any else 'all'}_{bits}_{to.bits}_{int(predicate is not None)}"
    return _row(name, layout, members, (to.offset, value.offset, offset), write_operation)


_REDUCTIONS: dict[str, tuple[str, int]] = {
    "add": ("add", 0), "or": ("or", 0), "xor": ("xor", 0), "and": ("and", FULL),
    "min.u32": ("umin", FULL), "max.u32": ("umax", 0), "min.s32": ("smin", FULL >> 1), "max.s32": ("smax", 1 << 31),
}  # fmt: skip
"""LLVM's reduction of each operation, and the value that changes nothing."""


def reduce(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``redux``."""
    operation, kind = instruction.modifiers[1], instruction.modifiers[-1]
    if kind == "f32":
        raise NotNativeError("redux.sync of f32 has no native code")
    target, a, members = instruction.operands
    to, value = target_of(layout, destinations(target)[0]), source_of(layout, a, "b32")
    _require_words(to, value)
    reduction, nothing = _REDUCTIONS.get(operation) or _REDUCTIONS[f"{operation}.{kind}"]

    def write_operation(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, together: Bits) -> None:
        # One membermask for all lanes: others are rare.
        first = body.intrinsic("llvm.cttz", mask, body.constant(BIT, 1))
        lanes = Bits(body, body.builder.extract_element(together.value, first.value))
        others = together.differs(lanes.repeated(LANES)).as_type(WORD) & mask
        flag_if(body, others.differs(0), context, Flag.UNSUPPORTED)
        values = read(body, warp, word(record, 2), 32)
        taking_part = lanes.as_type(ir.VectorType(BIT, LANES)).chosen(values, nothing)
        found = body.intrinsic(f"llvm.vector.reduce.{reduction}", taking_part, returns=WORD)
        if to.bits:
            write(body, warp, word(record, 1), found.repeated(LANES), mask)

    name = f"redux_{reduction}_{to.bits}"
    return _row(name, layout, members, (to.offset, value.offset), write_operation)


def elect(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``elect``."""
    target, members = instruction.operands
    result, predicate = destinations(target)
    to = target_of(layout, result)

    def write_operation(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, together: Bits) -> None:
        lowest = body.intrinsic("llvm.cttz", together, body.constant(BIT, 0))
        if to.bits:
            write(body, warp, word(record, 1), lowest.cast(to.bits), mask)
        if predicate is not None:
            lane = body.constant(_WORDS, range(LANES))
            write_predicate(warp, word(record, 2), lowest.equals(lane).as_type(WORD), mask)

    offset = NOWHERE if predicate is None else layout.offset_of(predicate)
    name = f"elect_{to.bits}_{int(predicate is not None)}"
    return _row(name, layout, members, (to.offset, offset), write_operation)


def active_mask(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Return the row of ``activemask``; its value depends on the order of the threads (`needs_waves`)."""
    to = target_of(layout, destinations(instruction.operands[0])[0])

    def write_operation(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, together: Bits) -> None:
        if to.bits:
            write(body, warp, word(record, 1), together.cast(to.bits), mask)

    return _row(f"activemask_{to.bits}", layout, None, (to.offset,), write_operation)


ROWS: dict[str, Any] = {
    "shfl": shuffle, "vote": vote, "match": match, "redux": reduce, "elect": elect, "activemask": active_mask,
}  # fmt: skip
