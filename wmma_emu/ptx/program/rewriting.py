# SPDX-License-Identifier: MIT
"""Replace instructions of a program, and adjust labels, callees and functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wmma_emu.ptx.program.program import KernelProgram, LabelTarget, Operand, PtxInstruction, Register, VectorOperand
from wmma_emu.ptx.widths import bits_of_type


def with_opcode(
    one: PtxInstruction, mnemonic: str, modifiers: tuple[str, ...], operands: tuple[Operand | None, ...]
) -> PtxInstruction:
    """Return an instruction with another opcode and operands, and the guard and position of ``one``."""
    opcode = ".".join((mnemonic, *modifiers))
    return replace(one, opcode=opcode, mnemonic=mnemonic, modifiers=modifiers, operands=operands)


def as_copy(one: PtxInstruction, source: Operand | None) -> PtxInstruction:
    """Return a mov of an operand to the destination of ``one``."""
    return with_opcode(one, "mov", (f"b{bits_of_type(one.modifiers[-1])}",), (one.operands[0], source))


class Rewriting:
    """A rewriting of a program with additional registers, which are named with ``prefix``."""

    def __init__(self, program: KernelProgram, prefix: str) -> None:
        self._before, self._prefix = program, prefix
        self._code, self._registers = program.instructions, list(program.registers)

    def _new_register(self, type_name: str) -> Register:
        pc = len(self._registers)
        self._registers.append(Register(pc, f"%{self._prefix}{pc}", type_name))
        return self._registers[-1]

    def _split_into_factors(self, product: PtxInstruction) -> tuple[PtxInstruction, tuple[Register, Register]]:
        """Return an instruction that computes the two factors of a sequence's last product, and their registers."""
        pair = self._new_register("b32"), self._new_register("b32")
        operands = VectorOperand(pair), *product.operands[1:]
        return with_opcode(product, f"%{product.mnemonic}", product.modifiers, operands), pair

    def _rewritten(self, new: Mapping[int, Sequence[PtxInstruction]]) -> KernelProgram:
        if not new:
            return self._before
        return replace(with_instructions(self._before, new), registers=tuple(self._registers))


def with_instructions(program: KernelProgram, new: Mapping[int, Sequence[PtxInstruction]]) -> KernelProgram:
    """Replace instructions, by index, by any number of others."""
    code: list[PtxInstruction] = []
    moved: list[int] = []
    for pc, instruction in enumerate(program.instructions):
        moved.append(len(code))
        code += new.get(pc, (instruction,))
    moved.append(len(code))
    functions = tuple((name, moved[first], moved[behind]) for name, first, behind in program.functions)
    return replace(
        program, instructions=tuple(with_moved_targets(x, moved.__getitem__) for x in code), functions=functions
    )


def with_moved_targets(instruction: PtxInstruction, pc: Callable[[int], int]) -> PtxInstruction:
    """Return an instruction whose labels, callee and targets are mapped to new indices."""
    operands = tuple(replace(x, index=pc(x.index)) if isinstance(x, LabelTarget) else x for x in instruction.operands)
    callee = None if instruction.callee is None else pc(instruction.callee)
    targets = tuple(map(pc, instruction.targets))
    if (operands, callee, targets) == (instruction.operands, instruction.callee, instruction.targets):
        return instruction
    return replace(instruction, operands=operands, callee=callee, targets=targets)
