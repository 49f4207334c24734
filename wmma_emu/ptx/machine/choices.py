# SPDX-License-Identifier: MIT
"""Branches and guards that only choose the values of registers: like ``selp``, they may use uninitialised data.

Threads whose predicate is undefined skip instructions that only compute registers; these registers are undefined then,
and a finding is reported where they are used. A branch around anything else (memory, a barrier, an exit) decides what
the kernel does, so its predicate is used there.
"""

from typing import NamedTuple

import numpy as np

from wmma_emu.ptx.definedness.undefined import computed
from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.program.program import KernelProgram, LabelTarget, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.table import VALUE_STEPS
from wmma_emu.ptx.threads import Active, Array

_CARRY = ("cc", "addc", "subc", "madc")


class Choice(NamedTuple):
    """Instructions between a branch and the point where its paths meet again, which only compute registers.

    ``join`` is the pc of that point, ``registers`` are the registers that are written in between.
    """

    join: int
    registers: tuple[int, ...]


def only_computes(instruction: PtxInstruction) -> bool:
    """Return whether an instruction only writes registers, none of which is the carry flag."""
    words = (instruction.mnemonic, *instruction.modifiers)
    return instruction.mnemonic in VALUE_STEPS and not any(x in _CARRY for x in words)


def choice_at(program: KernelProgram, pc: int) -> Choice | None:
    """Return what a branch chooses between, if all its paths go forward and meet again; None if it does more.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import Predicate, Register
    >>> p, x = Register(0, "%p", "pred"), Register(1, "%x", "b32")
    >>> branch = PtxInstruction("bra", "bra", (), (LabelTarget(2, "L"),), Predicate(p, False), 1, 1)
    >>> body = branch, PtxInstruction("mov.b32", "mov", ("b32",), (x, x), None, 2, 1)
    >>> choice_at(KernelProgram("k", (), 0, (p, x), body, (), 0, None, 0, None, None, ()), 0)
    Choice(join=2, registers=(1,))
    """
    found: set[int] = set()
    join, at = _forward(program.instructions[pc], pc), pc + 1
    while join is not None and at < join:
        if at >= len(program.instructions):
            return None
        instruction = program.instructions[at]
        if instruction.mnemonic == "bra":
            target = _forward(instruction, at)
            join = None if target is None else max(join, target)
        elif only_computes(instruction):
            found.update(writes(instruction))
        else:
            return None
        at += 1
    return Choice(join, tuple(sorted(found))) if join is not None and found else None


def _forward(instruction: PtxInstruction, pc: int) -> int | None:
    target = instruction.operands[0] if instruction.operands else None
    return target.index if isinstance(target, LabelTarget) and target.index > pc else None


def undecided(state: State, instruction: PtxInstruction, registers: tuple[int, ...], active: Active) -> Array | None:
    """Find the active threads whose guard is undefined, and make the registers that it decides undefined there.

    Return None if there are no such threads.
    """
    guard = instruction.guard
    if guard is None or guard.register.index not in state.watched:
        return None
    state.require_arrived(instruction, (guard.register.index,), active)
    found = state.undefined_in(guard, np.dtype(np.bool_), active)
    if found is None:
        return None
    threads = np.broadcast_to(found.bits & (state.live if active is None else active), state.shape)
    for index in registers:
        state.make_undefined(index, threads, computed(found.origin))
    return threads
