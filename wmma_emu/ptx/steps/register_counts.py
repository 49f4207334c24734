# SPDX-License-Identifier: MIT
"""``setmaxnreg``: a number of registers for the threads of a warpgroup, which changes no value."""

import numpy as np

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note, operands_of
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.matrix_operands import immediate_of

_LEAST, _MOST, _MULTIPLE = 24, 256, 8
"""The limits of the number (PTX ISA 9.1, setmaxnreg); ptxas 13.0 refuses others."""


def _setmaxnreg(instruction: PtxInstruction, context: CompileContext) -> Step:
    number = immediate_of(instruction, operands_of(instruction, 1)[0], "the number of registers")
    if not _LEAST <= number <= _MOST or number % _MULTIPLE:
        legal = f"a multiple of {_MULTIPLE} from {_LEAST} to {_MOST}"
        raise refusal(instruction, f"expects a number of registers that is {legal}, not {number}")

    decreases = "dec" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        warps = np.broadcast_to(state.live if active is None else active, state.shape).any(axis=-1)
        known = state.register_counts
        wrong = warps & (known > 0) & (known < number if decreases else known > number)
        note(
            state, instruction, "illegal operand", wrong[..., None] & state.live,
            lambda g, w, lane: f"{'decreases' if decreases else 'increases'} the number of registers to {number}, but "
            f"it is {known[g, w]} since the last setmaxnreg of this warp",
        )  # fmt: skip
        known[warps] = number

    return step


MACHINE_STEPS: dict[str, MachineStep] = {"setmaxnreg": _setmaxnreg}
"""The builder of the step."""
