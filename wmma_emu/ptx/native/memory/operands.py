# SPDX-License-Identifier: MIT
"""Operands of rows: their offsets in the memory of a warp, and how code reads and writes them."""

from typing import NamedTuple

from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.native.body import BIT, Bits, Body
from wmma_emu.ptx.native.rows import WORD, NotNativeError
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import AddressOperand, Operand, Register
from wmma_emu.ptx.widths import bits_of_type

NOWHERE = 0xFFFF_FFFF
"""Stands for the offset of the sink."""

FULL = 0xFFFF_FFFF


class Source(NamedTuple):
    """A value of every lane: its offset in the memory of a warp, and its bits."""

    offset: int
    bits: int


def source_of(layout: WarpLayout, operand: Operand | None, type_name: str) -> Source:
    """Return the location of a source operand of a type."""
    if isinstance(operand, Register):
        return Source(layout.offset_of(operand), bits_of_type(operand.type))
    if operand is None:
        raise NotNativeError("the sink as a source has no native code")
    return Source(layout.source(operand, type_name), bits_of_type(type_name))


def target_of(layout: WarpLayout, operand: Operand | None) -> Source:
    """Return the location of a destination register; the sink has no location."""
    if operand is None:
        return Source(NOWHERE, 0)
    if not isinstance(operand, Register):
        raise NotNativeError(f"{describe(operand)} as a destination has no native code")
    return Source(layout.offset_of(operand), bits_of_type(operand.type))


class Address(NamedTuple):
    """An address operand: the bits of its base, and the words of a record: `addresses`."""

    bits: int
    words: tuple[int, int, int]


def address_of(layout: WarpLayout, operand: AddressOperand) -> Address:
    """Return the location of an address operand: the offset of its base, and the operand's own offset."""
    base, offset = operand.base, operand.offset % (1 << 64)
    if isinstance(base, Register):
        bits, place = bits_of_type(base.type), layout.offset_of(base)
    else:
        bits, place = 64, layout.source(base, "b64")
    return Address(bits, (place, offset & FULL, offset >> 32))


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


def addresses(body: Body, warp: Bits, record: Bits, first: int, bits: int) -> Bits:
    """Return the address of each lane, from three words of the record; 32-bit registers wrap at 32 bits."""
    offset = word(record, first + 1) | word(record, first + 2) << 32
    base = read(body, warp, word(record, first), bits)
    return (base + offset.cast(bits).repeated(LANES)).cast(64)
