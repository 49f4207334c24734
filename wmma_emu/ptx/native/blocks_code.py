# SPDX-License-Identifier: MIT
"""The blocks of a grid, one after another, and the warps of a block in turn, in LLVM's intermediate code."""

from llvmlite import ir

from wmma_emu.llvm.code import BYTE, LONG, POINTER, WORD, Code, Value
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.context_code import (
    LANES_OF_WORDS,
    add_to_word,
    bits_of,
    context_word,
    raise_flag,
    set_context_word,
)
from wmma_emu.ptx.native.control_words import BarrierField, MachineWord
from wmma_emu.ptx.native.driver import BLOCKED, define_run_warp
from wmma_emu.ptx.native.leave_code import BARRIERS, define_leave
from wmma_emu.ptx.native.memory.time import begin_block
from wmma_emu.ptx.native.warp_layout import (
    AWAITED,
    BLOCK_INDEX,
    EXISTING,
    EXITED,
    LIVE,
    PLACES,
    STEPS,
    WARPGROUP,
)
from wmma_emu.ptx.native.warp_sync_code import define_synchronise

DONE, UNFINISHED = 0, 1
"""The results of ``run_blocks``: no block is left; or there is a flag or no fuel, and it may be called again."""

RUN_BLOCKS = "run blocks"
"""The name of the driver: ``i32 (ptr context)`` runs blocks until none is left, or a flag or lack of fuel stops it."""

_PATIENCE = 1 << 16
"""Rounds in which every warp waits in a loop, as long as the one before, after which the block counts as deadlocked."""


def define_driver(module: ir.Module) -> None:
    """Add the driver to a module."""
    define_synchronise(module)
    define_leave(module)
    define_run_warp(module)
    _define_begin_one(module)
    _define_run_block(module)
    _define_end_block(module)
    code = Code(module, RUN_BLOCKS, WORD, [POINTER])
    (context,) = code.arguments
    with code.loop():
        with code.when(code.is_equal(context_word(code, context, MachineWord.IS_RUNNING), 0)):
            counter = code.pointer(context_word(code, context, MachineWord.NEXT_BLOCK))
            number = code.build.atomic_rmw("add", counter, code.value(1, LONG), "monotonic")
            left = code.is_below(number, context_word(code, context, MachineWord.LAST_BLOCK))
            with code.when(code.build.not_(left)):
                code.give(DONE)
            code.call("begin_one", ir.VoidType(), context, number)
        with code.when(code.is_nonzero(code.call("run_block", WORD, context))):
            code.give(UNFINISHED)
        code.call("end_block", ir.VoidType(), context)
    code.build.unreachable()


def _warp(code: Code, context: Value, number: Value) -> Value:
    """Return the memory of a warp."""
    memory = code.pointer(context_word(code, context, Word.WARP_MEMORY))
    return code.at(memory, code.build.mul(number, context_word(code, context, Word.WARP_BYTES)))


def _define_begin_one(module: ir.Module) -> None:
    code = Code(module, "begin_one", ir.VoidType(), [POINTER, LONG], linkage="internal")
    context, index = code.arguments
    _name_block(code, context, index)
    threads = context_word(code, context, MachineWord.THREADS)
    for word, value in {
        MachineWord.IS_RUNNING: 1, MachineWord.LIVE: threads, MachineWord.WARP: 0, MachineWord.BUSY_BARRIERS: 0,
        MachineWord.ROUND_STEPS: 0, MachineWord.IDLE_ROUNDS: 0, MachineWord.HAS_MOVED: 0, Word.YIELD: 0, Word.EPOCH: 1,
    }.items():  # fmt: skip
        set_context_word(code, context, word, value)
    code.build.call(begin_block.define(module), [context])
    states = code.pointer(context_word(code, context, MachineWord.BARRIERS))
    _clear(code, states, code.value(8 * BARRIERS * BarrierField.COUNT_OF_WORDS, LONG))
    with code.repeat(context_word(code, context, Word.WARPS)) as number:
        warp = _warp(code, context, number)
        _begin_warp(code, context, warp, index)
    code.give()


def _name_block(code: Code, context: Value, index: Value) -> None:
    """Write the index of a block, as the special registers give it."""
    build = code.build
    x, y = (context_word(code, context, word) for word in (Word.GRID_X, Word.GRID_Y))
    row = build.udiv(index, x)
    chip = context_word(code, context, MachineWord.MULTIPROCESSORS)
    for word, value in {
        Word.BLOCK_INDEX: index, MachineWord.CTAID_X: build.urem(index, x), MachineWord.CTAID_Y: build.urem(row, y),
        MachineWord.CTAID_Z: build.udiv(row, y), MachineWord.SMID: build.urem(index, chip),
    }.items():  # fmt: skip
        set_context_word(code, context, word, value)


def _clear(code: Code, pointer: Value, size: Value) -> None:
    code.call("llvm.memset.p0.i64", ir.VoidType(), pointer, code.value(0, BYTE), size, code.value(0, ir.IntType(1)))


def _begin_warp(code: Code, context: Value, warp: Value, index: Value) -> None:
    """Prepare the memory of a warp for a block."""
    existing = code.load(warp, EXISTING, WORD)
    nowhere, first = code.value(EXITED, LANES_OF_WORDS), code.value(0, LANES_OF_WORDS)
    code.store(warp, PLACES, code.build.select(bits_of(code, existing), first, nowhere), LANES_OF_WORDS, align=64)
    code.store(warp, LIVE, existing, WORD)
    code.store(warp, AWAITED, 0, WORD)
    for offset in (STEPS, WARPGROUP):
        code.store(warp, offset, 0, LONG)
    code.store(warp, BLOCK_INDEX, index, LONG)
    ranges = code.pointer(context_word(code, context, MachineWord.ZEROED))
    with code.repeat(context_word(code, context, MachineWord.ZEROED_COUNT)) as number:
        pair = code.at(ranges, code.build.shl(number, code.value(4, LONG)))
        _clear(code, code.at(warp, code.load(pair, 0, LONG)), code.load(pair, 8, LONG))
    table = code.pointer(context_word(code, context, MachineWord.FILLED))
    with code.repeat(context_word(code, context, MachineWord.FILLED_COUNT)) as number:
        triple = code.at(table, code.build.mul(number, code.value(24, LONG)))
        place = code.at(warp, code.load(triple, 0, LONG))
        value = code.load(context, code.build.shl(code.load(triple, 8, LONG), code.value(3, LONG)), LONG)
        with code.build.if_else(code.is_equal(code.load(triple, 16, LONG), 1)) as (narrow, wide):
            with narrow:
                code.store(place, 0, code.splat(code.build.trunc(value, WORD), 32), LANES_OF_WORDS, align=64)
            with wide:
                code.store(place, 0, code.splat(value, 32), ir.VectorType(LONG, 32), align=64)


def _define_run_block(module: ir.Module) -> None:
    """Add the function that runs the warps of a block in turn until all have exited: ``i32 (ptr context)``."""
    code = Code(module, "run_block", WORD, [POINTER], linkage="internal")
    (context,) = code.arguments
    with code.loop() as rounds:
        with code.loop() as warps:
            number = context_word(code, context, MachineWord.WARP)
            warps.leave_unless(code.is_below(number, context_word(code, context, Word.WARPS)))
            warp = _warp(code, context, number)
            before = code.load(warp, STEPS, LONG)
            why = code.call("run_warp", WORD, context, warp)
            steps = code.build.sub(code.load(warp, STEPS, LONG), before)
            add_to_word(code, context, MachineWord.ROUND_STEPS, steps)
            with code.when(_is_stopped(code, context), likely=False):
                code.give(UNFINISHED)
            set_context_word(code, context, Word.YIELD, 0)
            with code.when(code.build.and_(code.is_equal(why, BLOCKED), code.is_nonzero(steps))):
                set_context_word(code, context, MachineWord.HAS_MOVED, 1)
            set_context_word(code, context, MachineWord.WARP, code.build.add(number, code.value(1, LONG)))
        rounds.leave_unless(code.is_nonzero(context_word(code, context, MachineWord.LIVE)))
        _end_round(code, context)
        with code.when(_is_stopped(code, context), likely=False):
            code.give(UNFINISHED)
    code.give(DONE)


def _is_stopped(code: Code, context: Value) -> Value:
    no_fuel = code.build.icmp_signed("<", context_word(code, context, Word.FUEL), code.value(0, LONG))
    return code.build.or_(code.is_nonzero(context_word(code, context, Word.FLAGS)), no_fuel)


def _end_round(code: Code, context: Value) -> None:
    """Begin the next round with warp 0; raise a flag if no warp can make progress."""
    build = code.build
    steps = context_word(code, context, MachineWord.ROUND_STEPS)
    is_idle = build.and_(
        code.is_equal(context_word(code, context, MachineWord.HAS_MOVED), 0),
        code.is_equal(steps, context_word(code, context, MachineWord.LAST_ROUND_STEPS)),
    )
    rounds = build.add(context_word(code, context, MachineWord.IDLE_ROUNDS), code.value(1, LONG))
    rounds = build.select(is_idle, rounds, code.value(0, LONG))
    stuck = build.or_(code.is_equal(steps, 0), code.is_below(code.value(_PATIENCE, LONG), rounds))
    with code.when(stuck, likely=False):
        raise_flag(code, context, Flag.DEADLOCK)
    for word, value in {
        MachineWord.IDLE_ROUNDS: rounds, MachineWord.LAST_ROUND_STEPS: steps, MachineWord.ROUND_STEPS: 0,
        MachineWord.HAS_MOVED: 0, MachineWord.WARP: 0,
    }.items():  # fmt: skip
        set_context_word(code, context, word, value)


def _define_end_block(module: ir.Module) -> None:
    """Add the function that notes the steps of a block: those of the warp that stepped most."""
    code = Code(module, "end_block", ir.VoidType(), [POINTER], linkage="internal")
    (context,) = code.arguments
    most, wrong = code.variable(LONG, 0), code.variable(LONG, 0)
    with code.repeat(context_word(code, context, Word.WARPS)) as number:
        warp = _warp(code, context, number)
        steps = code.load(warp, STEPS, LONG)
        most.set(code.build.select(code.is_below(most.value, steps), steps, most.value))
        first = _warp(code, context, code.build.and_(number, code.value(~3 & 0xFFFF_FFFF, LONG)))
        differs = code.build.xor(code.load(warp, WARPGROUP, LONG), code.load(first, WARPGROUP, LONG))
        wrong.set(code.build.or_(wrong.value, differs))
    with code.when(code.is_nonzero(wrong.value), likely=False):
        raise_flag(code, context, Flag.COLLECTIVE)
    table = code.pointer(context_word(code, context, MachineWord.BLOCK_STEPS))
    index = context_word(code, context, Word.BLOCK_INDEX)
    code.store(table, code.build.shl(index, code.value(3, LONG)), most.value, LONG)
    set_context_word(code, context, MachineWord.IS_RUNNING, 0)
    code.give()
