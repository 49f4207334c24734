# SPDX-License-Identifier: MIT
"""Terminators of basic blocks: fall through, branch, call, barrier, exit."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.machine.barriers import decode_barrier
from wmma_emu.ptx.machine.choices import choice_at, undecided
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.driver_calls import driver_call
from wmma_emu.ptx.program.program import Immediate, KernelProgram, LabelTarget, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active

Terminator = Callable[[ControlState, Active], None]
"""A function that sends the active threads on from the end of a basic block."""


def fall_through(pc: int) -> Terminator:
    """Return a terminator that continues with the basic block at a pc."""
    return lambda execution, active: execution.scheduler.jump(active, pc)


def guarded_threads(state: State, instruction: PtxInstruction, active: Active) -> Active | Literal[False]:
    """Return the active threads whose guard holds.

    The result is a mask, ``active`` itself if the guard holds in all of them, or False if it holds in no thread.
    """
    guard = instruction.guard
    if guard is None:
        return active
    if guard.register.index in state.watched:
        state.require_defined(instruction, guard, active, "the guard")
    holds = state.read(guard, "pred")
    if holds.all():
        return active
    taken = holds if active is None else holds & active
    if not taken.any():
        return False
    if active is not None and np.array_equal(taken, active):
        return active
    return taken


def branch_of(instruction: PtxInstruction, pc: int, program: KernelProgram | None = None) -> Terminator:
    """Make the terminator of ``bra``.

    Threads whose guard holds jump to the label; threads whose guard is undefined jump to the point where the paths meet
    again. Without a program this point is not known, and an undefined guard is a finding.
    """
    target = instruction.operands[0]
    if not isinstance(target, LabelTarget):
        raise UnsupportedInstructionError(
            f"line {instruction.line}: the target of {instruction.opcode} must be a label"
        )
    target_pc = target.index
    choice = None if program is None else choice_at(program, pc)

    def branch(execution: ControlState, active: Active) -> None:
        if choice is not None:
            lost = undecided(execution.state, instruction, choice.registers, active)
            if lost is not None:
                holds = execution.state.read(instruction.guard, "pred")
                execution.scheduler.jump_indirect(
                    active, np.where(lost, choice.join, np.where(holds, target_pc, pc + 1))
                )
                return
        taken = guarded_threads(execution.state, instruction, active)
        if taken is active:
            execution.scheduler.jump(active, target_pc)
        elif taken is None or taken is False:
            execution.scheduler.jump(active, pc + 1)
        else:
            execution.scheduler.diverge(active, taken, target_pc, pc + 1)

    return branch


def _branch_indexed(instruction: PtxInstruction, pc: int) -> Terminator:
    """Make the terminator of ``brx.idx``: each thread jumps to the label that its index selects."""
    targets = np.array(instruction.targets, np.int32)
    index = instruction.operands[0]

    def branch(execution: ControlState, active: Active) -> None:
        state = execution.state
        state.require_defined(instruction, index, active, "the index of the branch")
        chosen = state.read(index, "u32")
        wrong = (chosen >= len(targets)) & (state.live if active is None else active)
        note(
            state, instruction, "illegal operand", wrong,
            lambda *thread: f"the index {np.broadcast_to(chosen, state.shape)[thread]} is outside the list of targets; "
            f"legal values are 0 to {len(targets) - 1}",
        )  # fmt: skip
        pcs = targets[np.minimum(chosen, len(targets) - 1)]
        if pcs.size == 1:
            execution.scheduler.jump(active, int(pcs.flat[0]))
        else:
            execution.scheduler.jump_indirect(active, pcs)

    return branch


def _exit(instruction: PtxInstruction, pc: int) -> Terminator:
    """Make the terminator of ``exit``, and of ``ret`` of a kernel."""
    return lambda execution, active: execution.exit(active)


def _return(instruction: PtxInstruction, pc: int) -> Terminator:
    """Make the terminator of ``ret`` of a function: each thread returns to its caller, and the results are copied
    back.
    """

    def back(execution: ControlState, active: Active) -> None:
        for call_pc, participants in execution.calls.leave(active):
            execution.scheduler.jump(participants, call_pc + 1)

    return back


def _call(instruction: PtxInstruction, pc: int) -> Terminator:
    """Make the terminator of ``call``: the arguments are copied, and the threads jump to the function."""
    callee = instruction.callee
    if callee is None:
        return driver_call(instruction, pc) if instruction.callee_name else _call_address(instruction, pc)

    def call(execution: ControlState, active: Active) -> None:
        if execution.calls.enter(instruction, active, pc):
            execution.scheduler.jump(active, callee)
        else:
            execution.abort()

    return call


def _call_address(instruction: PtxInstruction, pc: int) -> Terminator:
    """Make the terminator of a ``call`` to an address: each thread jumps to its own function."""

    def call(execution: ControlState, active: Active) -> None:
        starts = execution.calls.enter_addressed(instruction, active, pc)
        if starts is None:
            execution.abort()
        else:
            execution.scheduler.jump_indirect(active, starts)

    return call


def _barrier(instruction: PtxInstruction, pc: int) -> Terminator:
    """Make the terminator of ``bar`` and ``barrier``.

    A cluster consists of one block, so ``barrier.cluster.wait`` alone counts its threads.
    """
    if "cluster" in instruction.modifiers and "arrive" in instruction.modifiers:
        relaxed = "relaxed" in instruction.modifiers

        def arrive(execution: ControlState, active: Active) -> None:
            execution.barriers.arrive_at_cluster_barrier(active, relaxed=relaxed)
            execution.scheduler.jump(active, pc + 1)

        return arrive
    try:
        decoded = decode_barrier(instruction)
    except ValueError:
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {instruction.opcode} with {len(instruction.operands)} operands is not a form of "
            "barrier; legal forms are bar.sync a{, b}, bar.arrive a, b and bar.red.{popc, and, or} d, a{, b}, c"
        ) from None
    operands = tuple(x for x in (decoded.number, decoded.threads, decoded.source) if x is not None)

    def barrier(execution: ControlState, active: Active) -> None:
        for operand in operands:
            if not isinstance(operand, Immediate):
                execution.state.require_defined(instruction, operand, active, "an operand of the barrier")
        execution.barriers.arrive(decoded, active, pc + 1)

    return barrier


def _trap(instruction: PtxInstruction, pc: int) -> Terminator:
    """Make the terminator of ``trap``: the launch fails."""

    def trap(execution: ControlState, active: Active) -> None:
        state = execution.state
        note(state, instruction, "trap", state.live if active is None else active, "the kernel executes trap and stops")
        execution.abort()

    return trap


CONTROL: dict[str, Callable[[PtxInstruction, int], Terminator]] = {
    "bra": branch_of,
    "brx": _branch_indexed,
    "call": _call,
    "exit": _exit,
    "ret": _return,
    "trap": _trap,
    "bar": _barrier,
    "barrier": _barrier,
}
"""Makers of terminators by mnemonic: each takes the instruction and its pc."""
