# SPDX-License-Identifier: MIT
"""The assembler's rules for the vectors of an instruction: registers of one type, which matches the data."""

from wmma_emu.ptx.program.operand_kinds import describe, reason_against_constant, reason_against_register
from wmma_emu.ptx.program.program import Immediate, Operand, PtxInstruction, Register, Symbol, VectorOperand
from wmma_emu.ptx.steps.lane_operand_rules import refuse, refuse_for, require_source, require_target
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.cvt_table import CVT_TYPES

_VECTORS_ALONE = ("ldmatrix", "stmatrix", "mma", "wmma", "wgmma")
"""The instructions whose vectors need braces even with one element."""

_OF_PRODUCTS = {"f16": "f16x2", "bf16": "bf16x2", "tf32": "tf32", "f64": "b64"}
"""The register types of A and B by format; other formats use untyped bits."""


def type_of_data(instruction: PtxInstruction, kind: str) -> str:
    """Return the type of a kind: "T" is the type in the last modifier, "A" to "D" are the types of the matrices."""
    if kind == "T":
        return instruction.modifiers[-1]
    return _type_of_matrix(instruction, kind) if kind in ("A", "B", "C", "D") else kind


def _type_of_matrix(instruction: PtxInstruction, letter: str) -> str:
    formats = [x for x in instruction.modifiers if x in CVT_TYPES or x in ("b1", "s4", "u4", "f64")]
    is_wmma = instruction.mnemonic == "wmma"
    if letter in "AB":
        name = formats[1] if len(formats) > 2 else formats[0]
        return ("b64" if name == "f64" else "b32") if is_wmma else _OF_PRODUCTS.get(name, "b32")
    name = formats[0] if letter == "D" else formats[3 if len(formats) > 3 else -1]
    return name if name in ("f32", "f64", "s32") else "b32" if is_wmma else "f16x2"


def require_vector(
    instruction: PtxInstruction, operand: Operand | None, kind: str, *, is_written: bool = False
) -> None:
    """Check a vector, or a single operand where that is allowed; "~" permits wider registers."""
    is_relaxed, expected = kind[0] == "~", type_of_data(instruction, kind.lstrip("~"))
    mnemonic = instruction.mnemonic
    if isinstance(operand, VectorOperand):
        if mnemonic in ("atom", "red") and len(operand.elements) == 1:
            refuse(instruction, "expects a register, not a vector of one")
        if mnemonic == "wgmma" and None in operand.elements:
            refuse(instruction, "reads its accumulators, so they have to be registers, not the sink _")
        _require_registers(instruction, operand, expected, is_relaxed)
        _require_others(instruction, operand, expected, is_written)
    elif mnemonic in _VECTORS_ALONE:
        refuse(instruction, f"expects a vector in braces, not {describe(operand)}")
    elif is_written:
        require_target(instruction, operand, expected, is_relaxed=is_relaxed)
    else:
        require_source(instruction, operand, expected, is_relaxed=is_relaxed)


def _require_registers(instruction: PtxInstruction, vector: VectorOperand, expected: str, is_relaxed: bool) -> None:
    """Check that all registers have one type; a register of untyped bits agrees with any type of its width."""
    registers = [x for x in vector.elements if isinstance(x, Register)]
    kinds = {"integers" if x.type[0] in "us" else x.type for x in registers if x.type[0] != "b"}
    if len(kinds) > 1:
        types = ", ".join(sorted({f".{x.type}" for x in registers}))
        refuse(instruction, f"has a vector of registers of different types: {types}")
    first = next((x for x in registers if x.type[0] == "b"), registers[0] if registers else None)
    if first is None:
        return
    if not (is_relaxed and expected == "f32" and kinds == {"integers"}):  # which ptxas accepts
        refuse_for(instruction, reason_against_register(first, expected, is_relaxed=is_relaxed))
    width = bits_of_type(first.type)
    for x in registers:
        refuse_for(instruction, reason_against_register(x, f"b{width}"))


def _require_others(instruction: PtxInstruction, vector: VectorOperand, expected: str, is_written: bool) -> None:
    for x in vector.elements:
        if is_written and not (x is None or isinstance(x, Register)):
            refuse(instruction, f"expects registers as its results, not {describe(x)}")
        if isinstance(x, Symbol):
            refuse(instruction, f"cannot use the variable {x.name} as a value: take its address with mov first")
        if isinstance(x, Immediate) and expected[0] in "busf" and expected[1:].isdigit():
            refuse_for(instruction, reason_against_constant(x, expected))
