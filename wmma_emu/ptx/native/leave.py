# SPDX-License-Identifier: MIT
"""The ends of basic blocks other than branches, as native code: exits, calls, barriers."""

from llvmlite import ir

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import BarrierField, BlockField, Kind, MachineWord
from wmma_emu.ptx.native.memory.log import ALL_THREADS, EntryKind
from wmma_emu.ptx.native.memory.stamps import flag_if, raise_flag
from wmma_emu.ptx.native.memory.time import barriers_of, log_event, pass_barrier
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import AT_BARRIER, AT_WARP, EXITED, LIVE, NEXT_BLOCKS
from wmma_emu.ptx.native.words import (
    add,
    count_of,
    field,
    first_value,
    held,
    host,
    lanes_with,
    put,
    replace,
    send,
    word,
    words_at,
)

BARRIERS = 16

MOST_WARPS = 32
"""The largest number of warps of a block."""


@internal(ir.VoidType(), POINTER, POINTER, POINTER, WORD)
def leave(body: Body, context: Bits, warp: Bits, block: Bits, lanes: Bits) -> None:
    """Send lanes on from the end of a basic block."""
    kind, slot = field(block, BlockField.KIND), field(block, BlockField.SLOT)
    with body.when(kind.equals(Kind.EXIT)):
        exit_lanes(body, context, warp, lanes)
    with body.when(kind.equals(Kind.BARRIER)):
        arrive(body, context, warp, block, lanes)
    with body.when(kind.equals(Kind.CALL)):
        replace(warp, slot, lanes, field(block, BlockField.SOURCE, WORD).repeated(32))
        send(warp, lanes, field(block, BlockField.TARGET, WORD))
    with body.when(kind.equals(Kind.RETURN)):
        send(warp, lanes, words_at(warp, slot))
    with body.when(kind.equals(Kind.INDEXED)):
        _branch_indexed(body, context, warp, block, lanes)
    flag_if(body, kind.equals(Kind.TRAP), context, Flag.TRAP)


@internal(ir.VoidType(), POINTER, POINTER, WORD)
def exit_lanes(body: Body, context: Bits, warp: Bits, lanes: Bits) -> None:
    """Let lanes exit; lanes of the warp that wait for them check again, and barriers may be complete."""
    send(warp, lanes, body.constant(WORD, EXITED))
    live, next_blocks = warp.at(LIVE), words_at(warp, NEXT_BLOCKS)
    log_event(body, context, warp, EntryKind.EXIT, lanes)
    live.store(live.load(WORD, 4) & ~lanes, 4)
    warp.at(NEXT_BLOCKS).store((next_blocks < AT_BARRIER).chosen(next_blocks & AT_WARP - 1, next_blocks), 64)
    add(context, MachineWord.LIVE, -count_of(lanes))
    with body.when(word(context, MachineWord.BUSY_BARRIERS).differs(0), likely=False):
        with body.repeat(BARRIERS) as number:
            complete(body, context, number)


def _branch_indexed(body: Body, context: Bits, warp: Bits, block: Bits, lanes: Bits) -> None:
    """Send each lane to the basic block that its index selects."""
    table, indices = field(block, BlockField.THREADS, POINTER), field(block, BlockField.SLOT)
    with body.lanes(lanes) as lane:
        index = warp.at(indices + (lane << 2)).load(WORD, 4).cast(64)
        with body.either(index < field(block, BlockField.SOURCE)) as (legal, illegal):
            with legal:
                warp.at((lane << 2) + NEXT_BLOCKS).store(table.at(index << 3).load(WORD, 8), 4)
            with illegal:
                raise_flag(body, context, body.constant(WORD, Flag.UNSUPPORTED))


def state_of_barrier(context: Bits, number: Bits) -> Bits:
    """Return the pointer to the state of a barrier of the block (`BarrierField`)."""
    return host(context, MachineWord.BARRIERS).at(number * (8 * BarrierField.COUNT_OF_WORDS))


@internal(ir.VoidType(), POINTER, POINTER, POINTER, WORD)
def arrive(body: Body, context: Bits, warp: Bits, block: Bits, lanes: Bits) -> None:
    """Let lanes arrive at a barrier, as `wmma_emu.ptx.machine.barriers` does; all have to name the same one."""
    number = _agreed(body, context, warp, field(block, BlockField.SLOT), lanes)
    threads = body.variable(LONG)
    threads.store(body.constant(LONG, 0), 8)
    with body.when(field(block, BlockField.THREADS).differs(0)):
        threads.store(_agreed(body, context, warp, field(block, BlockField.THREADS), lanes), 8)
    expected, waits = threads.load(LONG, 8), field(block, BlockField.WAITS).differs(0)
    is_wrong = (expected & 31).differs(0) | (expected.equals(0) & ~waits) | (number >= BARRIERS)
    with body.when(is_wrong, likely=False):
        raise_flag(body, context, body.constant(WORD, Flag.UNSUPPORTED))
        body.give()
    state = state_of_barrier(context, number)
    site = Bits(body, body.builder.ptrtoint(block.value, LONG))
    with body.when(word(state, BarrierField.ARRIVED).equals(0)):
        put(state, BarrierField.EXPECTED, expected)
        put(state, BarrierField.SITE, site)
        put(state, BarrierField.VOTES, 0)
        add(context, MachineWord.BUSY_BARRIERS, 1)
    elsewhere = expected.equals(0) & word(state, BarrierField.SITE).differs(site)
    others = word(state, BarrierField.EXPECTED).differs(expected)
    flag_if(body, elsewhere | others, context, Flag.COLLECTIVE)
    votes = held(warp, field(block, BlockField.SOURCE), field(block, BlockField.VOTES_COMPLEMENT))
    log_event(body, context, warp, EntryKind.ARRIVAL, lanes, number)
    add(state, BarrierField.ARRIVED, count_of(lanes))
    add(state, BarrierField.VOTES, count_of(votes & lanes))
    with body.when(waits):
        waiting = _waiting_at(context, warp, number)
        waiting.store(waiting.load(WORD, 4) | lanes, 4)
        send(warp, lanes, words_at(warp, NEXT_BLOCKS) | AT_BARRIER)
    complete(body, context, number)


def _agreed(body: Body, context: Bits, warp: Bits, offset: Bits, lanes: Bits) -> Bits:
    """Return a value on which all lanes of a mask agree; else raise a flag."""
    value = first_value(warp, offset, lanes)
    flag_if(body, (lanes & ~lanes_with(warp, offset, value)).differs(0), context, Flag.UNSUPPORTED)
    return value.cast(64)


def _waiting_at(context: Bits, warp: Bits, number: Bits) -> Bits:
    """Return the pointer to the mask of the lanes of a warp that wait at a barrier."""
    return warp.at(word(context, MachineWord.WAITING) + (number << 2))


@internal(ir.VoidType(), POINTER, LONG)
def complete(body: Body, context: Bits, number: Bits) -> None:
    """Complete a barrier if all its threads have arrived: those that wait continue."""
    state = state_of_barrier(context, number)
    arrived, expected = (word(state, x) for x in (BarrierField.ARRIVED, BarrierField.EXPECTED))
    needed = expected.equals(0).chosen(word(context, MachineWord.LIVE), expected)
    with body.when(arrived.equals(0) | (arrived < needed)):
        body.give()
    put(state, BarrierField.RESULT_VOTES, word(state, BarrierField.VOTES))
    put(state, BarrierField.RESULT_ARRIVED, arrived)
    put(state, BarrierField.ARRIVED, 0)
    add(context, MachineWord.BUSY_BARRIERS, -1)
    waited = body.variable(LONG, MOST_WARPS + 1, alignment=64)
    body.fill(waited, 0, body.constant(LONG, 8 * MOST_WARPS))
    all_waited = body.variable(LONG)
    all_waited.store(body.constant(LONG, 0), 8)
    with body.repeat(word(context, Word.WARPS)) as i:
        warp = host(context, Word.WARP_MEMORY).at(i * word(context, Word.WARP_BYTES))
        waiting = _waiting_at(context, warp, number)
        lanes = waiting.load(WORD, 4)
        with body.when(lanes.differs(0)):
            all_waited.store(all_waited.load(LONG, 8) + count_of(lanes), 8)
            waited.at(i << 3).store(lanes.cast(64), 8)
            send(warp, lanes, words_at(warp, NEXT_BLOCKS) & AT_BARRIER - 1)
            waiting.store(body.constant(WORD, 0), 4)
    # A barrier for a number of threads orders accesses only if these are all threads of the block.
    with body.when(expected.equals(0) | all_waited.load(LONG, 8).equals(word(context, MachineWord.THREADS))):
        add(context, Word.EPOCH, 1)
        pass_barrier(body, context)
    waited.at(8 * MOST_WARPS).store(barriers_of(context), 8)
    details = number | expected.equals(0).chosen(body.constant(LONG, ALL_THREADS), 0)
    log_event(
        body, context, host(context, Word.WARP_MEMORY), EntryKind.COMPLETION, body.constant(WORD, 0), details, waited,
        MOST_WARPS + 1,
    )  # fmt: skip
    put(context, MachineWord.HAS_MOVED, 1)
