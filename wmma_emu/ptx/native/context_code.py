# SPDX-License-Identifier: MIT
"""Pieces of native functions in LLVM's intermediate code: words of the context, masks of lanes, places of lanes."""

from llvmlite import ir

from wmma_emu.llvm.code import BIT, LONG, WORD, Code, Value
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import BlockField
from wmma_emu.ptx.native.warp_layout import PLACES

LANES_OF_WORDS = ir.VectorType(WORD, 32)
LANES_OF_BITS = ir.VectorType(BIT, 32)

EVERYONE = 0xFFFF_FFFF
"""The mask of all lanes."""


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


def field(code: Code, block: Value, name: BlockField) -> Value:
    """Load a word of a basic block."""
    return code.load(block, 8 * name, LONG)


def short_field(code: Code, block: Value, name: BlockField) -> Value:
    """Load a word of a basic block as 32 bits."""
    return code.load(block, 8 * name, WORD)


def mask_of(code: Code, bits: Value) -> Value:
    """Convert 32 bits to the mask of the lanes."""
    return code.build.bitcast(bits, WORD)


def bits_of(code: Code, mask: Value) -> Value:
    """Convert the mask of the lanes to 32 bits."""
    return code.build.bitcast(mask, LANES_OF_BITS)


def without(code: Code, mask: Value, lanes: Value) -> Value:
    """Return the lanes of a mask that are not in another one."""
    return code.build.and_(mask, code.build.not_(lanes))


def count_lanes(code: Code, mask: Value) -> Value:
    """Return the number of lanes of a mask, as 64 bits."""
    return code.long(code.call("llvm.ctpop.i32", WORD, mask))


def first_lane(code: Code, mask: Value) -> Value:
    """Return the number of the first lane of a mask that is not zero."""
    return code.call("llvm.cttz.i32", WORD, mask, code.value(1, BIT))


def first_value(code: Code, warp: Value, offset: Value, mask: Value) -> Value:
    """Load the 32-bit value of the first lane of a mask."""
    lane = code.long(first_lane(code, mask))
    return code.load(warp, code.build.add(offset, code.build.shl(lane, code.value(2, LONG))), WORD)


def lanes_with(code: Code, warp: Value, offset: Value, value: Value) -> Value:
    """Return the lanes that have a 32-bit value."""
    words = code.load(warp, offset, LANES_OF_WORDS, align=64)
    return mask_of(code, code.is_equal(words, code.splat(value, 32)))


def places_of(code: Code, warp: Value) -> Value:
    """Load the places of the lanes."""
    return code.load(warp, PLACES, LANES_OF_WORDS, align=64)


def send(code: Code, warp: Value, lanes: Value, places: Value) -> None:
    """Send the lanes of a mask to a place, or each to its own."""
    places = places if isinstance(places.type, ir.VectorType) else code.splat(places, 32)
    moved = code.build.select(bits_of(code, lanes), places, places_of(code, warp))
    code.store(warp, PLACES, moved, LANES_OF_WORDS, align=64)


def held(code: Code, warp: Value, offset: Value, complement: Value) -> Value:
    """Return the mask of the lanes whose guard holds."""
    return code.build.xor(code.load(warp, offset, WORD), code.build.trunc(complement, WORD))
