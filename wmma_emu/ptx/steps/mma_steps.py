# SPDX-License-Identifier: MIT
"""mma and mma.sp: D = A B + C on the registers of a warp."""

from typing import TYPE_CHECKING

import numpy as np

from wmma_emu.instructions import Operand as Letter
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.steps.collectives import executing, operands_of
from wmma_emu.ptx.steps.forms import Active, Array, Binding, BoundStep, MachineStep
from wmma_emu.ptx.steps.matrix_operands import (
    Bound,
    Metadata,
    bind,
    gathered,
    immediate_of,
    sources_of,
    targets_of,
    write_registers,
)

if TYPE_CHECKING:
    from wmma_emu.ptx.state import State

__all__ = ["MACHINE_STEPS"]

_LETTERS: tuple[Letter, ...] = ("a", "b", "c")


def _multiply(instruction: Instruction, binding: Binding) -> BoundStep:
    bound = bind(instruction.opcode, binding)
    row, matrix = bound.row, bound.matrix
    given = operands_of(instruction, 6 if row.is_sparse else 4)
    targets = targets_of(instruction, given[0], row.registers("d"))
    sources = [sources_of(instruction, x, row.registers(n)) for n, x in zip(_LETTERS, given[1:4], strict=True)]
    kinds = ["b64" if row.format(name).bits == 64 else "b32" for name in _LETTERS]
    metadata = None
    if row.is_sparse:
        metadata = Metadata.of(row, given[4], immediate_of(instruction, given[5], "the sparsity selector"))

    def step(state: "State", active: Active) -> None:
        warps = state.warps(executing(state, active))
        for name, operand in zip("ABC", given[1:4], strict=True):
            state.require_defined(instruction, operand, active, f"operand {name}")
        a, b, c = (gathered(state, warps, x, kind) for x, kind in zip(sources, kinds, strict=True))
        if metadata is None:
            d = matrix.execute(a, b, c, engine=bound.engine(warps.count))
        else:
            words, legal = metadata.read(state, instruction, warps, active)
            d = matrix.execute(a, b, c, metadata=words, selector=metadata.selector, engine=bound.engine(warps.count))
            if legal is not None:
                d = np.where(legal[:, None], d, _without_product(bound, c))
        write_registers(state, warps, targets, d, active)

    return BoundStep(step, bound.not_bit_exact)


def _without_product(bound: Bound, c: Array) -> Array:
    """D of a warp whose metadata is illegal: C where it has D's format, else zeros."""
    if bound.row.c == bound.row.d:
        return c
    return np.zeros((bound.row.registers("d"), 1, LANES), bound.matrix.d.register_dtype)


MACHINE_STEPS: dict[str, MachineStep] = {"mma": _multiply}
"""Builders of the steps by mnemonic."""
