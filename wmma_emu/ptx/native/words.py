# SPDX-License-Identifier: MIT
"""Words of the context and of basic blocks, masks of lanes, and the next basic blocks of lanes, in native functions."""

from llvmlite import ir

from wmma_emu.ptx.native.body import BIT, Bits
from wmma_emu.ptx.native.control_words import BlockField
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import NEXT_BLOCKS, STEPS

LANES_OF_WORDS = ir.VectorType(WORD, 32)
LANES_OF_BITS = ir.VectorType(BIT, 32)


def word(context: Bits, index: int) -> Bits:
    """Load a word of the context."""
    return context.at(8 * index).load(LONG, 8)


def host(context: Bits, index: int) -> Bits:
    """Load a word of the context that is a host pointer."""
    return context.at(8 * index).load(POINTER, 8)


def put(context: Bits, index: int, value: Bits | int) -> None:
    """Store a word of the context."""
    context.at(8 * index).store(context.body.constant(LONG, value) if isinstance(value, int) else value, 8)


def add(context: Bits, index: int, value: Bits | int) -> None:
    """Add to a word of the context."""
    put(context, index, word(context, index) + value)


def add_steps(warp: Bits, count: Bits) -> None:
    """Add to the steps of a warp."""
    steps = warp.at(STEPS)
    steps.store(steps.load(LONG, 8) + count, 8)


def field(block: Bits, name: BlockField, kind: ir.Type = LONG) -> Bits:
    """Load a word of a basic block, or its lower half."""
    return block.at(8 * name).load(kind, 8)


def block_at(blocks: Bits, number: Bits) -> Bits:
    """Return the pointer to the basic block with a number."""
    return blocks.at(number.cast(64) * (8 * BlockField.COUNT_OF_WORDS))


def count_of(mask: Bits) -> Bits:
    """Return the number of lanes of a mask, 64 bits."""
    return mask.body.intrinsic("llvm.ctpop", mask).cast(64)


def first_value(warp: Bits, offset: Bits, mask: Bits) -> Bits:
    """Load the 32-bit value of the first lane of a mask that is not empty."""
    lane = mask.body.intrinsic("llvm.cttz", mask, mask.body.constant(BIT, 1)).cast(64)
    return warp.at(offset + (lane << 2)).load(WORD, 4)


def words_at(warp: Bits, offset: Bits | int) -> Bits:
    """Load the 32-bit values of all lanes."""
    return warp.at(offset).load(LANES_OF_WORDS, 64)


def lanes_with(warp: Bits, offset: Bits, value: Bits) -> Bits:
    """Return the lanes that have a 32-bit value."""
    return words_at(warp, offset).equals(value.repeated(32)).as_type(WORD)


def replace(warp: Bits, offset: Bits | int, lanes: Bits, values: Bits) -> None:
    """Store 32-bit values of the lanes of a mask."""
    kept = lanes.as_type(LANES_OF_BITS).chosen(values, words_at(warp, offset))
    warp.at(offset).store(kept, 64)


def send(warp: Bits, lanes: Bits, numbers: Bits) -> None:
    """Send the lanes of a mask to the basic block with a number, or each to its own."""
    replace(warp, NEXT_BLOCKS, lanes, numbers if isinstance(numbers.type, ir.VectorType) else numbers.repeated(32))


def held(warp: Bits, offset: Bits, complement: Bits) -> Bits:
    """Return the lanes for which a guard holds."""
    return warp.at(offset).load(WORD, 4) ^ complement.cast(32)
