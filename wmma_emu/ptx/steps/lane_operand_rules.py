# SPDX-License-Identifier: MIT
"""The assembler's rules for the operands of lane operations."""

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
from wmma_emu.ptx.program.special import LOWER_HALVES, SPECIAL
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import CARRY, flat_operands
from wmma_emu.ptx.steps.spelling import ordered
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.cvt_table import CVT_TYPES, SCALED

_PLACES_OF_BITS = {"bfe": (2, 3), "bfi": (3, 4)}
"""The operands that are a bit position or length: constants from 0 to 255."""


def require_legal_operation(instruction: PtxInstruction, operation: LaneOperation) -> None:
    """Raise an error if an assembler rejects the operands of a lane operation."""
    mnemonic = instruction.mnemonic
    if mnemonic[0] == "%":
        return  # created by the emulator, not part of PTX source
    types, is_relaxed = _types(instruction, operation)
    if mnemonic != "mov" and any(isinstance(x, VectorOperand) for x in instruction.operands):
        refuse(instruction, "does not support vectors")
    operands = flat_operands(instruction)
    if len(operands) != len(types):
        refuse(instruction, f"expects {len(types)} operands, not {len(operands)}")
    targets = len(operation.destinations) - operation.destinations.count(CARRY)
    may_be_sink = mnemonic in ("setp", "lop3") or isinstance(instruction.operands[0], VectorOperand)
    for position, (operand, expected) in enumerate(zip(operands, types, strict=True)):
        if position < targets:
            require_target(instruction, operand, expected, is_relaxed=is_relaxed, may_be_sink=may_be_sink)
        else:
            require_source(instruction, operand, expected, is_relaxed=is_relaxed)
    if SCALED in instruction.modifiers and len(operands) == 3 and isinstance(operands[2], Immediate):
        refuse(instruction, "expects the scales in a register, not as a constant")
    for position in _PLACES_OF_BITS.get(mnemonic, ()):
        number = instruction.operands[position]
        if isinstance(number, Immediate) and not 0 <= number.value <= 255:
            refuse(instruction, f"{number.value} is not a bit position or length; legal values are 0 to 255")


def _types(instruction: PtxInstruction, operation: LaneOperation) -> tuple[list[str], bool]:
    """Return the types of the operands, and whether registers may be wider, as in `cvt` except for small formats."""
    types = [x for x in (*operation.destinations, *operation.sources) if x != CARRY]
    if instruction.mnemonic == "set":
        types[0] = {"bf16": "u16", "bf16x2": "b32"}.get(types[0], types[0])
    if instruction.mnemonic != "cvt":
        return types, False
    if ordered("cvt", instruction.modifiers) is None:
        refuse(instruction, "has a repeated modifier, or one that this conversion does not support")
    if instruction.modifiers[0] == "pack":
        return types, True
    *_, target, source = (x for x in instruction.modifiers if x in CVT_TYPES)
    plain = all(x == "f16x2" or (x[0] in "usf" and x[1:].isdigit()) for x in (target, source))
    packed = source == "f16x2" or (target == "f16x2" and source[0] != "f")
    if SCALED in instruction.modifiers:
        return [target, source, "b16"], False
    return [target, *[source] * (len(types) - 1)], plain and not packed


def require_target(
    instruction: PtxInstruction,
    operand: Operand | None,
    expected: str,
    *,
    is_relaxed: bool = False,
    may_be_sink: bool = False,
) -> None:
    """Raise an error unless an operand can be the destination of a value of the expected type."""
    if operand is None:
        if not may_be_sink:
            refuse(instruction, "expects a register as its result, not the sink _")
        return
    if not isinstance(operand, Register):
        refuse(instruction, f"expects a register as its result, not {describe(operand)}")
    refuse_for(instruction, reason_against_register(operand, expected, is_relaxed=is_relaxed))


def require_source(
    instruction: PtxInstruction, operand: Operand | None, expected: str, *, is_relaxed: bool = False
) -> None:
    """Raise an error unless an operand can be a source of the expected type."""
    if isinstance(operand, Register):
        refuse_for(instruction, reason_against_register(operand, expected, is_relaxed=is_relaxed))
    elif isinstance(operand, Immediate):
        _require_constant(instruction, operand, expected)
    elif isinstance(operand, SpecialRegister):
        _require_special(instruction, operand, expected)
    elif isinstance(operand, Symbol):
        _require_address_of(instruction, operand, expected)
    elif not isinstance(operand, Predicate):
        refuse(instruction, f"expects a register or a number, not {describe(operand)}")
    elif expected != "pred":
        refuse(instruction, f"{describe(operand)} is a predicate; expected .{expected}")


def _require_constant(instruction: PtxInstruction, operand: Immediate, expected: str) -> None:
    mnemonic, modifiers = instruction.mnemonic, instruction.modifiers
    of_bf16 = mnemonic in ("set", "setp") and not {"bf16", "bf16x2"}.isdisjoint(modifiers)
    if expected == "pred" and (operand.kind != "int" or of_bf16):
        refuse(instruction, "expects a predicate, not a constant")
    if mnemonic[0] == "v" and mnemonic[-1] in "24":
        refuse(instruction, "expects registers, not constants")
    if modifiers[-2:] == ("tf32", "f32") and operand.kind == "f64":
        refuse(instruction, "does not support a constant of .f64: write the bit pattern, such as 0f3F800000 for 1")
    refuse_for(instruction, reason_against_constant(operand, expected))


def _require_address_of(instruction: PtxInstruction, operand: Symbol, expected: str) -> None:
    """Check that an instruction supports an address as a value: mov does, others only ``variable+4``."""
    if operand.space == "global" and expected[-2:] != "64":
        refuse(instruction, f"takes the address of {operand.name}, which has 64 bits, as .{expected}: write mov.u64")
    if expected[0] == "f" or (instruction.mnemonic != "mov" and "+" not in operand.name):
        refuse(instruction, f"cannot use the variable {operand.name} as a value: take its address with mov first")


def _require_special(instruction: PtxInstruction, operand: SpecialRegister, expected: str) -> None:
    """Check that an instruction reads special registers: mov of the same width, and cvt between integers."""
    given = SPECIAL[operand.name].type
    is_integer = given != "pred" and expected[0] in "bus" and expected != "pred"
    bits, wanted = (bits_of_type(given), bits_of_type(expected)) if is_integer else (1, 0)
    is_lower_half = (bits, wanted) == (32, 16) or ((bits, wanted) == (64, 32) and operand.name in LOWER_HALVES)
    if instruction.mnemonic == "mov" and (bits == wanted or is_lower_half or given == expected):
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
        f"cannot read the special register %{operand.name} (.{given}) as this operand: read it with mov.{given} first",
    )


def refuse_for(instruction: PtxInstruction, reason: str | None) -> None:
    """Raise an error about an instruction if there is a reason."""
    if reason is not None:
        refuse(instruction, reason)


def refuse(instruction: PtxInstruction, why: str) -> NoReturn:
    """Raise an error about an instruction that an assembler rejects."""
    raise refusal(instruction, why)
