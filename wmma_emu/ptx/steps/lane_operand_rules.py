# SPDX-License-Identifier: MIT
"""What the assembler asks of the operands of an instruction of one thread: that they are of the right kind."""

from typing import NoReturn

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.operand_kinds import describe, reason_against_constant, reason_against_register
from wmma_emu.ptx.program.program import (
    Immediate,
    Operand,
    Predicate,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.program.special import SPECIAL
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import CARRY, flat_operands
from wmma_emu.ptx.steps.spelling import ordered
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.cvt_table import CVT_TYPES

_PLACES_OF_BITS = {"bfe": (2, 3), "bfi": (3, 4)}
"""Operands that are a position or a length of bits: constants from 0 to 255."""


def require_legal_operation(instruction: PtxInstruction, operation: LaneOperation) -> None:
    """Refuse what an assembler refuses of an instruction of one thread: operands of another kind than their types."""
    mnemonic = instruction.mnemonic
    if mnemonic[0] == "%":
        return  # made by the emulator, not by a text
    types, is_relaxed = _types(instruction, operation)
    if mnemonic != "mov" and any(isinstance(x, VectorOperand) for x in instruction.operands):
        refuse(instruction, "takes no vectors")
    operands = flat_operands(instruction)
    if len(operands) != len(types):
        refuse(instruction, f"takes {len(types)} operands, not {len(operands)}")
    targets = len(operation.destinations) - operation.destinations.count(CARRY)
    may_be_sink = mnemonic in ("setp", "lop3") or isinstance(instruction.operands[0], VectorOperand)
    for position, (operand, expected) in enumerate(zip(operands, types, strict=True)):
        if position < targets:
            require_target(instruction, operand, expected, is_relaxed=is_relaxed, may_be_sink=may_be_sink)
        else:
            require_source(instruction, operand, expected, is_relaxed=is_relaxed)
    for position in _PLACES_OF_BITS.get(mnemonic, ()):
        number = instruction.operands[position]
        if isinstance(number, Immediate) and not 0 <= number.value <= 255:
            refuse(instruction, f"{number.value} is no position or length of bits: they are from 0 to 255")


def _types(instruction: PtxInstruction, operation: LaneOperation) -> tuple[list[str], bool]:
    """Types of the operands, and whether registers may be wider: in `cvt`, but for small formats."""
    types = [x for x in (*operation.destinations, *operation.sources) if x != CARRY]
    if instruction.mnemonic == "set":
        types[0] = {"bf16": "u16", "bf16x2": "b32"}.get(types[0], types[0])
    if instruction.mnemonic != "cvt":
        return types, False
    if ordered("cvt", instruction.modifiers) is None:
        refuse(instruction, "has a modifier twice, or one that this conversion has not")
    if instruction.modifiers[0] == "pack":
        return types, True
    *_, target, source = (x for x in instruction.modifiers if x in CVT_TYPES)
    plain = all(x == "f16x2" or (x[0] in "usf" and x[1:].isdigit()) for x in (target, source))
    packed = source == "f16x2" or (target == "f16x2" and source[0] != "f")
    return [target, *[source] * (len(types) - 1)], plain and not packed


def require_target(
    instruction: PtxInstruction,
    operand: Operand | None,
    expected: str,
    *,
    is_relaxed: bool = False,
    may_be_sink: bool = False,
) -> None:
    """Require what an instruction may write as a value of a type."""
    if operand is None:
        if not may_be_sink:
            refuse(instruction, "writes a register, not the sink _")
        return
    if not isinstance(operand, Register):
        refuse(instruction, f"writes a register, not {describe(operand)}")
    refuse_for(instruction, reason_against_register(operand, expected, is_relaxed=is_relaxed))


def require_source(
    instruction: PtxInstruction, operand: Operand | None, expected: str, *, is_relaxed: bool = False
) -> None:
    """Require what an instruction may read as a value of a type."""
    if isinstance(operand, Register):
        refuse_for(instruction, reason_against_register(operand, expected, is_relaxed=is_relaxed))
    elif isinstance(operand, Immediate):
        _require_constant(instruction, operand, expected)
    elif isinstance(operand, SpecialRegister):
        _require_special(instruction, operand, expected)
    elif isinstance(operand, Symbol):
        _require_address_of(instruction, operand, expected)
    elif not isinstance(operand, Predicate):
        refuse(instruction, f"takes a register or a number here, not {describe(operand)}")
    elif expected != "pred":
        refuse(instruction, f"{describe(operand)} is a predicate; the operand is of .{expected}")


def _require_constant(instruction: PtxInstruction, operand: Immediate, expected: str) -> None:
    mnemonic, modifiers = instruction.mnemonic, instruction.modifiers
    of_bf16 = mnemonic in ("set", "setp") and not {"bf16", "bf16x2"}.isdisjoint(modifiers)
    if expected == "pred" and (operand.kind != "int" or of_bf16):
        refuse(instruction, "takes a predicate here, no constant")
    if mnemonic[0] == "v" and mnemonic[-1] in "24":
        refuse(instruction, "takes registers, no constants")
    if modifiers[-2:] == ("tf32", "f32") and operand.kind == "f64":
        refuse(instruction, "takes no constant of .f64: write the pattern, 0f3F800000 for 1")
    refuse_for(instruction, reason_against_constant(operand, expected))


def _require_address_of(instruction: PtxInstruction, operand: Symbol, expected: str) -> None:
    """Require an instruction that takes the address of a variable: mov; any other takes a sum, ``variable+4``."""
    if operand.space == "global" and expected[-2:] != "64":
        refuse(instruction, f"takes the address of {operand.name}, which has 64 bits, as .{expected}: write mov.u64")
    if expected[0] == "f" or (instruction.mnemonic != "mov" and "+" not in operand.name):
        refuse(instruction, f"takes no variable: take the address of {operand.name} with mov first")


def _require_special(instruction: PtxInstruction, operand: SpecialRegister, expected: str) -> None:
    """Require an instruction that reads special registers: mov of its width, and cvt between integers."""
    given = SPECIAL[operand.name].type
    is_integer = given != "pred" and expected[0] in "bus" and expected != "pred"
    bits, wanted = (bits_of_type(given), bits_of_type(expected)) if is_integer else (1, 0)
    if instruction.mnemonic == "mov" and (bits == wanted or (bits, wanted) == (32, 16) or given == expected):
        return
    target = instruction.modifiers[-2] if len(instruction.modifiers) > 1 else "f"
    if (
        instruction.mnemonic == "cvt"
        and bits >= wanted > 0
        and target[0] in "us"
        and instruction.modifiers[0] != "pack"
    ):
        return
    refuse(
        instruction,
        f"does not take the special register %{operand.name} (.{given}) here: read it with mov.{given} first",
    )


def refuse_for(instruction: PtxInstruction, reason: str | None) -> None:
    """Refuse an instruction if there is a reason."""
    if reason is not None:
        refuse(instruction, reason)


def refuse(instruction: PtxInstruction, why: str) -> NoReturn:
    """Raise the error of an instruction that no assembler takes."""
    raise refusal(instruction, why)
