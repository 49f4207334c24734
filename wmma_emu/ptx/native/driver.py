# SPDX-License-Identifier: MIT
"""The driver of the native machine in LLVM's intermediate code: it runs the basic blocks of a warp.

As on the NumPy machine, the lanes at the lowest place run next, all together (`wmma_emu.ptx.machine.scheduler`).
"""

from llvmlite import ir

from wmma_emu.llvm.code import BIT, LONG, POINTER, WORD, Code, Value
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import EntryField, Field, Kind, MachineWord, Sync
from wmma_emu.ptx.native.rows import FUNCTION
from wmma_emu.ptx.native.warp_layout import AT_BARRIER, AT_WARP, AWAITED, EXITED, LIVE, PLACES, STEPS, WARPGROUP

LANES_OF_WORDS = ir.VectorType(WORD, 32)
LANES_OF_BITS = ir.VectorType(BIT, 32)

EVERYONE = 0xFFFF_FFFF
"""The mask of all lanes."""

BLOCKED, STOPPED = 0, 1
"""Why a warp stopped: no lane may run; or a flag, a yield, or no fuel."""


def context_word(code: Code, context: Value, word: int) -> Value:
    """Load a word of the context."""
    return code.load(context, 8 * word, LONG)


def set_context_word(code: Code, context: Value, word: int, value: Value) -> None:
    """Store a word of the context."""
    code.store(context, 8 * word, value, LONG)


def add_to_word(code: Code, context: Value, word: int, value: Value) -> Value:
    """Add to a word of the context, and return the sum."""
    total = code.build.add(context_word(code, context, word), code.value(value, LONG))
    set_context_word(code, context, word, total)
    return total


def raise_flag(code: Code, context: Value, flag: Flag) -> None:
    """Raise a flag in the context."""
    flags = context_word(code, context, Word.FLAGS)
    set_context_word(code, context, Word.FLAGS, code.build.or_(flags, code.value(int(flag), LONG)))


def field(code: Code, block: Value, name: Field) -> Value:
    """Load a word of a basic block."""
    return code.load(block, 8 * name, LONG)


def mask_of(code: Code, bits: Value) -> Value:
    """Convert 32 bits to the mask of the lanes."""
    return code.build.bitcast(bits, WORD)


def bits_of(code: Code, mask: Value) -> Value:
    """Convert the mask of the lanes to 32 bits."""
    return code.build.bitcast(mask, LANES_OF_BITS)


def count_lanes(code: Code, mask: Value) -> Value:
    """Return the number of lanes of a mask, as 64 bits."""
    return code.long(code.call("llvm.ctpop.i32", WORD, mask))


def first_lane(code: Code, mask: Value) -> Value:
    """Return the number of the first lane of a mask that is not zero."""
    return code.call("llvm.cttz.i32", WORD, mask, code.value(1, BIT))


def lane_value(code: Code, warp: Value, offset: Value, lane: Value) -> Value:
    """Load the 32-bit value of one lane."""
    at = code.build.add(offset, code.build.shl(code.long(lane), code.value(2, LONG)))
    return code.load(warp, at, WORD)


def places_of(code: Code, warp: Value) -> Value:
    """Load the places of the lanes."""
    return code.load(warp, PLACES, LANES_OF_WORDS, align=64)


def send(code: Code, warp: Value, lanes: Value, places: Value) -> None:
    """Send the lanes of a mask to places."""
    old = places_of(code, warp)
    code.store(warp, PLACES, code.build.select(bits_of(code, lanes), places, old), LANES_OF_WORDS, align=64)


def held(code: Code, warp: Value, offset: Value, complement: Value) -> Value:
    """Return the mask of the lanes whose guard holds."""
    return code.build.xor(code.load(warp, offset, WORD), code.build.trunc(complement, WORD))


def define_run_warp(module: ir.Module) -> ir.Function:
    """Add the function that runs a warp until no lane may run: ``i32 (ptr context, ptr warp)``."""
    code = Code(module, "run_warp", WORD, [POINTER, POINTER])
    context, warp = code.arguments
    place, active = code.variable(WORD), code.variable(WORD)
    blocks = code.pointer(context_word(code, context, MachineWord.BLOCKS))
    with code.loop() as pick:
        lowest = code.call("llvm.vector.reduce.umin.v32i32", WORD, places_of(code, warp))
        with code.when(code.build.not_(code.is_below(lowest, AT_WARP))):
            code.give(BLOCKED)
        place.set(lowest)
        active.set(_lanes_at(code, warp, lowest))
        with code.loop() as follow:
            size = code.value(8 * Field.COUNT_OF_WORDS, LONG)
            block = code.at(blocks, code.build.mul(code.long(place.value), size))
            _begin_together(code, context, warp, block, place, active, pick)
            _run_entries(code, context, warp, block, active.value)
            _count(code, context, warp, block, active.value)
            _end(code, context, warp, block, place, active)
            follow.leave()
    return code.function


def _lanes_at(code: Code, warp: Value, place: Value) -> Value:
    """Return the lanes at a place, with those that wait there for lanes of their warp."""
    together = code.build.and_(places_of(code, warp), code.value(~AT_WARP & EVERYONE, LANES_OF_WORDS))
    return mask_of(code, code.is_equal(together, code.splat(place, 32)))


def _begin_together(code, context, warp, block, place, active, pick) -> None:  # type: ignore[no-untyped-def]
    """Let lanes wait at the beginning of a basic block for those that have to be there too."""
    sync = field(code, block, Field.SYNC)
    with code.when(code.is_nonzero(sync)):
        together = code.call("synchronise", WORD, context, warp, block, place.value, active.value)
        active.set(together)
        going = code.build.append_basic_block("going")
        code.build.cbranch(code.is_nonzero(together), going, pick.head)
        code.build.position_at_end(going)


def _run_entries(code: Code, context: Value, warp: Value, block: Value, active: Value) -> None:
    entries = code.pointer(field(code, block, Field.CODE))
    with code.repeat(field(code, block, Field.COUNT)) as number:
        entry = code.at(entries, code.build.mul(number, code.value(8 * EntryField.COUNT_OF_WORDS, LONG)))

        def word(name: EntryField) -> Value:
            return code.load(entry, 8 * name, LONG)

        guard = held(code, warp, word(EntryField.GUARD), word(EntryField.COMPLEMENT))
        lanes = code.build.and_(active, guard)
        with code.when(code.is_nonzero(lanes)):
            function = code.pointer(word(EntryField.FUNCTION))
            call = ir.CallInstr(
                code.build.block, _typed(function), [context, warp, code.pointer(word(EntryField.RECORD)), lanes]
            )
            code.build._insert(call)
