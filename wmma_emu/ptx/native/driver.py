# SPDX-License-Identifier: MIT
"""The driver of the native machine in LLVM's intermediate code: it runs the basic blocks of a warp.

As on the NumPy machine, the lanes at the lowest place run next, all together (`wmma_emu.ptx.machine.scheduler`).
"""

from llvmlite import ir

from wmma_emu.llvm.code import LONG, POINTER, WORD, Code, Loop, Value, Variable
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.context_code import (
    EVERYONE,
    LANES_OF_WORDS,
    add_to_word,
    context_word,
    count_lanes,
    field,
    held,
    mask_of,
    places_of,
    send,
    short_field,
)
from wmma_emu.ptx.native.control_words import EntryField, BlockField, Kind, MachineWord
from wmma_emu.ptx.native.rows import FUNCTION
from wmma_emu.ptx.native.warp_layout import AT_WARP, LIVE, STEPS

BLOCKED, STOPPED = 0, 1
"""Why a warp stopped: no lane may run; or there is a flag, a yield, or no fuel."""


def define_run_warp(module: ir.Module) -> None:
    """Add the function that runs a warp until it stops: ``i32 (ptr context, ptr warp)``."""
    code = Code(module, "run_warp", WORD, [POINTER, POINTER], linkage="internal")
    context, warp = code.arguments
    place, active = code.variable(WORD), code.variable(WORD)
    blocks = code.pointer(context_word(code, context, MachineWord.BLOCKS))
    with code.loop() as pick:
        lowest = code.call("llvm.vector.reduce.umin.v32i32", WORD, places_of(code, warp))
        with code.when(code.build.not_(code.is_below(lowest, AT_WARP)), likely=False):
            code.give(BLOCKED)
        place.set(lowest)
        active.set(_lanes_at(code, warp, lowest))
        with code.loop():
            size = code.value(8 * BlockField.COUNT_OF_WORDS, LONG)
            block = code.at(blocks, code.build.mul(code.long(place.value), size))
            with code.when(code.is_nonzero(field(code, block, BlockField.SYNC)), likely=False):
                active.set(code.call("synchronise", WORD, context, warp, block, place.value, active.value))
                with code.when(code.is_equal(active.value, 0)):
                    pick.restart()
            _run_entries(code, context, warp, block, active.value)
            _count(code, context, warp, block, active.value)
            _end(code, context, warp, block, (place, active), pick)
    code.build.unreachable()


def _lanes_at(code: Code, warp: Value, place: Value) -> Value:
    """Return the lanes at a place, with those that wait there for lanes of their warp."""
    together = code.build.and_(places_of(code, warp), code.value(~AT_WARP & EVERYONE, LANES_OF_WORDS))
    return mask_of(code, code.is_equal(together, code.splat(place, 32)))


def _run_entries(code: Code, context: Value, warp: Value, block: Value, active: Value) -> None:
    """Call the function of each entry for the active lanes whose guard holds, if there are any."""
    entries = code.pointer(field(code, block, BlockField.CODE))
    with code.repeat(field(code, block, BlockField.COUNT)) as number:
        entry = code.at(entries, code.build.mul(number, code.value(8 * EntryField.COUNT_OF_WORDS, LONG)))
        function, record, guard, complement = (code.load(entry, 8 * name, LONG) for name in list(EntryField)[:4])
        lanes = code.build.and_(active, held(code, warp, guard, complement))
        with code.when(code.is_nonzero(lanes), likely=True):
            typed = code.build.inttoptr(function, FUNCTION.as_pointer())
            code.build.call(typed, [context, warp, code.pointer(record), lanes])


def _count(code: Code, context: Value, warp: Value, block: Value, active: Value) -> None:
    """Count the instructions of a basic block."""
    length = field(code, block, BlockField.LENGTH)
    add_to_word(code, context, Word.EXECUTED, code.build.mul(length, count_lanes(code, active)))
    add_to_word(code, context, Word.FUEL, code.build.neg(length))
    code.store(warp, STEPS, code.build.add(code.load(warp, STEPS, LONG), length), LONG)


def _end(code: Code, context: Value, warp: Value, block: Value, where: tuple[Variable, Variable], pick: Loop) -> None:
    """Send the active lanes on: at once to the next basic block if all lanes of the warp go there, else by places."""
    place, active = where
    build, lanes = code.build, active.value
    taken = build.and_(lanes, held(code, warp, field(code, block, BlockField.GUARD), field(code, block, BlockField.COMPLEMENT)))
    target, following = short_field(code, block, BlockField.TARGET), short_field(code, block, BlockField.NEXT)
    with code.when(code.is_below(Kind.BRANCH, field(code, block, BlockField.KIND)), likely=False):
        send(code, warp, lanes, following)
        with code.when(code.is_nonzero(taken)):
            code.call("leave", ir.VoidType(), context, warp, block, taken)
        with code.when(_must_stop(code, context, block)):
            code.give(STOPPED)
        pick.restart()
    all_taken, none_taken = code.is_equal(taken, lanes), code.is_equal(taken, 0)
    with code.when(_must_stop(code, context, block), likely=False):
        _diverge(code, warp, lanes, taken, target, following)
        code.give(STOPPED)
    together = build.and_(build.or_(all_taken, none_taken), code.is_equal(lanes, code.load(warp, LIVE, WORD)))
    with code.when(build.not_(together)):
        _diverge(code, warp, lanes, taken, target, following)
        pick.restart()
    place.set(build.select(all_taken, target, following))


def _diverge(code: Code, warp: Value, lanes: Value, taken: Value, target: Value, following: Value) -> None:
    send(code, warp, lanes, following)
    send(code, warp, taken, target)


def _must_stop(code: Code, context: Value, block: Value) -> Value:
    """Return whether there is a flag, a yield, or no fuel; a loop that waits for others yields each time."""
    build = code.build
    reasons = build.or_(context_word(code, context, Word.FLAGS), context_word(code, context, Word.YIELD))
    reasons = build.or_(reasons, field(code, block, BlockField.IS_SPINNING))
    no_fuel = build.icmp_signed("<", context_word(code, context, Word.FUEL), code.value(0, LONG))
    return build.or_(code.is_nonzero(reasons), no_fuel)
