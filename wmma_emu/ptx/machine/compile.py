# SPDX-License-Identifier: MIT
"""Compilation of a program to basic blocks: runs of instructions, and the terminator of each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.ptx.machine.choices import only_computes, undecided
from wmma_emu.ptx.machine.control import CONTROL, Terminator, branch_of, fall_through, guarded_threads
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.endless_waits import only_reads
from wmma_emu.ptx.machine.target_limits import TargetLimits
from wmma_emu.ptx.machine.value_steps import value_step
from wmma_emu.ptx.machine.warp_barrier import WarpBarrier
from wmma_emu.ptx.machine.warp_sync import WarpSync, is_bar_warp, required_lanes
from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.program.polling import Polls, polls_of
from wmma_emu.ptx.program.program import KernelProgram, Missing, NotBitExact, PtxInstruction
from wmma_emu.ptx.program.stack_layout import StackLayout, stack_layout
from wmma_emu.ptx.program.written import Written, written_by
from wmma_emu.ptx.state import State, carry_of
from wmma_emu.ptx.steps.availability import require_available, require_since
from wmma_emu.ptx.steps.lane_operations import BoundStep, CompileContext, Step
from wmma_emu.ptx.steps.legal_operands import require_legal
from wmma_emu.ptx.steps.not_modelled import require_modelled
from wmma_emu.ptx.steps.table import MACHINE_STEPS, NOTHING, VALUE_STEPS
from wmma_emu.ptx.threads import Active
from wmma_emu.suggestions import nearest, nearest_are

__all__ = ["BasicBlock", "CompiledProgram", "Missing", "NotBitExact", "compile_program"]


class BasicBlock(NamedTuple):
    """Instructions that every thread which starts at the first executes one after another."""

    body: tuple[Step, ...]
    terminator: Terminator
    length: int


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program that is ready to be executed.

    ``basic_blocks`` are keyed by the pc of their first instruction. ``synchronising`` are the instructions that whole
    warps execute together; ``spinning`` the pcs of basic blocks that read data that other threads may change,
    ``reading`` those that change only registers;
    ``exiting`` the pcs of those that only exit. ``written`` describes the memory that stores may write, ``polls`` the
    accesses that poll. ``stack`` has the frames of functions, None if every function has one place in local memory.
    """

    program: KernelProgram
    basic_blocks: dict[int, BasicBlock]
    synchronising: dict[int, WarpSync | WarpBarrier]
    spinning: frozenset[int]
    reading: frozenset[int]
    exiting: tuple[int, ...]
    not_bit_exact: tuple[NotBitExact, ...]
    missing: tuple[Missing, ...]
    written: Written
    polls: Polls
    stack: StackLayout | None = None


def compile_program(
    program: KernelProgram, binding: CompileContext, check_time: Callable[[], None] = lambda: None
) -> CompiledProgram:
    """Compile every instruction to a step, and cut the program into basic blocks; ``check_time`` may end it early.

    Instructions that are not modelled are listed in ``missing`` and left out: such a program must not be executed.
    """
    terminators: dict[int, Terminator] = {}
    steps: dict[int, Step] = {}
    synchronising: dict[int, WarpSync | WarpBarrier] = {}
    caveats = [NotBitExact(x.opcode, x.line, x.reason) for x in program.caveats]
    missing = [Missing(x.opcode, x.line, x.reason) for x in program.refusals]
    callees = {x.callee for x in program.instructions if x.callee is not None}
    callees.update(first for _, first, _ in program.functions[1:])
    target = TargetLimits(binding, _bind)
    first_function = min(callees, default=len(program.instructions))
    for pc, instruction in enumerate(program.instructions):
        check_time()
        try:
            require_modelled(instruction)
            require_available(instruction, binding.arch)
            terminator = None
            members = required_lanes(instruction)
            if instruction.mnemonic in CONTROL and not is_bar_warp(instruction):
                terminator = _control(instruction, pc, pc < first_function)
                if instruction.mnemonic == "bra" and instruction.guard is not None:
                    terminator = branch_of(instruction, pc, program)
            else:
                bound = _bind(instruction, binding)
                if bound.not_bit_exact is not None:
                    opcode = instruction.opcode.removeprefix("%")  # of a product that is computed as its factors
                    caveats.append(NotBitExact(opcode, instruction.line, bound.not_bit_exact))
                if members is None:
                    steps[pc] = _guarded(instruction, bound.step)
                else:
                    terminator = _then(bound.step, fall_through(pc + 1))
            require_legal(instruction)
            target.require(instruction, is_control=instruction.mnemonic in CONTROL)
            if terminator is not None and members is not None:
                kind = "barrier divergence" if members == "live" else "partial warp"
                synchronising[pc] = (
                    WarpBarrier(instruction, members, pc)
                    if is_bar_warp(instruction) and not isinstance(members, str)
                    else WarpSync(instruction, terminator, members, pc, kind)
                )
                terminator = synchronising[pc].__call__
            if terminator is not None:
                terminators[pc] = _guarded_terminator(instruction, pc, terminator)
        except UnsupportedInstructionError as error:
            missing.append(Missing(instruction.opcode, instruction.line, str(error)))
    last = len(program.instructions)
    for pc in [last - 1, *(x - 1 for x in callees)]:  # a thread that runs past the last instruction returns
        if 0 <= pc and pc in steps:
            terminators[pc] = _then(steps.pop(pc), _control(_RETURN, pc, pc < first_function))
    check_time()
    blocks = dict(_basic_blocks(program, steps, terminators, synchronising))
    blocks.setdefault(last, BasicBlock((), CONTROL["exit"](_RETURN, last), 0))
    spinning = frozenset(
        start
        for start, block in blocks.items()
        if any(may_spin(x) for x in program.instructions[start : start + block.length])
    )
    reading = frozenset(
        start
        for start, block in blocks.items()
        if block.length and all(map(only_reads, program.instructions[start : start + block.length]))
    )
    check_time()
    exiting = tuple(x for x, y in blocks.items() if not y.body and _is_exit(program, x, first_function))
    return CompiledProgram(
        program, blocks, synchronising, spinning, reading, exiting, tuple(caveats), tuple(missing),
        written_by(program), polls_of(program), stack_layout(program),
    )  # fmt: skip


_LONGEST_BASIC_BLOCK = 256
"""The largest number of instructions in a basic block."""

_RETURN = PtxInstruction("ret", "ret", (), (), None, 0, 0)


def _is_exit(program: KernelProgram, pc: int, first_function: int) -> bool:
    """Return whether a thread that reaches this pc exits immediately."""
    if pc >= len(program.instructions):
        return True
    found = program.instructions[pc]
    return found.guard is None and (found.mnemonic == "exit" or (found.mnemonic == "ret" and pc < first_function))


def may_spin(instruction: PtxInstruction) -> bool:
    """Return whether a loop around an instruction may wait for another thread."""
    words = {"volatile", "acquire", "relaxed", "mmio"}
    return instruction.mnemonic in ("atom", "mbarrier", "nanosleep") or not words.isdisjoint(instruction.modifiers)


def _control(instruction: PtxInstruction, pc: int, in_kernel: bool) -> Terminator:
    """Make the terminator of a control instruction; ``ret`` in the kernel itself exits."""
    mnemonic = "exit" if instruction.mnemonic == "ret" and in_kernel else instruction.mnemonic
    return CONTROL[mnemonic](instruction, pc)


def _bind(instruction: PtxInstruction, binding: CompileContext) -> BoundStep:
    """Compile an instruction that is not control flow."""
    mnemonic = instruction.mnemonic
    if mnemonic in VALUE_STEPS:
        operation = VALUE_STEPS[mnemonic](instruction)
        require_since(instruction.opcode, binding.arch, operation.first)
        by_values = value_step(instruction, operation, carry_of(binding.program))
        require_legal(instruction, operation)
        return BoundStep(by_values, operation.caveats.get(binding.arch.name))
    if mnemonic in MACHINE_STEPS:
        step = MACHINE_STEPS[mnemonic](instruction, binding)
        return step if isinstance(step, BoundStep) else BoundStep(step)
    if mnemonic in NOTHING or is_bar_warp(instruction):
        return BoundStep(lambda state, active: None)
    near = nearest(mnemonic, sorted({*VALUE_STEPS, *MACHINE_STEPS, *CONTROL, *NOTHING}), 3, 0.75)
    opcode = shorten(instruction.opcode, str)
    raise UnsupportedInstructionError(
        f"line {instruction.line}: {opcode} is not modelled" + (f". {nearest_are(near)}" if near else "")
    )


def _guarded(instruction: PtxInstruction, step: Step) -> Step:
    """Make a step that only the threads whose guard holds execute."""
    if instruction.guard is None:
        return step
    registers = writes(instruction) if only_computes(instruction) else ()

    def guarded(state: State, active: Active) -> None:
        if registers:
            lost = undecided(state, instruction, registers, active)
            if lost is not None:
                active = (state.live if active is None else active) & ~lost
        taken = guarded_threads(state, instruction, active)
        if not isinstance(taken, bool):
            step(state, taken)

    return guarded


def _guarded_terminator(instruction: PtxInstruction, pc: int, terminator: Terminator) -> Terminator:
    """Make a terminator that the threads whose guard does not hold skip."""
    if instruction.guard is None or instruction.mnemonic == "bra":
        return terminator

    def guarded(execution: ControlState, active: Active) -> None:
        taken = guarded_threads(execution.state, instruction, active)
        if taken is active:
            terminator(execution, active)
        elif taken is None or isinstance(taken, bool):
            execution.scheduler.jump(active, pc + 1)
        else:
            execution.scheduler.diverge(active, taken, pc, pc + 1)
            terminator(execution, np.broadcast_to(taken & execution.state.live, execution.state.shape))

    return guarded


def _then(step: Step, terminator: Terminator) -> Terminator:
    """Execute a step, then the terminator."""

    def both(execution: ControlState, active: Active) -> None:
        step(execution.state, active)
        terminator(execution, active)

    return both


def _basic_blocks(
    program: KernelProgram, steps: dict[int, Step], terminators: dict[int, Terminator], synchronising: Iterable[int]
) -> Iterator[tuple[int, BasicBlock]]:
    """Cut the program at branch targets, and where threads may have to wait."""
    last = len(program.instructions)
    starts = {*range(0, last, _LONGEST_BASIC_BLOCK), *synchronising, *(pc + 1 for pc in terminators)} | _targets(
        program
    )
    ordered = sorted(x for x in starts if x < last)
    for start, following in zip(ordered, [*ordered[1:], last], strict=True):
        terminator = terminators.get(following - 1)
        body = tuple(steps[i] for i in range(start, following) if i in steps)
        yield start, BasicBlock(body, fall_through(following) if terminator is None else terminator, following - start)


def _targets(program: KernelProgram) -> set[int]:
    """Return the targets of branches and calls."""
    found: set[int] = set()
    for instruction in program.instructions:
        labels = instruction.operands if instruction.mnemonic == "bra" else ()
        found.update(x for x in (getattr(label, "index", None) for label in labels) if x is not None)
        found.update(instruction.targets)
        if instruction.callee is not None:
            found.add(instruction.callee)
    return found
