# SPDX-License-Identifier: MIT
"""Rows of wmma.load and wmma.store: tiles in memory, moved by the vectors of `wmma_emu.ptx.steps.wmma_tiles`."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.native.code import address, store
from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.values import Symbol
from wmma_emu.ptx.native.body import Bits, Body, native
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.access import access, record_lane, slot_of
from wmma_emu.ptx.native.memory.loads_and_stores import SPACES, in_spaces
from wmma_emu.ptx.native.memory.operands import address_of, addresses, read, word
from wmma_emu.ptx.native.memory.stamps import flag_if, own_stamp, state_of
from wmma_emu.ptx.native.memory.state import Checks, checks_of
from wmma_emu.ptx.native.products.fragments import CHUNK, from_memory, picked_words
from wmma_emu.ptx.native.products.registers import Registers, offsets_of_sources, offsets_of_targets, whole_warp
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.matrix_operands import sources_of, targets_of
from wmma_emu.ptx.steps.wmma_steps import TileTransfer
from wmma_emu.ptx.steps.wmma_tiles import Tile

_SLOT, _ADDRESS, _STRIDE, _DATA = 0, 1, 4, 5
"""The words of a record: the slot of the last range, the address, the stride's register, the fragment's registers."""

_FULL = (1 << LANES) - 1


def transfer_row(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Make the row of wmma.load or wmma.store."""
    transfer = TileTransfer.of(instruction, context)
    tile, kind = transfer.tile, "read" if instruction.modifiers[0] == "load" else "write"
    bits = tile.layout.register_bits
    if kind == "read":
        registers = offsets_of_targets(
            layout, targets_of(instruction, transfer.vector, tile.layout.num_registers), bits
        )
    else:
        found = sources_of(instruction, transfer.vector, tile.layout.num_registers)
        registers = offsets_of_sources(layout, found, bits)
    place = address_of(layout, transfer.address)
    stride = 0 if transfer.stride is None else offsets_of_sources(layout, [transfer.stride], 32)[0]
    space = SPACES[transfer.space] if transfer.space else "generic"
    code = _Transfer(tile, space, kind, place.bits, transfer.stride is not None, checks_of(layout.program))
    name = f"{instruction.opcode} {code.name}"
    record = (slot_of(instruction.line), *place.words, stride, *registers)
    return Row(name, lambda module: native(name, module, code.write), record)


@dataclass(frozen=True, slots=True, eq=False)
class _Transfer:
    """The code of a wmma.load ("read") or wmma.store ("write")."""

    tile: Tile
    space: str
    kind: str
    bits: int
    has_stride: bool
    checks: Checks

    @property
    def name(self) -> str:
        """A name that distinguishes this code from that of the same instruction in other kernels and on other chips."""
        tile = _hash_of(self.tile)
        return f"{self.space} {self.bits} {self.has_stride} {self.checks.granule} {self.checks.atomics:d} {tile}"

    def write(self, body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
        """Write the body of the function."""
        whole_warp(body.builder, context.value, mask.value)
        pointers = addresses(body, warp, record, _ADDRESS, self.bits)
        strides = read(body, warp, word(record, _STRIDE), 32) if self.has_stride else None
        first, distance = self._checked(body, context, pointers, strides)
        registers = Registers(body.builder, warp.value, record.value)
        image = body.variable(ir.IntType(8), self.tile.tile_bytes, alignment=64)
        if self.kind == "write":
            self._write_image(body.builder, image.value, registers)
        starts = np.arange(self.tile.tile_bytes // self.tile.vector_bytes) * self.tile.vector_bytes
        line = self.tile.extent * self.tile.layout.element_bits // 8
        each = body.variable(LONG, LANES, alignment=64)
        for number, of_pass in enumerate(starts.reshape(-1, LANES)):
            of_line, rest = (body.constant(pointers.type, x.tolist()) for x in divmod(of_pass, line))
            each.store(first.repeated(LANES) + of_line * distance.repeated(LANES) + rest, 64)
            self._move(body, context, warp, record, each, image.at(number * LANES * self.tile.vector_bytes))
        if self.kind == "read":
            registers.write(_DATA, self._read_image(body.builder, image.value))

    def _checked(self, body: Body, context: Bits, pointers: Bits, strides: Bits | None) -> tuple[Bits, Bits]:
        """Check the pointer and the stride; return the pointer, and the bytes between lines, or leave the function."""
        tile, builder = self.tile, body.builder
        first = Bits(body, builder.extract_element(pointers.value, ir.Constant(WORD, 0)))
        wrong = pointers.differs(first.repeated(LANES)).any()
        distance = body.constant(LONG, tile.extent * tile.layout.element_bits // 8)
        if strides is not None:
            stride = Bits(body, builder.extract_element(strides.value, ir.Constant(WORD, 0)))
            wrong = wrong | strides.differs(stride.repeated(LANES)).any()
            wrong = wrong | (stride & tile.stride_multiple - 1).differs(0) | (stride < tile.extent)
            distance = stride.cast(64) * tile.layout.element_bits >> 3
        misaligned = (first & tile.pointer_bytes - 1).differs(0)
        flag_if(body, wrong, context, Flag.UNSUPPORTED)
        flag_if(body, misaligned, context, Flag.ALIGNMENT)
        with body.when(wrong | misaligned, likely=False):
            body.give()
        return first, distance

    def _move(self, body: Body, context: Bits, warp: Bits, record: Bits, each: Bits, image: Bits) -> None:
        """Move one vector of each lane."""
        hosts = body.variable(POINTER, LANES, alignment=64)
        state, size = state_of(context), self.tile.vector_bytes
        slot = state.at(word(record, _SLOT))
        vector = ir.VectorType(ir.IntType(8), size)
        for space, lanes in in_spaces(body, each, body.constant(WORD, _FULL), self.space, ("shared",)):
            good = access(
                body, context, warp, each, hosts, slot, lanes, space=space, size=size, alignment=size, kind=self.kind,
                granule=self.checks.granule, atomics=self.checks.atomics,
            )  # fmt: skip
            own = own_stamp(body, state, warp)
            with body.lanes(good) as lane:
                host, place = hosts.at(lane << 3).load(POINTER, 8), image.at(lane * size)
                if self.kind == "read":
                    place.store(host.load(vector))
                else:
                    again = record_lane(
                        body, context, slot, each.at(lane << 3).load(LONG, 8), own + lane, space=space, size=size,
                        granule=self.checks.granule,
                    )  # fmt: skip
                    flag_if(body, again, context, Flag.RACE)
                    host.store(place.load(vector))

    def _read_image(self, builder: ir.IRBuilder, image: ir.Value) -> list[Symbol]:
        """Return the registers from a tile in memory, line after line."""
        tile, found = self.tile, []
        chunks: dict[int, Symbol] = {}
        width, bits = tile.unit.itemsize * 8, tile.layout.register_bits
        for sources in tile.sources:
            units = sources.reshape(LANES, -1).T
            parts = [from_memory(builder, image, x, tile.unit, chunks).astype(f"u{bits // 8}") for x in units]
            register: Any = parts[0]
            for i, part in enumerate(parts[1:], 1):
                register = register | part << (i * width)
            found.append(register)
        return found * (tile.layout.num_registers // tile.num_distinct)

    def _write_image(self, builder: ir.IRBuilder, image: ir.Value, registers: Registers) -> None:
        """Write the registers to a tile in memory, line after line."""
        tile = self.tile
        words = registers.read(_DATA, tile.num_distinct, tile.layout.register_bits)
        units = [x.view(tile.unit) for x in words]
        register, position = np.divmod(tile.owners, units[0].size)
        for start in range(0, len(register), CHUNK):
            some = slice(start, start + CHUNK)
            part = picked_words(units, register[some], position[some])
            store(part, address(builder, image, start, tile.unit.itemsize), CHUNK * tile.unit.itemsize)


def _hash_of(tile: Tile) -> str:
    """Return a name of the layout of a tile: its order, and the places of its elements."""
    return sha256(tile.order.encode() + tile.layout.coords.tobytes()).hexdigest()[:16]
