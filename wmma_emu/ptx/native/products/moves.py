# SPDX-License-Identifier: MIT
"""Rows of ldmatrix, stmatrix and movmatrix: matrices between shared memory and registers."""

from functools import partial

import numpy as np
from llvmlite import ir

from wmma_emu.ptx.native.products.registers import Registers, offsets_of_sources, offsets_of_targets, whole_warp
from wmma_emu.ptx.native.rows import FUNCTION, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.steps.collectives import operands_of
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.warp.matrix_moves_table import lookup_move

_TRANSPOSED = np.arange(64).reshape(8, 8).T.reshape(-1)
"""The half-word of a matrix, in the order of the registers, that each half-word of its transpose is."""


def transpose_row(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    """Make the row of movmatrix."""
    lookup_move("movmatrix", instruction.opcode, context.arch)
    target, source = operands_of(instruction, 2)
    if target is not None and not isinstance(target, Register):
        raise NotNativeError(f"{instruction.opcode}: the result is not a register")
    record = (*offsets_of_sources(layout, [source], 32), *offsets_of_targets(layout, [target], 32))
    return Row(instruction.opcode, partial(_define_transpose, name=instruction.opcode), record)


def _define_transpose(module: ir.Module, name: str) -> ir.Function:
    function = ir.Function(module, FUNCTION, name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    context, warp, record, mask = function.args
    whole_warp(builder, context, mask)
    registers = Registers(builder, warp, record)
    [words] = registers.read(0, 1, 32)
    registers.write(1, [words.view(np.uint16).picked(_TRANSPOSED).view(np.uint32)])
    builder.ret_void()
    return function
