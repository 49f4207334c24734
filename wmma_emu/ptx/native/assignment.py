# SPDX-License-Identifier: MIT
"""The registers that may be uninitialised when an instruction reads them, by an analysis of the paths to it.

A register counts as defined if every path to the instruction has written it with values that are defined themselves.
The machine follows the others in masks while the kernel runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from wmma_emu.ptx.program.flow import READS_FIRST, reads, registers_in, writes
from wmma_emu.ptx.program.program import Immediate, KernelProgram, PtxInstruction, Register
from wmma_emu.ptx.steps.loads import elements_of
from wmma_emu.ptx.steps.table import VALUE_STEPS
from wmma_emu.ptx.widths import bits_of_type

_READS_CARRY = ("addc", "subc", "madc")


class Uses(NamedTuple):
    """The registers that an instruction reads, except its guard, and those that it writes."""

    read: tuple[int, ...]
    written: tuple[int, ...]


class Unproven(NamedTuple):
    """The work of the machine for the registers of one instruction.

    ``guard`` are the registers of the guard, and ``read`` the others that the instruction reads, which may be
    uninitialised; ``written`` are the followed registers that it writes.
    """

    guard: tuple[int, ...]
    read: tuple[int, ...]
    written: tuple[int, ...]


def uses_of(instruction: PtxInstruction, carry: int) -> Uses:
    """Return the registers that an instruction reads and writes; ``carry`` is the number of the carry flag."""
    written = _loaded(instruction) if instruction.used_bytes else writes(instruction)
    guard = registers_in(instruction.guard)
    read = [*reads(instruction)]
    for x in guard:
        read.remove(x)
    first = instruction.operands[0] if instruction.operands else None
    if isinstance(first, Register) and instruction.mnemonic in READS_FIRST:
        if instruction.mnemonic == "mbarrier" or "red" in instruction.modifiers:
            read.remove(first.index)
        else:
            written = ()
    if _is_first_product(instruction):
        read = [x for operand in instruction.operands[1:] for x in registers_in(operand)]
    if instruction.mnemonic in _READS_CARRY:
        read.append(carry)
    if "cc" in instruction.modifiers:
        written = (*written, carry)
    return Uses(tuple(dict.fromkeys(read)), tuple(dict.fromkeys(written)))


def _loaded(instruction: PtxInstruction) -> tuple[int, ...]:
    """Return the registers of a load with bytes that the kernel uses; the others are not written."""
    size = bits_of_type(instruction.modifiers[-1]) // 8
    every = (1 << size) - 1
    loaded = enumerate(elements_of(instruction.operands[0]))
    return tuple(x.index for i, x in loaded if isinstance(x, Register) and instruction.used_bytes >> i * size & every)


def _is_first_product(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is a product of a warpgroup that does not read D: its scale-d is 0."""
    position = 5 if "sp" in instruction.modifiers else 3
    if instruction.mnemonic != "wgmma" or len(instruction.operands) <= position:
        return False
    scale = instruction.operands[position]
    return isinstance(scale, Immediate) and scale.value == 0


def unproven_registers(
    program: KernelProgram, blocks: Mapping[int, range], following: Mapping[int, Iterable[int]]
) -> dict[int, Unproven]:
    """Return the instructions that read registers which may be uninitialised, or that write these registers.

    ``blocks`` are the instructions of each basic block by its first one; ``following`` are the basic blocks that may
    run after each.
    """
    code = program.instructions
    uses = [uses_of(x, len(program.registers)) for x in code]
    before = _defined_before(code, uses, blocks, following)
    read: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    state_at: dict[int, int] = {}
    for start, state in before.items():
        for pc in blocks[start]:
            state_at[pc] = state
            guard = tuple(x for x in registers_in(code[pc].guard) if not state >> x & 1)
            read[pc] = guard, tuple(x for x in uses[pc].read if not state >> x & 1)
            state = _after(code[pc], uses[pc], state)
    followed = {x for guard, others in read.values() for x in (*guard, *others)}
    found = {}
    for pc, (guard, others) in read.items():
        # Lanes that have written a register before are in its mask already, unless the new value is undefined.
        written = tuple(x for x in uses[pc].written if x in followed and (others or not state_at[pc] >> x & 1))
        if guard or others or written:
            found[pc] = Unproven(guard, others, written)
    return found


def is_value(instruction: PtxInstruction) -> bool:
    """Return whether an instruction computes values from values, so that undefined ones may pass through it."""
    return instruction.mnemonic in VALUE_STEPS


def _after(instruction: PtxInstruction, uses: Uses, state: int) -> int:
    """Return the defined registers, as bits, after an instruction."""
    written = sum(1 << x for x in uses.written)
    if is_value(instruction) and any(not state >> x & 1 for x in uses.read):
        return state & ~written
    return state | written if instruction.guard is None else state


def _defined_before(
    code: Sequence[PtxInstruction], uses: Sequence[Uses], blocks: Mapping[int, range],
    following: Mapping[int, Iterable[int]],
) -> dict[int, int]:  # fmt: skip
    """Return the registers that are defined, as bits, before each basic block that may run."""
    before = {0: 0}
    waiting = [0]
    while waiting:
        start = waiting.pop()
        state = before[start]
        for pc in blocks[start]:
            state = _after(code[pc], uses[pc], state)
        for other in following[start]:
            known = before.get(other)
            merged = state if known is None else known & state
            if merged != known:
                before[other] = merged
                waiting.append(other)
    return before
