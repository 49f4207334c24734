# SPDX-License-Identifier: MIT
"""Operands of rows: the offsets of registers and constants in the memory of a warp, and how code reads and writes them."""

from typing import NamedTuple

from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.constants import constant
from wmma_emu.ptx.memory.address_map import BASES
from wmma_emu.ptx.native.memory.body import BIT, Bits, Body
from wmma_emu.ptx.native.memory.stamps import pointer, state_of
from wmma_emu.ptx.native.memory.state import Field, symbols_of
from wmma_emu.ptx.native.rows import LONG, WORD, NotNativeError
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import AddressOperand, Immediate, Operand, Register, Symbol
from wmma_emu.ptx.widths import bits_of_type

NOWHERE = 0xFFFF_FFFF
"""Stands for the offset of the sink."""

FULL = 0xFFFF_FFFF


class Source(NamedTuple):
    """A value of every lane: its offset in the memory of a warp, and its bits."""

    offset: int
    bits: int


def source_of(layout: WarpLayout, operand: Operand | None, type_name: str) -> Source:
    """Return the place of a source operand of a type."""
    if isinstance(operand, Register):
        return Source(layout.offset_of(operand), bits_of_type(operand.type))
    bits = bits_of_type(type_name)
    if isinstance(operand, Immediate):
        return Source(layout.constant(int(constant(operand, type_name).item()), bits), bits)
    if isinstance(operand, Symbol) and operand.space in ("shared", "local", "param"):
        return Source(layout.constant(operand.offset, bits), bits)
    raise NotNativeError(f"{describe(operand)} as an operand of a memory instruction has no native code")


def target_of(layout: WarpLayout, operand: Operand | None) -> Source:
    """Return the place of a destination register; the sink has no place."""
    if operand is None:
        return Source(NOWHERE, 0)
    if not isinstance(operand, Register):
        raise NotNativeError(f"{describe(operand)} as a destination has no native code")
    return Source(layout.offset_of(operand), bits_of_type(operand.type))


class Address(NamedTuple):
    """An address operand: the bits of its base, 0 for a variable of the heap; and the words of a record."""

    bits: int
    words: tuple[int, int, int]


def address_of(layout: WarpLayout, operand: AddressOperand, space: str) -> Address:
    """Return the place of an address operand: the offset of its base, or the number of a variable, and its offset."""
    base, offset = operand.base, operand.offset % (1 << 64)
    low, high = offset & FULL, offset >> 32
    if isinstance(base, Register):
        return Address(bits_of_type(base.type), (layout.offset_of(base), low, high))
    if isinstance(base, Symbol) and base.space in ("global", "const"):
        return Address(0, (symbols_of(layout.program).index(base), low, high))
    if isinstance(base, Symbol) and base.space == "local" and layout.program.frames:
        raise NotNativeError("a local variable of a kernel with calls through addresses has no native code")
    if isinstance(base, Symbol) and base.space not in ("shared", "local", "param"):
        raise NotNativeError(f"an address in the state space {base.space} has no native code")
    start = base.offset if isinstance(base, Symbol) else base.value
    start += 0 if space or not isinstance(base, Symbol) else BASES[base.space]
    return Address(64, (layout.constant(start + offset, 64), 0, 0))


def word(record: Bits, index: int) -> Bits:
    """Load a word of the record, as 64 bits."""
    return record.at(4 * index).load(WORD, 4).cast(64)


def read(body: Body, warp: Bits, offset: Bits, bits: int) -> Bits:
    """Load a value of all lanes."""
    return warp.at(offset).load(ir.VectorType(ir.IntType(bits), LANES), 64)


def write(body: Body, warp: Bits, offset: Bits, value: Bits, mask: Bits) -> None:
    """Store a value of the lanes of a mask."""
    place = warp.at(offset)
    with body.either(mask.equals(FULL)) as (then, otherwise):
        with then:
            place.store(value, 64)
        with otherwise:
            lanes = mask.as_type(ir.VectorType(BIT, LANES))
            place.store(lanes.chosen(value, place.load(value.type, 64)), 64)


def write_predicate(warp: Bits, offset: Bits, value: Bits, mask: Bits) -> None:
    """Store a predicate of the lanes of a mask."""
    place = warp.at(offset)
    place.store((place.load(WORD, 4) & ~mask) | (value & mask), 4)


def addresses(body: Body, context: Bits, warp: Bits, record: Bits, first: int, bits: int) -> Bits:
    """Return the address of each lane, from three words of the record: `Address`."""
    offset = word(record, first + 1) | word(record, first + 2) << 32
    if bits == 0:
        table = pointer(state_of(context), Field.SYMBOLS)
        return (table.at(word(record, first) << 3).load(LONG, 8) + offset).repeated(LANES)
    base = read(body, warp, word(record, first), bits)
    return (base + offset.cast(bits).repeated(LANES)).cast(64)


