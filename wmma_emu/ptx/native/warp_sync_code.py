# SPDX-License-Identifier: MIT
"""Lanes of a warp that wait for each other, in LLVM's intermediate code (`wmma_emu.ptx.machine.warp_sync`)."""

from llvmlite import ir

from wmma_emu.llvm.code import LONG, POINTER, WORD, Code, Value
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.context_code import (
    EVERYONE,
    LANES_OF_WORDS,
    bits_of,
    context_word,
    field,
    first_value,
    held,
    lanes_with,
    raise_flag,
    send,
    short_field,
    without,
)
from wmma_emu.ptx.native.control_words import BlockField, MachineWord, Sync
from wmma_emu.ptx.native.memory.time import meet_lanes
from wmma_emu.ptx.native.warp_layout import AT_WARP, AWAITED, LIVE, WARP_NUMBER


def define_synchronise(module: ir.Module) -> None:
    """Add the function ``i32 (ptr context, ptr warp, ptr block, i32 place, i32 active)``.

    It returns the lanes that execute the instruction of the basic block now; 0 if they wait, or none has to.
    """
    code = Code(module, "synchronise", WORD, [POINTER, POINTER, POINTER, WORD, WORD], linkage="internal")
    context, warp, block, place, active = code.arguments
    guard, complement = field(code, block, BlockField.SYNC_GUARD), field(code, block, BlockField.SYNC_COMPLEMENT)
    taken = code.build.and_(active, held(code, warp, guard, complement))
    others = without(code, active, taken)
    with code.when(code.is_nonzero(others), likely=False):
        send(code, warp, others, short_field(code, block, BlockField.NEXT))
        with code.when(code.is_equal(taken, 0)):
            code.give(0)
    live = code.load(warp, LIVE, WORD)
    kind = field(code, block, BlockField.SYNC)
    missing = code.variable(WORD, without(code, live, taken))
    with code.when(code.is_below(Sync.LIVE, kind)):
        members = field(code, block, BlockField.MEMBERS)
        named = _named(code, warp, members, taken)
        missing.set(code.build.and_(missing.value, named))
        with code.when(code.is_equal(kind, Sync.BARRIER)):
            _require_equal_masks(code, context, warp, members, taken, live)
    with code.when(code.is_nonzero(missing.value), likely=False):
        with code.when(code.is_equal(kind, Sync.LIVE)):
            _await(code, context, warp, missing.value)
        send(code, warp, taken, code.build.or_(place, code.value(AT_WARP, WORD)))
        code.give(0)
    _check(code, context, warp, kind, live)
    with code.when(code.is_equal(kind, Sync.BARRIER)):
        mask = first_value(code, warp, field(code, block, BlockField.MEMBERS), taken)
        with code.when(code.is_equal(without(code, live, mask), 0)):
            code.build.call(meet_lanes.define(module), [context, code.load(warp, WARP_NUMBER, WORD)])
    code.give(taken)


def _named(code: Code, warp: Value, members: Value, lanes: Value) -> Value:
    """Return the lanes in the membermasks of some lanes."""
    masks = code.load(warp, members, LANES_OF_WORDS, align=64)
    masks = code.build.select(bits_of(code, lanes), masks, code.value(0, LANES_OF_WORDS))
    return code.call("llvm.vector.reduce.or.v32i32", WORD, masks)


def _require_equal_masks(code: Code, context: Value, warp: Value, members: Value, lanes: Value, live: Value) -> None:
    """Raise a flag if lanes that are here name each other with different membermasks, or do not name themselves."""
    rest = code.variable(WORD, lanes)
    with code.loop() as loop:
        left = rest.value
        loop.leave_unless(code.is_nonzero(left))
        mask = first_value(code, warp, members, left)
        group = code.build.and_(left, lanes_with(code, warp, members, mask))
        differing = code.build.and_(mask, without(code, lanes, group))
        outside = without(code, group, mask)
        with code.when(code.is_nonzero(code.build.or_(differing, outside)), likely=False):
            raise_flag(code, context, Flag.COLLECTIVE)
        rest.set(without(code, left, group))


def _await(code: Code, context: Value, warp: Value, missing: Value) -> None:
    """Record the lanes for which others wait, except those that are about to exit."""
    blocks = code.pointer(context_word(code, context, MachineWord.BLOCKS))
    with code.repeat(code.value(32, LONG)) as lane:
        bit = code.build.shl(code.value(1, WORD), code.build.trunc(lane, WORD))
        with code.when(code.is_nonzero(code.build.and_(missing, bit))):
            place = code.load(warp, code.build.shl(lane, code.value(2, LONG)), WORD)
            place = code.build.and_(place, code.value(AT_WARP - 1, WORD))
            size = code.value(8 * BlockField.COUNT_OF_WORDS, LONG)
            at = code.at(blocks, code.build.mul(code.long(place), size))
            with code.when(code.is_equal(field(code, at, BlockField.IS_EXIT), 0)):
                awaited = code.load(warp, AWAITED, WORD)
                code.store(warp, AWAITED, code.build.or_(awaited, bit), WORD)


def _check(code: Code, context: Value, warp: Value, kind: Value, live: Value) -> None:
    """Raise a flag if lanes that have exited should have taken part."""
    partial = code.build.and_(
        code.is_equal(kind, Sync.ALL), code.build.not_(code.is_equal(live, code.value(EVERYONE, WORD)))
    )  # fmt: skip
    with code.when(partial, likely=False):
        raise_flag(code, context, Flag.COLLECTIVE)
    with code.when(code.is_equal(kind, Sync.LIVE)):
        passed = without(code, code.load(warp, AWAITED, WORD), live)
        with code.when(code.is_nonzero(passed), likely=False):
            raise_flag(code, context, Flag.COLLECTIVE)
        code.store(warp, AWAITED, 0, WORD)
