# SPDX-License-Identifier: MIT
"""mma and mma.sp: D = A B + C on the registers of a warp, optionally with block scales."""

from dataclasses import replace

import numpy as np

from wmma_emu.instructions import Operand
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import executing, operands_of
from wmma_emu.ptx.steps.lane_operations import Active, Array, BoundStep, CompileContext, MachineStep
from wmma_emu.ptx.steps.loads import elements_of
from wmma_emu.ptx.steps.matrix_operands import (
    BoundProduct,
    Metadata,
    bind,
    gathered,
    immediate_of,
    sources_of,
    targets_of,
    write_registers,
)
from wmma_emu.ptx.steps.matrix_scales import OPERANDS_OF_SCALES, BlockScales
from wmma_emu.ptx.steps.undefined_products import undefined_product
from wmma_emu.warp.options import ExecuteOptions

_LETTERS: tuple[Operand, ...] = ("a", "b", "c")


def multiply(instruction: PtxInstruction, context: CompileContext) -> BoundStep:
    """Build the step of ``mma``, and of ``wmma.mma``, which has no metadata and scales."""
    bound = bind(instruction.opcode, context)
    entry, matrix = bound.entry, bound.matrix
    given = operands_of(instruction, 4 + 2 * entry.is_sparse + OPERANDS_OF_SCALES * entry.is_block_scaled)
    targets = targets_of(instruction, given[0], entry.registers("d"))
    sources = [sources_of(instruction, x, entry.registers(n)) for n, x in zip(_LETTERS, given[1:4], strict=True)]
    kinds = ["b64" if entry.format(name).bits == 64 else "b32" for name in _LETTERS]
    metadata = None
    if entry.is_sparse:
        one = elements_of(given[4])  # as for ptxas, a vector of one register is the register
        selector = immediate_of(instruction, given[5], "the sparsity selector")
        metadata = Metadata.of(entry, one[0] if len(one) == 1 else given[4], selector)
    block_scales = BlockScales.of(instruction, entry, given[-OPERANDS_OF_SCALES:]) if entry.is_block_scaled else None

    def step(state: State, active: Active) -> None:
        warps = state.warps(executing(state, active))
        for operand in given[1:4]:
            state.require_arrived(instruction, registers_in(operand), active)
        a, b, c = (gathered(state, warps, x, kind) for x, kind in zip(sources, kinds, strict=True))
        options = ExecuteOptions(engine=bound.engine)
        legal: list[Array | None] = []
        if metadata is not None:
            words, known = metadata.read(state, instruction, warps, active)
            options = replace(options, metadata=words, selector=metadata.selector)
            legal.append(known)
        if block_scales is not None:
            scales, known = block_scales.read(state, instruction, warps, active)
            options = replace(options, scale_a=scales["scale_a"], scale_b=scales["scale_b"])
            legal.append(known)
        d = matrix.execute_with(a, b, c, options)
        for known in legal:
            if known is not None:
                d = np.where(known[:, None], d, _without_product(bound, c))
        lost = undefined_product(state, bound, sources, kinds, active)
        write_registers(state, warps, targets, d, active, lost)

    return BoundStep(step, bound.not_bit_exact)


def _without_product(bound: BoundProduct, c: Array) -> Array:
    """Return D of a warp with illegal metadata or selectors: C if it has D's format, else zeros."""
    if bound.entry.c == bound.entry.d:
        return c
    return np.zeros((bound.entry.registers("d"), 1, LANES), bound.matrix.d.register_dtype)


MACHINE_STEPS: dict[str, MachineStep] = {"mma": multiply}
"""The builders of the steps, by mnemonic."""
