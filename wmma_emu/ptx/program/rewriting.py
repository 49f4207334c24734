# SPDX-License-Identifier: MIT
"""Instructions in the places of others: labels, callees and functions follow."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wmma_emu.ptx.program.program import KernelProgram, LabelTarget, Operand, PtxInstruction, Register, VectorOperand
from wmma_emu.ptx.widths import bits_of_type


def with_opcode(
    one: PtxInstruction, mnemonic: str, modifiers: tuple[str, ...], operands: tuple[Operand | None, ...]
) -> PtxInstruction:
    """Make another instruction with the guard and the place of one."""
    opcode = ".".join((mnemonic, *modifiers))
    return replace(one, opcode=opcode, mnemonic=mnemonic, modifiers=modifiers, operands=operands)


def as_copy(one: PtxInstruction, source: Operand | None) -> PtxInstruction:
    """Write an operand as it is to where one instruction writes."""
    return with_opcode(one, "mov", (f"b{bits_of_type(one.modifiers[-1])}",), (one.operands[0], source))


class Rewriting:
    """A program of which some instructions become others, with registers of their own; ``prefix`` names these."""

    def __init__(self, program: KernelProgram, prefix: str) -> None:
        self._before, self._prefix = program, prefix
        self._code, self._registers = program.instructions, list(program.registers)

    def _new_register(self, type_name: str) -> Register:
        pc = len(self._registers)
        self._registers.append(Register(pc, f"%{self._prefix}{pc}", type_name))
        return self._registers[-1]

    def _split_into_factors(self, product: PtxInstruction) -> tuple[PtxInstruction, tuple[Register, Register]]:
        """Compute the two factors of a sequence that ends in a product, instead of the product."""
        pair = self._new_register("b32"), self._new_register("b32")
        operands = VectorOperand(pair), *product.operands[1:]
        return with_opcode(product, f"%{product.mnemonic}", product.modifiers, operands), pair

    def _rewritten(self, new: Mapping[int, Sequence[PtxInstruction]]) -> KernelProgram:
        if not new:
            return self._before
        return replace(with_instructions(self._before, new), registers=tuple(self._registers))


def with_instructions(program: KernelProgram, new: Mapping[int, Sequence[PtxInstruction]]) -> KernelProgram:
    """Put other instructions, or none, in the places of some."""
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
    """Let labels and calls point to where their instructions are now."""
    operands = tuple(replace(x, index=pc(x.index)) if isinstance(x, LabelTarget) else x for x in instruction.operands)
    callee = None if instruction.callee is None else pc(instruction.callee)
    targets = tuple(map(pc, instruction.targets))
    if (operands, callee, targets) == (instruction.operands, instruction.callee, instruction.targets):
        return instruction
    return replace(instruction, operands=operands, callee=callee, targets=targets)
