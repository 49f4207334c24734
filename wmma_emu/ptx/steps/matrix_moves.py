# SPDX-License-Identifier: MIT
"""ldmatrix, stmatrix and movmatrix: 8 x 8 and similar matrices between shared memory and registers."""

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.definedness.undefined import Undefined, origin_of_warp
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, space_of
from wmma_emu.ptx.steps.collectives import (
    LANE,
    defined_addresses,
    executing,
    operands_of,
    read_registers,
)
from wmma_emu.ptx.steps.lane_operations import Active, Array, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.ptx.steps.matrix_operands import sources_of, targets_of
from wmma_emu.warp.ldmatrix import fragments_of_rows
from wmma_emu.warp.matrix_moves_table import MatrixMove, lookup_move
from wmma_emu.warp.matrix_rows import ROW_BYTES
from wmma_emu.warp.stmatrix import rows_of_fragments

_WORD_BYTES = 4
_WORDS = ROW_BYTES // _WORD_BYTES


@cache
def _lanes(count: int) -> NDArray[np.bool_]:
    return LANE < count


def _addressing(move: MatrixMove, active: Active) -> Active:
    if move.num_addresses == LANES:
        return active
    lanes = _lanes(move.num_addresses)
    return lanes if active is None else active & lanes


def in_order(opcode: str) -> str:
    """Return an opcode with the shape first, as in the manual; ptxas also accepts CUTLASS's ``.x4.m8n8``."""
    return re.sub(r"\.(x\d+)(\.trans)?\.(m\d+n\d+)", r".\3.\1\2", opcode)


def _load(instruction: PtxInstruction, context: CompileContext) -> Step:
    move, _ = lookup_move("ldmatrix", in_order(instruction.opcode), context.arch)
    target, source = operands_of(instruction, 2)
    address = address_operand(instruction, source, ("shared",))
    results = targets_of(instruction, target, move.num_registers)
    space = space_of(instruction, address)

    def step(state: State, active: Active) -> None:
        lanes = _addressing(move, executing(state, active))
        where = defined_addresses(state, instruction, address, lanes)
        values, undefined = state.memory.load(
            instruction, space, where, _WORD_BYTES, _WORDS, lanes, alignment=ROW_BYTES
        )  # fmt: skip
        registers = fragments_of_rows(_rows(values, move), move)
        lost: list[Undefined | None] = [None] * len(results)
        if undefined is not None:
            origin = origin_of_warp(undefined)
            lost = [Undefined(x, origin) for x in fragments_of_rows(_rows(undefined.bits, move), move)]
        for register, value, bits in zip(results, registers, lost, strict=True):
            state.write(register, value, active, bits)

    return step


def _rows(words: Array, move: MatrixMove) -> NDArray[np.uint8]:
    """Return rows of 16 bytes, (blocks, warps, count, rows, 16), from the lanes' words, (4, blocks, warps, 32)."""
    shape = (*words.shape[1:-1], LANES, _WORDS)
    rows = np.empty(shape, np.uint32)
    rows[...] = np.moveaxis(words, 0, -1)
    used = rows if move.num_addresses == LANES else np.ascontiguousarray(rows[..., : move.num_addresses, :])
    return used.view(np.uint8).reshape(*shape[:-2], move.count, move.rows, ROW_BYTES)


def _store(instruction: PtxInstruction, context: CompileContext) -> Step:
    move, _ = lookup_move("stmatrix", in_order(instruction.opcode), context.arch)
    target, source = operands_of(instruction, 2)
    address = address_operand(instruction, target, ("shared",))
    elements = sources_of(instruction, source, move.num_registers)
    space = space_of(instruction, address)

    def step(state: State, active: Active) -> None:
        lanes = _addressing(move, executing(state, active))
        where = defined_addresses(state, instruction, address, lanes)
        state.require_arrived(instruction, registers_in(source), active)
        values = _words(read_registers(state, elements, "b32"), move)
        undefined = state.undefined_of(elements, values.dtype, active)
        if undefined is not None:
            bits = np.broadcast_to(undefined.bits, (len(elements), *state.shape))
            undefined = Undefined(_words(bits, move), origin_of_warp(undefined)[None])
        state.memory.store(instruction, space, where, values, lanes, alignment=ROW_BYTES, undefined=undefined)

    return step


def _words(registers: Array, move: MatrixMove) -> Array:
    """Return the four words that each lane stores, (4, blocks, warps, 32), from the registers of the fragments."""
    rows = rows_of_fragments(registers, move)
    words = rows.reshape(*registers.shape[1:-1], move.num_addresses, ROW_BYTES).view(np.uint32)
    out = np.zeros((_WORDS, *registers.shape[1:-1], LANES), np.uint32)
    out[..., : move.num_addresses] = np.moveaxis(words, -1, 0)
    return out


def _transpose(instruction: PtxInstruction, context: CompileContext) -> Step:
    lookup_move("movmatrix", instruction.opcode, context.arch)
    target, source = operands_of(instruction, 2)
    if target is not None and not isinstance(target, Register):
        message = f"{instruction.opcode} expects a register as its result, not {describe(target)}"
        raise UnsupportedInstructionError(message)
    require_values(instruction, source)

    def step(state: State, active: Active) -> None:
        state.require_arrived(instruction, registers_in(source), active)
        value = state.read(source, "b32")
        undefined = state.undefined_in(source, value.dtype, active)
        if undefined is not None:
            undefined = Undefined(_transposed(undefined.bits), origin_of_warp(undefined))
        state.write(target, _transposed(value), active, undefined)

    return step


def _transposed(words: Array) -> Array:
    shape = (*words.shape[:-1], LANES)
    halves = np.ascontiguousarray(np.broadcast_to(words, shape)).view("<u2").reshape(*shape[:-1], 8, 8)
    columns: Array = np.ascontiguousarray(halves.swapaxes(-1, -2)).view("<u4").reshape(shape)
    return columns


MACHINE_STEPS: dict[str, MachineStep] = {"ldmatrix": _load, "stmatrix": _store, "movmatrix": _transpose}
"""The builders of the steps, by mnemonic."""
