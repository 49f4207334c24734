# SPDX-License-Identifier: MIT
"""The ends of basic blocks other than branches, in LLVM's intermediate code: exits, calls, barriers."""

from llvmlite import ir

from wmma_emu.llvm.code import LONG, POINTER, WORD, Code, Value
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.context_code import (
    LANES_OF_WORDS,
    add_to_word,
    bits_of,
    context_word,
    count_lanes,
    field,
    first_value,
    held,
    lanes_with,
    places_of,
    raise_flag,
    send,
    set_context_word,
    short_field,
    without,
)
from wmma_emu.ptx.native.control_words import BarrierField, BlockField, Kind, MachineWord
from wmma_emu.ptx.native.memory.time import pass_barrier
from wmma_emu.ptx.native.warp_layout import AT_BARRIER, AT_WARP, EXITED, LIVE, PLACES

BARRIERS = 16


def define_leave(module: ir.Module) -> None:
    """Add the function ``void (ptr context, ptr warp, ptr block, i32 taken)``, which sends on the lanes of a mask."""
    _define_complete(module)
    code = Code(module, "leave", ir.VoidType(), [POINTER, POINTER, POINTER, WORD], linkage="internal")
    context, warp, block, taken = code.arguments
    kind = field(code, block, BlockField.KIND)
    with code.when(code.is_equal(kind, Kind.EXIT)):
        _exit(code, context, warp, taken)
    with code.when(code.is_equal(kind, Kind.BARRIER)):
        _arrive(code, context, warp, block, taken)
    with code.when(code.is_equal(kind, Kind.CALL)):
        slot = field(code, block, BlockField.SLOT)
        returns = code.build.select(
            bits_of(code, taken), code.splat(short_field(code, block, BlockField.SOURCE), 32),
            code.load(warp, slot, LANES_OF_WORDS, align=64),
        )  # fmt: skip
        code.store(warp, slot, returns, LANES_OF_WORDS, align=64)
        send(code, warp, taken, short_field(code, block, BlockField.TARGET))
    with code.when(code.is_equal(kind, Kind.RETURN)):
        slot = field(code, block, BlockField.SLOT)
        send(code, warp, taken, code.load(warp, slot, LANES_OF_WORDS, align=64))
    with code.when(code.is_equal(kind, Kind.INDEXED)):
        _branch_indexed(code, context, warp, block, taken)
    with code.when(code.is_equal(kind, Kind.TRAP)):
        raise_flag(code, context, Flag.TRAP)
    code.give()


def _exit(code: Code, context: Value, warp: Value, lanes: Value) -> None:
    """Let lanes exit; lanes of the warp that wait for them check again, and barriers may be complete."""
    send(code, warp, lanes, code.value(EXITED, WORD))
    live = without(code, code.load(warp, LIVE, WORD), lanes)
    code.store(warp, LIVE, live, WORD)
    places = places_of(code, warp)
    awake = code.build.and_(places, code.value(AT_WARP - 1, LANES_OF_WORDS))
    is_waiting = code.is_below(places, code.value(AT_BARRIER, LANES_OF_WORDS))
    code.store(warp, PLACES, code.build.select(is_waiting, awake, places), LANES_OF_WORDS, align=64)
    add_to_word(code, context, MachineWord.LIVE, code.build.neg(count_lanes(code, lanes)))
    with code.when(code.is_nonzero(context_word(code, context, MachineWord.BUSY_BARRIERS)), likely=False):
        with code.repeat(code.value(BARRIERS, LONG)) as number:
            code.call("complete", ir.VoidType(), context, number)


def _branch_indexed(code: Code, context: Value, warp: Value, block: Value, lanes: Value) -> None:
    """Send each lane to the place that its index selects."""
    table = code.pointer(field(code, block, BlockField.THREADS))
    count, indices = field(code, block, BlockField.SOURCE), field(code, block, BlockField.SLOT)
    rest = code.variable(WORD, lanes)
    with code.loop() as loop:
        left = rest.value
        loop.leave_unless(code.is_nonzero(left))
        index = first_value(code, warp, indices, left)
        group = code.build.and_(left, lanes_with(code, warp, indices, index))
        is_legal = code.is_below(code.long(index), count)
        with code.build.if_else(is_legal) as (legal, illegal):
            with legal:
                place = code.load(table, code.build.shl(code.long(index), code.value(3, LONG)), WORD)
                send(code, warp, group, place)
            with illegal:
                raise_flag(code, context, Flag.UNSUPPORTED)
        rest.set(without(code, left, group))


def barrier_state(code: Code, context: Value, number: Value) -> Value:
    """Return a pointer to the state of a barrier of the block."""
    states = code.pointer(context_word(code, context, MachineWord.BARRIERS))
    return code.at(states, code.build.mul(number, code.value(8 * BarrierField.COUNT_OF_WORDS, LONG)))


def _arrive(code: Code, context: Value, warp: Value, block: Value, lanes: Value) -> None:
    """Let lanes arrive at a barrier (`wmma_emu.ptx.machine.barriers`); all have to name the same one."""
    number = _agreed(code, context, warp, field(code, block, BlockField.SLOT), lanes)
    threads = code.variable(LONG, 0)
    with code.when(code.is_nonzero(field(code, block, BlockField.THREADS))):
        threads.set(_agreed(code, context, warp, field(code, block, BlockField.THREADS), lanes))
    waits, is_all = code.is_nonzero(field(code, block, BlockField.WAITS)), code.is_equal(threads.value, 0)
    partial = code.is_nonzero(code.build.and_(threads.value, code.value(31, LONG)))
    wrong = code.build.or_(partial, code.build.and_(is_all, code.build.not_(waits)))
    wrong = code.build.or_(wrong, code.build.not_(code.is_below(number, BARRIERS)))
    with code.when(wrong, likely=False):
        raise_flag(code, context, Flag.UNSUPPORTED)
        code.give()
    state = barrier_state(code, context, number)

    def word(name: BarrierField) -> Value:
        return code.load(state, 8 * name, LONG)

    def put(name: BarrierField, value: Value) -> None:
        code.store(state, 8 * name, value, LONG)

    site = code.build.ptrtoint(block, LONG)
    with code.when(code.is_equal(word(BarrierField.ARRIVED), 0)):
        put(BarrierField.EXPECTED, threads.value)
        put(BarrierField.SITE, site)
        put(BarrierField.VOTES, 0)
        add_to_word(code, context, MachineWord.BUSY_BARRIERS, 1)
    elsewhere = code.build.and_(is_all, code.build.not_(code.is_equal(word(BarrierField.SITE), site)))
    others = code.build.not_(code.is_equal(word(BarrierField.EXPECTED), threads.value))
    with code.when(code.build.or_(elsewhere, others), likely=False):
        raise_flag(code, context, Flag.COLLECTIVE)
    put(BarrierField.ARRIVED, code.build.add(word(BarrierField.ARRIVED), count_lanes(code, lanes)))
    votes = held(code, warp, field(code, block, BlockField.SOURCE), field(code, block, BlockField.VOTES_COMPLEMENT))
    put(
        BarrierField.VOTES,
        code.build.add(word(BarrierField.VOTES), count_lanes(code, code.build.and_(votes, lanes))),
    )
    with code.when(waits):
        at = _waiting_at(code, context, warp, number)
        code.store(at, 0, code.build.or_(code.load(at, 0, WORD), lanes), WORD)
        places = code.build.or_(places_of(code, warp), code.value(AT_BARRIER, LANES_OF_WORDS))
        send(code, warp, lanes, places)
    code.call("complete", ir.VoidType(), context, number)


def _agreed(code: Code, context: Value, warp: Value, offset: Value, lanes: Value) -> Value:
    """Return a value on which all lanes of a mask agree; else raise a flag."""
    value = first_value(code, warp, offset, lanes)
    with code.when(code.is_nonzero(without(code, lanes, lanes_with(code, warp, offset, value))), likely=False):
        raise_flag(code, context, Flag.UNSUPPORTED)
    return code.long(value)


def _waiting_at(code: Code, context: Value, warp: Value, number: Value) -> Value:
    """Return a pointer to the mask of the lanes of a warp that wait at a barrier."""
    first = code.at(warp, context_word(code, context, MachineWord.WAITING))
    return code.at(first, code.build.shl(number, code.value(2, LONG)))


def _define_complete(module: ir.Module) -> None:
    """Add the function ``void (ptr context, i64 number)``, which completes a barrier if all its threads arrived."""
    code = Code(module, "complete", ir.VoidType(), [POINTER, LONG], linkage="internal")
    context, number = code.arguments
    state = barrier_state(code, context, number)
    arrived = code.load(state, 8 * BarrierField.ARRIVED, LONG)
    expected = code.load(state, 8 * BarrierField.EXPECTED, LONG)
    is_all = code.is_equal(expected, 0)
    needed = code.build.select(is_all, context_word(code, context, MachineWord.LIVE), expected)
    is_open = code.build.or_(code.is_equal(arrived, 0), code.is_below(arrived, needed))
    with code.when(is_open):
        code.give()
    votes = code.load(state, 8 * BarrierField.VOTES, LONG)
    code.store(state, 8 * BarrierField.RESULT_VOTES, votes, LONG)
    code.store(state, 8 * BarrierField.RESULT_ARRIVED, arrived, LONG)
    code.store(state, 8 * BarrierField.ARRIVED, 0, LONG)
    add_to_word(code, context, MachineWord.BUSY_BARRIERS, -1)
    with code.when(is_all):
        add_to_word(code, context, Word.EPOCH, 1)
        code.build.call(pass_barrier.define(module), [context])
    memory = code.pointer(context_word(code, context, Word.WARP_MEMORY))
    with code.repeat(context_word(code, context, Word.WARPS)) as i:
        warp = code.at(memory, code.build.mul(i, context_word(code, context, Word.WARP_BYTES)))
        at = _waiting_at(code, context, warp, number)
        waiting = code.load(at, 0, WORD)
        with code.when(code.is_nonzero(waiting)):
            free = code.build.and_(places_of(code, warp), code.value(AT_BARRIER - 1, LANES_OF_WORDS))
            send(code, warp, waiting, free)
            code.store(at, 0, 0, WORD)
    set_context_word(code, context, MachineWord.HAS_MOVED, 1)
    code.give()
