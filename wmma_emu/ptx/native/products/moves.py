# SPDX-License-Identifier: MIT
"""Rows of ldmatrix, stmatrix and movmatrix: matrices between shared memory and registers.

The bytes of a matrix are permuted to those of its registers by a constant, which the NumPy machine's functions compute
from the numbers of the bytes.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.native.code import address, store
from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.values import Symbol
from wmma_emu.ptx.memory.address_map import WINDOWS
from wmma_emu.ptx.native.body import Bits, Body, native
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.access import access, record_lane
from wmma_emu.ptx.native.memory.operands import address_of, addresses
from wmma_emu.ptx.native.memory.stamps import flag_if, own_stamp, state_of
from wmma_emu.ptx.native.memory.state import Checks, checks_of
from wmma_emu.ptx.native.products.fragments import from_memory
from wmma_emu.ptx.native.products.registers import Registers, offsets_of_sources, offsets_of_targets, whole_warp
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import Operand, PtxInstruction, Register
from wmma_emu.ptx.steps.addresses import address_operand, space_of
from wmma_emu.ptx.steps.collectives import operands_of
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.matrix_moves import in_order
from wmma_emu.ptx.steps.matrix_operands import sources_of, targets_of
from wmma_emu.warp.ldmatrix import fragments_of_rows
from wmma_emu.warp.matrix_moves_table import MatrixMove, lookup_move
from wmma_emu.warp.matrix_rows import ROW_BYTES
from wmma_emu.warp.stmatrix import rows_of_fragments

_ADDRESS, _DATA = 0, 3
"""The words of a record: the address, the registers."""


def load_row(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Make the row of ldmatrix."""
    move, _ = lookup_move("ldmatrix", in_order(instruction.opcode), context.arch)
    target, source = operands_of(instruction, 2)
    results = offsets_of_targets(layout, targets_of(instruction, target, move.num_registers), 32)
    return _moving(instruction, layout, move, source, results, _load)


def store_row(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Make the row of stmatrix."""
    move, _ = lookup_move("stmatrix", in_order(instruction.opcode), context.arch)
    target, source = operands_of(instruction, 2)
    elements = offsets_of_sources(layout, sources_of(instruction, source, move.num_registers), 32)
    return _moving(instruction, layout, move, target, elements, _store)


def _moving(
    instruction: PtxInstruction, layout: WarpLayout, move: MatrixMove, operand: Operand | None, registers: list[int],
    write: Any,
) -> Row:  # fmt: skip
    found = address_operand(instruction, operand, ("shared",))
    window = 0 if space_of(instruction, found).startswith("shared") else WINDOWS["shared"]
    place, checks = address_of(layout, found), checks_of(layout.program)
    name = f"{move.mnemonic} {place.bits} {window:x} {checks.granule} {checks.atomics:d}"
    body = partial(write, move=move, bits=place.bits, window=window, checks=checks)
    return Row(name, lambda module: native(name, module, body), (*place.words, *registers))


def _checked(
    body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, *, move: MatrixMove, bits: int, window: int,
    checks: Checks, kind: str,
) -> tuple[Bits, Bits]:  # fmt: skip
    """Check the rows' addresses; return the addresses and the host pointers, or leave the function."""
    whole_warp(body.builder, context.value, mask.value)
    each, hosts = body.variable(LONG, LANES, alignment=64), body.variable(POINTER, LANES, alignment=64)
    # An address outside the window of shared memory is out of bounds then.
    each.store(addresses(body, warp, record, _ADDRESS, bits) - window, 64)
    lanes = body.constant(WORD, (1 << move.num_addresses) - 1)
    good = access(
        body, context, warp, each, hosts, state_of(context), lanes, space="shared", size=ROW_BYTES,
        alignment=ROW_BYTES, kind=kind, granule=checks.granule, atomics=checks.atomics,
    )  # fmt: skip
    with body.when(good.differs(lanes), likely=False):
        body.give()
    return each, hosts


def _load(
    body: Body,
    context: Bits,
    warp: Bits,
    record: Bits,
    mask: Bits,
    *,
    move: MatrixMove,
    bits: int,
    window: int,
    checks: Checks,
) -> None:
    _, hosts = _checked(
        body, context, warp, record, mask, move=move, bits=bits, window=window, checks=checks, kind="read"
    )  # fmt: skip
    rows = body.variable(ir.IntType(8), ROW_BYTES * LANES, alignment=64)
    row = ir.VectorType(LONG, 2)
    with body.repeat(move.num_addresses) as lane:
        rows.at(lane << 4).store(hosts.at(lane << 3).load(POINTER, 8).load(row, 16), 16)
    Registers(body.builder, warp.value, record.value).write(_DATA, _fragments(body.builder, rows.value, move))


def _fragments(builder: ir.IRBuilder, rows: ir.Value, move: MatrixMove) -> list[Symbol]:
    """Return the registers of the lanes from rows of 16 bytes in memory."""
    unit = 2 if move.types == "b16" else 1
    found = []
    for register in _numbers_of_elements(move):
        elements = register[::unit] // unit
        if move.source_bits < 8:
            value = _narrow(builder, rows, elements, move.source_bits)
        else:
            value = from_memory(builder, rows, elements, f"u{unit}")
        found.append(value.view(np.uint32))
    return found


def _numbers_of_elements(move: MatrixMove) -> Any:
    """Return the number of the byte of memory that each byte of the registers is: (registers, 128).

    Elements narrower than a byte are counted as if they were bytes.
    """
    numbers = np.arange(move.count * move.rows * ROW_BYTES).reshape(move.count, move.rows, ROW_BYTES)
    whole = replace(move, source_bits=max(move.source_bits, 8))
    # Two passes, because a byte cannot hold every number.
    low, high = (fragments_of_rows(x.astype(np.uint8), whole).view(np.uint8) for x in (numbers, numbers >> 8))
    return low.astype(np.int64) + 256 * high.astype(np.int64)


def _narrow(builder: ir.IRBuilder, rows: ir.Value, elements: Any, bits: int) -> Any:
    """Return elements of 6 or 4 bits, a byte each; they fill the beginning of each row of 16 bytes."""
    row, first = elements // ROW_BYTES * ROW_BYTES, elements % ROW_BYTES * bits
    low, high = (
        from_memory(builder, rows, row + np.minimum(first // 8 + i, ROW_BYTES - 1), np.uint8).astype(np.uint16)
        for i in (0, 1)
    )
    pair: Any = low | high << np.uint16(8)
    return (pair >> (first % 8).astype(np.uint16) & np.uint16((1 << bits) - 1)).astype(np.uint8)


def _store(
    body: Body,
    context: Bits,
    warp: Bits,
    record: Bits,
    mask: Bits,
    *,
    move: MatrixMove,
    bits: int,
    window: int,
    checks: Checks,
) -> None:
    each, hosts = _checked(
        body, context, warp, record, mask, move=move, bits=bits, window=window, checks=checks, kind="write"
    )  # fmt: skip
    rows = body.variable(ir.IntType(8), ROW_BYTES * LANES, alignment=64)
    registers = Registers(body.builder, warp.value, record.value)
    _write_rows(body.builder, rows.value, registers.read(_DATA, move.num_registers, 32), move)
    state, row = state_of(context), ir.VectorType(LONG, 2)
    own = own_stamp(body, state, warp)
    with body.repeat(move.num_addresses) as lane:
        again = record_lane(
            body, context, state, each.at(lane << 3).load(LONG, 8), own + lane, space="shared", size=ROW_BYTES,
            granule=checks.granule,
        )  # fmt: skip
        flag_if(body, again, context, Flag.RACE)
        hosts.at(lane << 3).load(POINTER, 8).store(rows.at(lane << 4).load(row, 16), 16)


def _write_rows(builder: ir.IRBuilder, rows: ir.Value, registers: list[Symbol], move: MatrixMove) -> None:
    """Write rows of 16 bytes to memory from the registers of the lanes."""
    numbers = np.arange(4 * LANES * move.num_registers)
    low, high = (
        rows_of_fragments(x.astype(np.uint8).view(np.uint32).reshape(move.num_registers, LANES), move)
        for x in (numbers, numbers >> 8)
    )
    places = (low.astype(np.int64) + 256 * high.astype(np.int64)).reshape(move.count, -1)
    unit = 2 if move.types == "b16" else 1
    size = 4 * LANES * move.registers
    for number, matrix in enumerate(places):
        # A matrix is in its own registers.
        first = number * move.registers
        elements = matrix[::unit] // unit - number * size // unit
        words = registers[first].view(f"u{unit}")
        store(words.picked(elements), address(builder, rows, number, size), 16)


_TRANSPOSED = np.arange(64).reshape(8, 8).T.reshape(-1)
"""The half-word of a matrix, in the order of the registers, that each half-word of its transpose is."""


def transpose_row(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Make the row of movmatrix."""
    lookup_move("movmatrix", instruction.opcode, context.arch)
    target, source = operands_of(instruction, 2)
    if target is not None and not isinstance(target, Register):
        raise NotNativeError(f"{instruction.opcode}: the result is not a register")
    name = instruction.opcode
    record = (*offsets_of_sources(layout, [source], 32), *offsets_of_targets(layout, [target], 32))
    return Row(name, lambda module: native(name, module, _transpose), record)


def _transpose(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    whole_warp(body.builder, context.value, mask.value)
    registers = Registers(body.builder, warp.value, record.value)
    [words] = registers.read(0, 1, 32)
    registers.write(1, [words.view(np.uint16).picked(_TRANSPOSED).view(np.uint32)])
