# SPDX-License-Identifier: MIT
"""Instructions in the places of others: labels, callees and functions follow."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wmma_emu.ptx.program.program import Instruction, KernelProgram, Target

__all__ = ["with_instructions"]


def with_instructions(program: KernelProgram, new: Mapping[int, Sequence[Instruction]]) -> KernelProgram:
    """Put other instructions, or none, in the places of some."""
    code: list[Instruction] = []
    moved: list[int] = []
    for place, instruction in enumerate(program.instructions):
        moved.append(len(code))
        code += new.get(place, (instruction,))
    moved.append(len(code))
    functions = tuple((name, moved[first], moved[behind]) for name, first, behind in program.functions)
    return replace(program, instructions=tuple(_moved(x, moved) for x in code), functions=functions)


def _moved(instruction: Instruction, moved: Sequence[int]) -> Instruction:
    operands = tuple(replace(x, index=moved[x.index]) if isinstance(x, Target) else x for x in instruction.operands)
    callee = None if instruction.callee is None else moved[instruction.callee]
    targets = tuple(moved[x] for x in instruction.targets)
    if (operands, callee, targets) == (instruction.operands, instruction.callee, instruction.targets):
        return instruction
    return replace(instruction, operands=operands, callee=callee, targets=targets)
