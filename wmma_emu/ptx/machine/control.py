# SPDX-License-Identifier: MIT
"""How a fragment of a program ends: on to the next, a branch, a call, a barrier, the exit."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.machine.barriers import barrier_form
from wmma_emu.ptx.machine.choices import choice_at, undecided
from wmma_emu.ptx.machine.driver_calls import driver_call
from wmma_emu.ptx.machine.progress import Progress
from wmma_emu.ptx.program.program import Copy, Immediate, Instruction, KernelProgram, Target
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active

End = Callable[[Progress, Active], None]
"""Send the active threads on from the end of a fragment."""


def fall(place: int) -> End:
    """Go on to the fragment behind."""
    return lambda execution, active: execution.positions.go(active, place)


def guarded_threads(state: State, instruction: Instruction, active: Active) -> Active | Literal[False]:
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


def branch_of(instruction: Instruction, place: int, program: KernelProgram | None = None) -> End:
    """``bra``: those whose guard holds go to the label; those whose guard is undefined, to where the ways meet again.

    Without a program it is not known where that is: an undefined guard is a finding.
    """
    target = instruction.operands[0]
    if not isinstance(target, Target):
        raise UnsupportedInstructionError(f"line {instruction.line}: {instruction.opcode} goes to a label")
    there = target.index
    choice = None if program is None else choice_at(program, place)

    def branch(execution: Progress, active: Active) -> None:
        if choice is not None:
            lost = undecided(execution.state, instruction, choice.registers, active)
            if lost is not None:
                holds = execution.state.read(instruction.guard, "pred")
                execution.positions.send(active, np.where(lost, choice.join, np.where(holds, there, place + 1)))
                return
        taken = guarded_threads(execution.state, instruction, active)
        if taken is active:
            execution.positions.go(active, there)
        elif taken is None or taken is False:
            execution.positions.go(active, place + 1)
        else:
            execution.positions.part(active, taken, there, place + 1)

    return branch


def _branch_indexed(instruction: Instruction, place: int) -> End:
    """``brx.idx``: each thread goes to the label that its index names."""
    targets = np.array(instruction.targets, np.int32)
    index = instruction.operands[0]

    def branch(execution: Progress, active: Active) -> None:
        state = execution.state
        state.require_defined(instruction, index, active, "the index of a branch")
        chosen = state.read(index, "u32")
        wrong = (chosen >= len(targets)) & (state.live if active is None else active)
        note(
            state, instruction, "illegal operand", wrong,
            lambda *thread: f"the index {np.broadcast_to(chosen, state.shape)[thread]} names none of {len(targets)} "
            "labels",
        )  # fmt: skip
        places = targets[np.minimum(chosen, len(targets) - 1)]
        if places.size == 1:
            execution.positions.go(active, int(places.flat[0]))
        else:
            execution.positions.send(active, places)

    return branch


def _exit(instruction: Instruction, place: int) -> End:
    """``exit``, or ``ret`` of a kernel: the threads are done."""
    return lambda execution, active: execution.leave(active)


def _return(instruction: Instruction, place: int) -> End:
    """``ret`` of a function: each thread goes back to where it was called, which takes the results over."""

    def back(execution: Progress, active: Active) -> None:
        for call_place, who in execution.returns(active):
            call = execution.program.instructions[call_place]
            copy_bytes(execution.state, call, call.copies_out, who)
            execution.positions.go(who, call_place + 1)

    return back


def _call(instruction: Instruction, place: int) -> End:
    """``call``: the arguments are handed over, and the threads go to the function."""
    callee = instruction.callee
    if callee is None:
        return driver_call(instruction, place)

    def call(execution: Progress, active: Active) -> None:
        copy_bytes(execution.state, instruction, instruction.copies_in, active)
        execution.enter(active, place)
        execution.positions.go(active, callee)

    return call


def copy_bytes(state: State, instruction: Instruction, copies: tuple[Copy, ...], active: Active) -> None:
    """Hand arguments, or results, over in the local memory of each thread."""
    for copy in copies:
        first = np.arange(copy.bytes, dtype=np.uint64).reshape(-1, 1, 1, 1)
        values, undefined = state.memory.load(instruction, "local", first + np.uint64(copy.source), 1, 1, active)
        state.memory.store(instruction, "local", first + np.uint64(copy.target), values, active, undefined=undefined)


def _barrier(instruction: Instruction, place: int) -> End:
    """``bar`` and ``barrier``; a cluster is one of one block, whose ``wait`` counts the threads."""
    if "cluster" in instruction.modifiers and "arrive" in instruction.modifiers:
        relaxed = "relaxed" in instruction.modifiers

        def arrive(execution: Progress, active: Active) -> None:
            execution.barriers.arrive_of_cluster(active, relaxed=relaxed)
            execution.positions.go(active, place + 1)

        return arrive
    try:
        form = barrier_form(instruction)
    except ValueError:
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {instruction.opcode} with {len(instruction.operands)} operands is no barrier; "
            "there are bar.sync a{, b}, bar.arrive a, b and bar.red.{popc, and, or} d, a{, b}, c"
        ) from None
    operands = tuple(x for x in (form.number, form.threads, form.source) if x is not None)

    def barrier(execution: Progress, active: Active) -> None:
        for operand in operands:
            if not isinstance(operand, Immediate):
                execution.state.require_defined(instruction, operand, active, "an operand of a barrier")
        execution.barriers.arrive(form, active, place + 1)

    return barrier


def _trap(instruction: Instruction, place: int) -> End:
    """``trap``: the launch fails."""

    def trap(execution: Progress, active: Active) -> None:
        state = execution.state
        note(state, instruction, "trap", state.live if active is None else active, "the kernel stops here")
        execution.abort()

    return trap


CONTROL: dict[str, Callable[[Instruction, int], End]] = {
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
