# SPDX-License-Identifier: MIT
"""Lanes of a warp that wait for each other (`wmma_emu.ptx.machine.warp_sync`), as native code."""

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import BlockField, MachineWord, Sync
from wmma_emu.ptx.native.memory.log import EntryKind, is_logging
from wmma_emu.ptx.native.memory.stamps import flag_if
from wmma_emu.ptx.native.memory.time import log_event, meet_lanes
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import AT_WARP, AWAITED, LIVE, NEXT_BLOCKS, WARP_NUMBER
from wmma_emu.ptx.native.words import (
    LANES_OF_BITS,
    add,
    add_steps,
    block_at,
    count_of,
    field,
    first_value,
    held,
    host,
    lanes_with,
    send,
    words_at,
)


@internal(WORD, POINTER, POINTER, POINTER, WORD, WORD)
def synchronise(body: Body, context: Bits, warp: Bits, block: Bits, number: Bits, active: Bits) -> Bits:
    """Return the lanes that execute the instruction of a basic block now: 0 if they wait, or if no lane has to."""
    nobody = body.constant(WORD, 0)
    guard, complement = field(block, BlockField.SYNC_GUARD), field(block, BlockField.SYNC_COMPLEMENT)
    taken = active & held(warp, guard, complement)
    with body.when(taken.differs(active), likely=False):
        passing, length = active & ~taken, field(block, BlockField.LENGTH)
        send(warp, passing, field(block, BlockField.NEXT, WORD))
        add(context, Word.EXECUTED, length * count_of(passing))
        with body.when(taken.equals(0)):
            add(context, Word.FUEL, -length)
            add_steps(warp, length)
            body.give(nobody)
    live, kind = warp.at(LIVE).load(WORD, 4), field(block, BlockField.SYNC)
    members = field(block, BlockField.MEMBERS)
    missing = body.variable(WORD)
    missing.store(live & ~taken, 4)
    with body.when(kind > Sync.LIVE):
        missing.store(missing.load(WORD, 4) & _named(body, warp, members, taken), 4)
        with body.when(kind.equals(Sync.BARRIER)):
            _require_equal_masks(body, context, warp, members, taken)
    with body.when(missing.load(WORD, 4).differs(0), likely=False):
        with body.when(kind.equals(Sync.LIVE)):
            _await(body, context, warp, missing.load(WORD, 4))
        send(warp, taken, number | AT_WARP)
        body.give(nobody)
    flag_if(body, kind.equals(Sync.ALL) & (~live).differs(0), context, Flag.COLLECTIVE)
    with body.when(kind.equals(Sync.LIVE)):
        passed = warp.at(AWAITED).load(WORD, 4) & ~live
        flag_if(body, passed.differs(0), context, Flag.COLLECTIVE)
        warp.at(AWAITED).store(nobody, 4)
    with body.when(kind.equals(Sync.BARRIER)):
        with body.either(is_logging(context)) as (logs, counts):
            with logs:
                masks = body.variable(LONG, 32, alignment=64)
                masks.store(words_at(warp, members).cast(64), 64)
                log_event(body, context, warp, EntryKind.LANES, taken, 0, masks, 32)
            with counts, body.when((live & ~first_value(warp, members, taken)).equals(0)):
                meet_lanes(body, context, warp.at(WARP_NUMBER).load(WORD, 4))
    return taken


def _named(body: Body, warp: Bits, members: Bits, lanes: Bits) -> Bits:
    """Return the lanes in the membermasks of some lanes."""
    masks = lanes.as_type(LANES_OF_BITS).chosen(words_at(warp, members), 0)
    return body.intrinsic("llvm.vector.reduce.or", masks, returns=WORD)


def _require_equal_masks(body: Body, context: Bits, warp: Bits, members: Bits, lanes: Bits) -> None:
    """Raise a flag if lanes that have arrived name each other with different membermasks, or do not name themselves."""
    rest = body.variable(WORD)
    rest.store(lanes, 4)
    with body.loop() as loop:
        left = rest.load(WORD, 4)
        loop.leave_unless(left.differs(0))
        mask = first_value(warp, members, left)
        group = left & lanes_with(warp, members, mask)
        wrong = (mask & lanes & ~group) | (group & ~mask)
        flag_if(body, wrong.differs(0), context, Flag.COLLECTIVE)
        rest.store(left & ~group, 4)


def _await(body: Body, context: Bits, warp: Bits, missing: Bits) -> None:
    """Record the lanes for which others wait, except those that are about to exit."""
    awaited, blocks = warp.at(AWAITED), host(context, MachineWord.BLOCKS)
    with body.lanes(missing) as lane:
        number = warp.at((lane << 2) + NEXT_BLOCKS).load(WORD, 4) & AT_WARP - 1
        with body.when(field(block_at(blocks, number), BlockField.IS_EXIT).equals(0)):
            awaited.store(awaited.load(WORD, 4) | body.constant(WORD, 1) << lane.cast(32), 4)
