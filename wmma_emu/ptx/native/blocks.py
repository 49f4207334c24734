# SPDX-License-Identifier: MIT
"""The blocks of a grid, one after another, and the warps of a block in turn, as native code."""

from llvmlite import ir

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import BarrierField, MachineWord
from wmma_emu.ptx.native.driver import BLOCKED, run_warp
from wmma_emu.ptx.native.leave import BARRIERS
from wmma_emu.ptx.native.memory.stamps import flag_if
from wmma_emu.ptx.native.memory.time import begin_block
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import AWAITED, BLOCK_INDEX, EXISTING, EXITED, LIVE, NEXT_BLOCKS, STEPS, WARPGROUP
from wmma_emu.ptx.native.words import LANES_OF_BITS, LANES_OF_WORDS, add, host, put, word

DONE, UNFINISHED = 0, 1
"""The results of the driver: no block is left; or there is a flag or no fuel, and it may be called again."""

RUN_BLOCKS = "run blocks"
"""The name of the driver: ``i32 (ptr context)`` runs blocks until no block is left, or a flag or no fuel stops it."""

_PATIENCE = 1 << 16
"""Rounds in which every warp waits in a loop, as long as the one before, after which the block counts as deadlocked."""


def define_driver(module: ir.Module) -> ir.Function:
    """Add the driver to a module."""
    body = Body(ir.Function(module, ir.FunctionType(WORD, [POINTER]), RUN_BLOCKS))
    (context,) = body.arguments
    with body.loop():
        with body.when(word(context, MachineWord.IS_RUNNING).equals(0)):
            counter = host(context, MachineWord.NEXT_BLOCK)
            one = body.constant(LONG, 1)
            number = Bits(body, body.builder.atomic_rmw("add", counter.value, one.value, "monotonic"))
            with body.when(number >= word(context, MachineWord.LAST_BLOCK)):
                body.give(body.constant(WORD, DONE))
            begin(body, context, number)
        with body.when(run_block(body, context).differs(DONE)):
            body.give(body.constant(WORD, UNFINISHED))
        end(body, context)
    return body.function


def _warp(context: Bits, number: Bits) -> Bits:
    """Return the memory of a warp."""
    return host(context, Word.WARP_MEMORY).at(number * word(context, Word.WARP_BYTES))


@internal(ir.VoidType(), POINTER, LONG)
def begin(body: Body, context: Bits, index: Bits) -> None:
    """Begin a block: its index, its threads, its memory."""
    x, y = word(context, Word.GRID_X), word(context, Word.GRID_Y)
    row = _divided(index, x)
    for name, value in {
        Word.BLOCK_INDEX: index, MachineWord.CTAID_X: index - row * x, MachineWord.CTAID_Z: _divided(row, y),
        MachineWord.CTAID_Y: row - _divided(row, y) * y, MachineWord.LIVE: word(context, MachineWord.THREADS),
    }.items():  # fmt: skip
        put(context, name, value)
    chip = word(context, MachineWord.MULTIPROCESSORS)
    put(context, MachineWord.SMID, index - _divided(index, chip) * chip)
    put(context, MachineWord.IS_RUNNING, 1)
    put(context, Word.EPOCH, 1)
    for name in (
        MachineWord.WARP, MachineWord.BUSY_BARRIERS, MachineWord.ROUND_STEPS, MachineWord.IDLE_ROUNDS,
        MachineWord.HAS_MOVED, Word.YIELD,
    ):  # fmt: skip
        put(context, name, 0)
    begin_block(body, context)
    size = body.constant(LONG, 8 * BARRIERS * BarrierField.COUNT_OF_WORDS)
    body.fill(host(context, MachineWord.BARRIERS), 0, size)
    with body.repeat(word(context, Word.WARPS)) as number:
        _begin_warp(body, context, _warp(context, number), index)


def _divided(number: Bits, divisor: Bits) -> Bits:
    return Bits(number.body, number.body.builder.udiv(number.value, divisor.value))


def _begin_warp(body: Body, context: Bits, warp: Bits, index: Bits) -> None:
    """Prepare the memory of a warp for a block."""
    existing = warp.at(EXISTING).load(WORD, 4)
    first = body.constant(LANES_OF_WORDS, 0)
    warp.at(NEXT_BLOCKS).store(existing.as_type(LANES_OF_BITS).chosen(first, EXITED), 64)
    warp.at(LIVE).store(existing, 4)
    warp.at(AWAITED).store(body.constant(WORD, 0), 4)
    for offset in (STEPS, WARPGROUP):
        warp.at(offset).store(body.constant(LONG, 0), 8)
    warp.at(BLOCK_INDEX).store(index, 8)
    ranges = host(context, MachineWord.ZEROED)
    with body.repeat(word(context, MachineWord.ZEROED_COUNT)) as number:
        pair = ranges.at(number << 4)
        body.fill(warp.at(word(pair, 0)), 0, word(pair, 1))
    table = host(context, MachineWord.FILLED)
    with body.repeat(word(context, MachineWord.FILLED_COUNT)) as number:
        triple = table.at(number * 24)
        place, value = warp.at(word(triple, 0)), context.at(word(triple, 1) << 3).load(LONG, 8)
        with body.either(word(triple, 2).equals(1)) as (narrow, wide):
            with narrow:
                place.store(value.cast(32).repeated(32), 64)
            with wide:
                place.store(value.repeated(32), 64)


@internal(WORD, POINTER)
def run_block(body: Body, context: Bits) -> Bits:
    """Run the warps of a block in turn until all have exited."""
    unfinished = body.constant(WORD, UNFINISHED)
    with body.loop() as rounds:
        with body.loop() as warps:
            number = word(context, MachineWord.WARP)
            warps.leave_unless(number < word(context, Word.WARPS))
            warp = _warp(context, number)
            before = warp.at(STEPS).load(LONG, 8)
            why = run_warp(body, context, warp)
            steps = warp.at(STEPS).load(LONG, 8) - before
            add(context, MachineWord.ROUND_STEPS, steps)
            with body.when(_is_stopped(context), likely=False):
                body.give(unfinished)
            put(context, Word.YIELD, 0)
            with body.when(why.equals(BLOCKED) & steps.differs(0)):
                put(context, MachineWord.HAS_MOVED, 1)
            put(context, MachineWord.WARP, number + 1)
        rounds.leave_unless(word(context, MachineWord.LIVE).differs(0))
        _end_round(body, context)
        with body.when(_is_stopped(context), likely=False):
            body.give(unfinished)
    return body.constant(WORD, DONE)


def _is_stopped(context: Bits) -> Bits:
    return word(context, Word.FLAGS).differs(0) | word(context, Word.FUEL).less_signed(0)


def _end_round(body: Body, context: Bits) -> None:
    """Begin the next round with warp 0; raise a flag if no warp can make progress."""
    steps = word(context, MachineWord.ROUND_STEPS)
    is_idle = word(context, MachineWord.HAS_MOVED).equals(0) & word(context, MachineWord.LAST_ROUND_STEPS).equals(steps)
    rounds = is_idle.chosen(word(context, MachineWord.IDLE_ROUNDS) + 1, 0)
    flag_if(body, steps.equals(0) | (rounds > _PATIENCE), context, Flag.DEADLOCK)
    put(context, MachineWord.IDLE_ROUNDS, rounds)
    put(context, MachineWord.LAST_ROUND_STEPS, steps)
    for name in (MachineWord.ROUND_STEPS, MachineWord.HAS_MOVED, MachineWord.WARP):
        put(context, name, 0)


@internal(ir.VoidType(), POINTER)
def end(body: Body, context: Bits) -> None:
    """End a block: note the steps of the warp that stepped most, and compare the warps of each warpgroup."""
    most, wrong = body.variable(LONG), body.variable(LONG)
    for variable in (most, wrong):
        variable.store(body.constant(LONG, 0), 8)
    with body.repeat(word(context, Word.WARPS)) as number:
        warp, first = _warp(context, number), _warp(context, number >> 2 << 2)
        steps, known = warp.at(STEPS).load(LONG, 8), most.load(LONG, 8)
        most.store((known < steps).chosen(steps, known), 8)
        differs = warp.at(WARPGROUP).load(LONG, 8) ^ first.at(WARPGROUP).load(LONG, 8)
        wrong.store(wrong.load(LONG, 8) | differs, 8)
    flag_if(body, wrong.load(LONG, 8).differs(0), context, Flag.COLLECTIVE)
    table = host(context, MachineWord.BLOCK_STEPS)
    table.at(word(context, Word.BLOCK_INDEX) << 3).store(most.load(LONG, 8), 8)
    put(context, MachineWord.IS_RUNNING, 0)
