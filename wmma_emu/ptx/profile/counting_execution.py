# SPDX-License-Identifier: MIT
"""An execution that counts: the warps and threads of each basic block, of guarded instructions and of branches."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.compile import BasicBlock, CompiledProgram
from wmma_emu.ptx.machine.control import Terminator
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.limits import Deadline
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.profile.counting import Counting
from wmma_emu.ptx.profile.counting_barriers import CountingBarriers, WarpTimes
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.lane_operations import Step
from wmma_emu.ptx.threads import Active


class CountingExecution(WaveExecution):
    """The threads of one wave; the executions of its basic blocks are counted."""

    def __init__(
        self, counting: Counting, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None
    ) -> None:
        times = WarpTimes(*state.shape[:2]) if counting.counts_waits and state.shape[1] > 1 else None
        blocks = {pc: _counting_block(counting, compiled, pc, x, times) for pc, x in compiled.basic_blocks.items()}
        super().__init__(replace(compiled, basic_blocks=blocks), state, deadline, order)
        if times is not None:
            self.barriers = CountingBarriers(state, self.scheduler, counting, times)


def _counting_block(
    counting: Counting, compiled: CompiledProgram, pc: int, block: BasicBlock, times: WarpTimes | None
) -> BasicBlock:
    """Make a basic block count its executions."""
    instructions = compiled.program.instructions[pc : pc + block.length]
    if not instructions:
        return block
    body = tuple(
        step if instruction.guard is None else _counting_step(counting, index, instruction, step)
        for index, (instruction, step) in enumerate(zip(instructions, block.body, strict=False), pc)
    )
    end, last = block.terminator, instructions[-1]
    if len(block.body) < block.length and last.guard is not None:
        end = _counting_guard(counting, pc + block.length - 1, last, end)
    return block._replace(body=body, terminator=_counting_terminator(counting, compiled, pc, block.length, end, times))


def _counting_terminator(
    counting: Counting, compiled: CompiledProgram, pc: int, length: int, end: Terminator, times: WarpTimes | None
) -> Terminator:
    """Count the warps and threads that execute a basic block, at its end."""
    waits = pc + length - 1 in compiled.synchronising
    executions = counting.executions_of(pc, length)

    def counted(execution: ControlState, active: Active) -> None:
        state = execution.state
        arrived = active
        if waits:  # lanes that have waited for others come here again
            arrived = (state.live if active is None else np.broadcast_to(active, state.shape)) & ~execution.at_warp()
        if arrived is None or arrived is state.live:
            executions.everyone(state.live)
        else:
            warps = executions.some(np.broadcast_to(arrived, state.shape), state.live)
            if times is not None:
                times.advance(warps, length)
        end(execution, active)

    return counted


def _counting_step(counting: Counting, index: int, instruction: PtxInstruction, step: Step) -> Step:
    """Count the threads whose guard holds."""

    def counted(state: State, active: Active) -> None:
        counting.guarded(index, _holding(state, instruction, active))
        step(state, active)

    return counted


def _counting_guard(counting: Counting, index: int, instruction: PtxInstruction, end: Terminator) -> Terminator:
    """Count the threads whose guard holds, and where a branch sends the threads of a warp."""
    is_branch = instruction.mnemonic == "bra"

    def counted(execution: ControlState, active: Active) -> None:
        state = execution.state
        taken = _holding(state, instruction, active)
        threads = counting.guarded(index, taken)
        if is_branch:
            participants = state.live if active is None else np.broadcast_to(active, state.shape)
            others = participants & ~taken
            jumps, stays = taken.any(axis=-1), others.any(axis=-1)
            counting.add(
                index, branches=int(np.count_nonzero(jumps | stays)),
                divergent_branches=int(np.count_nonzero(jumps & stays)), threads_taken=threads,
                threads_not_taken=int(np.count_nonzero(others)),
            )  # fmt: skip
        end(execution, active)

    return counted


def _holding(state: State, instruction: PtxInstruction, active: Active) -> NDArray[np.bool_]:
    """Return the active threads whose guard holds, without a check of whether it is initialised."""
    participants = state.live if active is None else np.broadcast_to(active, state.shape)
    return np.asarray(participants & state.read(instruction.guard, "pred"))
