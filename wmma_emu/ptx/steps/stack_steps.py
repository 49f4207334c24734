# SPDX-License-Identifier: MIT
"""The steps of ``alloca``, ``stacksave`` and ``stackrestore``: local memory that lives until its function returns."""

import numpy as np

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import Immediate, PtxInstruction
from wmma_emu.ptx.program.stack_layout import FRAME_ALIGNMENT
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note, operands_of
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import written_register
from wmma_emu.ptx.threads import Array

_DEFAULT_ALIGNMENT = 8
"""PTX ISA 9.1, alloca: the alignment without the third operand."""


def _alloca(instruction: PtxInstruction, context: CompileContext) -> Step:
    target, size, *rest = operands_of(instruction, 2, 3)
    register = written_register(instruction, target)
    alignment = rest[0].value if rest and isinstance(rest[0], Immediate) else _DEFAULT_ALIGNMENT
    if alignment <= 0 or alignment & (alignment - 1):
        raise refusal(instruction, f"the alignment {alignment} is not a power of two")

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, size, active, "the size")
        stack = state.memory.stack
        participants = np.broadcast_to(state.live if active is None else active, state.shape)
        sizes = np.broadcast_to(state.read(size, "u64"), state.shape)
        start = _aligned(stack.top, alignment)
        over = participants & ~stack.has_room(start, sizes)
        note(
            state, instruction, "out of bounds", over,
            lambda *thread: f"the stack overflows: alloca of {int(sizes[thread])} bytes, and "
            f"{int(stack.counted[thread])} bytes are in use; the limit is {stack.limit} bytes (cudaLimitStackSize), "
            "which stack_bytes of the launch sets",
        )  # fmt: skip
        end = _aligned(start + np.where(over, np.uint64(0), sizes), FRAME_ALIGNMENT)
        stack.begin(participants & ~over, start & ~np.uint64(7), end - start)
        state.write(register, np.where(over, np.uint64(state.memory.local.size), start), active)
        stack.move(participants & ~over, end)

    return step


def _aligned(positions: Array, alignment: int) -> Array:
    return positions + np.uint64(alignment - 1) & ~np.uint64(alignment - 1)


def _stacksave(instruction: PtxInstruction, context: CompileContext) -> Step:
    (target,) = operands_of(instruction, 1)
    register = written_register(instruction, target)
    return lambda state, active: state.write(register, state.memory.stack.top.copy(), active)


def _stackrestore(instruction: PtxInstruction, context: CompileContext) -> Step:
    (source,) = operands_of(instruction, 1)

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, source, active, "the position in the stack")
        stack = state.memory.stack
        participants = np.broadcast_to(state.live if active is None else active, state.shape)
        saved = np.broadcast_to(state.read(source, "u64"), state.shape)
        wrong = participants & ((saved > stack.top) | (saved < stack.frame) | (saved % np.uint64(FRAME_ALIGNMENT) != 0))
        note(
            state, instruction, "illegal operand", wrong,
            lambda *thread: f"{int(saved[thread]):#x} is not a position that stacksave returned in this call",
        )  # fmt: skip
        stack.move(participants & ~wrong, saved)

    return step


MACHINE_STEPS: dict[str, MachineStep] = {"alloca": _alloca, "stacksave": _stacksave, "stackrestore": _stackrestore}
"""The builders of the steps of stack instructions, by mnemonic."""
