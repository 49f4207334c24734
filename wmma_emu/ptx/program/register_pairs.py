# SPDX-License-Identifier: MIT
"""Registers of 128 bits, as pairs of registers of 64 bits that hold the same bits."""

from collections.abc import Sequence
from dataclasses import replace

from wmma_emu.ptx.program.program import (
    Immediate,
    KernelProgram,
    Operand,
    PtxInstruction,
    Register,
    Symbol,
    VectorOperand,
)  # fmt: skip
from wmma_emu.ptx.program.rewriting import with_instructions, with_opcode

_WIDE = "b128"
_VALUE_OPERAND = {"ld": 0, "ldu": 0, "st": 1}
"""The operand of a load or store that is a register."""

Pair = tuple[Register, Register]
"""The lower and the upper half of a register."""


def split_wide_registers(program: KernelProgram) -> KernelProgram:
    """Replace each register of ``.b128`` by two of ``.b64``, in the instructions that PTX has for them.

    A load or store of ``.b128`` becomes one of ``.v2.b64``, which has the same alignment and is one access;
    ``mov.b128`` becomes a move of each half (PTX ISA 9.1, ld, st, mov). Other instructions keep the register, and are
    refused because of its type.
    """
    wide = [x for x in program.registers if x.type == _WIDE]
    if not wide:
        return program
    registers = [replace(x, type="b64") if x.type == _WIDE else x for x in program.registers]
    pairs: dict[int, Pair] = {}
    for register in wide:
        low, high = (Register(len(registers) + i, f"{register.name}.{x}", "b64") for i, x in enumerate(("low", "high")))
        registers += low, high
        pairs[register.index] = low, high
    new = {
        pc: done
        for pc, instruction in enumerate(program.instructions)
        if instruction.modifiers[-1:] == (_WIDE,) and (done := _by_halves(instruction, pairs))
    }
    return replace(with_instructions(program, new), registers=tuple(registers))


def _by_halves(instruction: PtxInstruction, pairs: dict[int, Pair]) -> Sequence[PtxInstruction]:
    """Return the instructions that do the same to the halves; none if the operands are not legal."""
    operands = list(instruction.operands)
    if instruction.mnemonic == "mov" and instruction.modifiers == (_WIDE,) and len(operands) == 2:
        parts = [_halves(x, pairs) for x in operands]
        if all(len(x) == 2 for x in parts) and any(isinstance(x, Register) for x in operands):
            moves = zip(*parts, strict=True)
            return [with_opcode(instruction, "mov", ("b64",), (to, of)) for to, of in moves if to is not None]
    place = _VALUE_OPERAND.get(instruction.mnemonic)
    if place is not None and place < len(operands):
        value = operands[place]
        if isinstance(value, Register) and value.index in pairs:
            operands[place] = VectorOperand(pairs[value.index])
            modifiers = (*instruction.modifiers[:-1], "v2", "b64")
            return [with_opcode(instruction, instruction.mnemonic, modifiers, tuple(operands))]
    return []


def _halves(operand: Operand | None, pairs: dict[int, Pair]) -> tuple[Operand | None, ...]:
    """Return the two 64-bit parts of an operand of ``mov.b128``: vectors have two elements of 64 bits or four of 32.

    ptxas 13.0 accepts an integer or an address of 64 bits, too, and its machine code clears the upper half.
    """
    if isinstance(operand, Symbol) or (isinstance(operand, Immediate) and operand.kind == "int"):
        return operand, Immediate("int", 0)
    if isinstance(operand, Register):
        return pairs.get(operand.index, ())
    if isinstance(operand, VectorOperand):
        elements = operand.elements
        if len(elements) == 2:
            return elements
        if len(elements) == 4:
            return tuple(None if x == (None, None) else VectorOperand(x) for x in (elements[:2], elements[2:]))
    return ()
