# SPDX-License-Identifier: MIT
"""How a fragment of a program ends: on to the next, a branch, a call, a barrier, the exit."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.machine.barriers import barrier_form
from wmma_emu.ptx.machine.choices import choice_at, undecided
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.driver_calls import driver_call
from wmma_emu.ptx.program.program import Immediate, KernelProgram, LabelTarget, ParameterCopy, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active

Terminator = Callable[[ControlState, Active], None]
"""Send the active threads on from the end of a fragment."""


def fall_through(pc: int) -> Terminator:
    """Go on to the fragment behind."""
    return lambda execution, active: execution.scheduler.jump(active, pc)


def guarded_threads(state: State, instruction: PtxInstruction, active: Active) -> Active | Literal[False]:
    """Find the active threads whose guard holds: a mask, ``active`` itself where all do, False where none does."""
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
    """``bra``: those whose guard holds go to the label; those whose guard is undefined, to where the ways meet again.

    Without a program it is not known where that is: an undefined guard is a finding.
    """
    target = instruction.operands[0]
    if not isinstance(target, LabelTarget):
        raise UnsupportedInstructionError(f"line {instruction.line}: {instruction.opcode} goes to a label")
    there = target.index
    choice = None if program is None else choice_at(program, pc)

    def branch(execution: ControlState, active: Active) -> None:
        if choice is not None:
            lost = undecided(execution.state, instruction, choice.registers, active)
            if lost is not None:
                holds = execution.state.read(instruction.guard, "pred")
                execution.scheduler.jump_indirect(active, np.where(lost, choice.join, np.where(holds, there, pc + 1)))
                return
        taken = guarded_threads(execution.state, instruction, active)
        if taken is active:
            execution.scheduler.jump(active, there)
        elif taken is None or taken is False:
            execution.scheduler.jump(active, pc + 1)
        else:
            execution.scheduler.diverge(active, taken, there, pc + 1)

    return branch


def _branch_indexed(instruction: PtxInstruction, pc: int) -> Terminator:
    """``brx.idx``: each thread goes to the label that its index names."""
    targets = np.array(instruction.targets, np.int32)
    index = instruction.operands[0]

    def branch(execution: ControlState, active: Active) -> None:
        state = execution.state
        state.require_defined(instruction, index, active, "the index of a branch")
        chosen = state.read(index, "u32")
        wrong = (chosen >= len(targets)) & (state.live if active is None else active)
        note(
            state, instruction, "illegal operand", wrong,
            lambda *thread: f"the index {np.broadcast_to(chosen, state.shape)[thread]} names none of {len(targets)} "
            "labels",
        )  # fmt: skip
        pcs = targets[np.minimum(chosen, len(targets) - 1)]
        if pcs.size == 1:
            execution.scheduler.jump(active, int(pcs.flat[0]))
        else:
            execution.scheduler.jump_indirect(active, pcs)

    return branch


def _exit(instruction: PtxInstruction, pc: int) -> Terminator:
    """``exit``, or ``ret`` of a kernel: the threads are done."""
    return lambda execution, active: execution.exit(active)


def _return(instruction: PtxInstruction, pc: int) -> Terminator:
    """``ret`` of a function: each thread goes back to where it was called, which takes the results over."""

    def back(execution: ControlState, active: Active) -> None:
        for call_pc, who in execution.pop_calls(active):
            call = execution.program.instructions[call_pc]
            copy_bytes(execution.state, call, call.copies_out, who)
            execution.scheduler.jump(who, call_pc + 1)

    return back


def _call(instruction: PtxInstruction, pc: int) -> Terminator:
    """``call``: the arguments are handed over, and the threads go to the function."""
    callee = instruction.callee
    if callee is None:
        return driver_call(instruction, pc)

    def call(execution: ControlState, active: Active) -> None:
        copy_bytes(execution.state, instruction, instruction.copies_in, active)
        execution.push_call(active, pc)
        execution.scheduler.jump(active, callee)

    return call


def copy_bytes(state: State, instruction: PtxInstruction, copies: tuple[ParameterCopy, ...], active: Active) -> None:
    """Hand arguments, or results, over in the local memory of each thread."""
    for copy in copies:
        first = np.arange(copy.bytes, dtype=np.uint64).reshape(-1, 1, 1, 1)
        values, undefined = state.memory.load(instruction, "local", first + np.uint64(copy.source), 1, 1, active)
        state.memory.store(instruction, "local", first + np.uint64(copy.target), values, active, undefined=undefined)


def _barrier(instruction: PtxInstruction, pc: int) -> Terminator:
    """``bar`` and ``barrier``; a cluster is one of one block, whose ``wait`` counts the threads."""
    if "cluster" in instruction.modifiers and "arrive" in instruction.modifiers:
        relaxed = "relaxed" in instruction.modifiers

        def arrive(execution: ControlState, active: Active) -> None:
            execution.barriers.arrive_of_cluster(active, relaxed=relaxed)
            execution.scheduler.jump(active, pc + 1)

        return arrive
    try:
        form = barrier_form(instruction)
    except ValueError:
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {instruction.opcode} with {len(instruction.operands)} operands is no barrier; "
            "there are bar.sync a{, b}, bar.arrive a, b and bar.red.{popc, and, or} d, a{, b}, c"
        ) from None
    operands = tuple(x for x in (form.number, form.threads, form.source) if x is not None)

    def barrier(execution: ControlState, active: Active) -> None:
        for operand in operands:
            if not isinstance(operand, Immediate):
                execution.state.require_defined(instruction, operand, active, "an operand of a barrier")
        execution.barriers.arrive(form, active, pc + 1)

    return barrier


def _trap(instruction: PtxInstruction, pc: int) -> Terminator:
    """``trap``: the launch fails."""

    def trap(execution: ControlState, active: Active) -> None:
        state = execution.state
        note(state, instruction, "trap", state.live if active is None else active, "the kernel stops here")
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
"""Ends of fragments by mnemonic: the instruction and its place to what sends the threads on."""
