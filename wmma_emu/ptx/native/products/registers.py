# SPDX-License-Identifier: MIT
"""The registers of a row: their offsets in its record, and their values for all lanes."""

from collections.abc import Sequence

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.native.code import LONG, address, load, store
from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.values import Symbol
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.rows import WORD, NotNativeError
from wmma_emu.ptx.native.warp_layout import ALIGNMENT, WarpLayout, bytes_of
from wmma_emu.ptx.program.program import Operand, Register
from wmma_emu.ptx.widths import bits_of_type

_FULL = (1 << LANES) - 1


def offsets_of_sources(layout: WarpLayout, operands: Sequence[Operand | None], bits: int) -> list[int]:
    """Return the offset of each operand's values, which are ``bits`` wide."""
    return [_offset_of(layout, x, bits) for x in operands]


def _offset_of(layout: WarpLayout, operand: Operand | None, bits: int) -> int:
    if operand is None or (isinstance(operand, Register) and bits_of_type(operand.type) != bits):
        raise NotNativeError(f"an operand of a matrix instruction is not a value of {bits} bits")
    return layout.source(operand, f"b{bits}")


def offsets_of_targets(layout: WarpLayout, registers: Sequence[Register | None], bits: int) -> list[int]:
    """Return the offset of each register; a sink is memory that nothing reads."""
    return [layout.reserve(bytes_of(bits)) if x is None else _offset_of(layout, x, bits) for x in registers]


class Registers:
    """The registers of the row whose function a builder writes."""

    def __init__(self, builder: ir.IRBuilder, warp: ir.Value, record: ir.Value) -> None:
        self.builder, self.warp, self.record = builder, warp, record

    def place(self, number: "int | ir.Value") -> ir.Value:
        """Return the address of the register with a number in the record."""
        offset = load(self.builder, address(self.builder, self.record, number, 4), np.uint32)
        return address(self.builder, self.warp, offset.astype(np.int64).value)

    def read(self, first: "int | ir.Value", count: int, bits: int) -> list[Symbol]:
        """Return the values of all lanes of some registers, uint32 or uint64."""
        return [
            load(self.builder, self.place(x), f"u{bits // 8}", LANES, ALIGNMENT) for x in self._numbers(first, count)
        ]

    def write(self, first: "int | ir.Value", values: Sequence[Symbol]) -> None:
        """Replace the values of all lanes."""
        for x, value in zip(self._numbers(first, len(values)), values, strict=True):
            store(value, self.place(x), ALIGNMENT)

    def _numbers(self, first: "int | ir.Value", count: int) -> "list[int | ir.Value]":
        if isinstance(first, int):
            return list(range(first, first + count))
        return [self.builder.add(first, ir.Constant(LONG, i)) for i in range(count)]


def raise_flag(builder: ir.IRBuilder, context: ir.Value, flag: Flag) -> None:
    """Raise a flag in the context."""
    place = address(builder, context, int(Word.FLAGS), 8)
    store(load(builder, place, np.uint64) | np.uint64(flag), place)


def whole_warp(builder: ir.IRBuilder, context: ir.Value, mask: ir.Value) -> None:
    """Raise a flag and return, unless all lanes execute the instruction."""
    whole, part = builder.append_basic_block("whole"), builder.append_basic_block("part")
    builder.cbranch(builder.icmp_unsigned("==", mask, ir.Constant(WORD, _FULL)), whole, part)
    builder.position_at_end(part)
    raise_flag(builder, context, Flag.COLLECTIVE)
    builder.ret_void()
    builder.position_at_end(whole)
