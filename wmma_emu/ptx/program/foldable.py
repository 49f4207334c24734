# SPDX-License-Identifier: MIT
"""The instructions with constant operands whose result under ptxas differs from the chip's instruction."""

from collections.abc import Mapping

from wmma_emu.ptx.program.program import Immediate, Operand, PtxInstruction, Register
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.approx_known import KNOWN_NAMES

INFINITIES = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F80_0000, "f64": 0x7FF0 << 48}
"""The bit pattern of infinity in each type."""

SUMS = frozenset(f"{x}{rn}{ftz}.f32" for x in ("add", "sub") for rn in ("", ".rn") for ftz in ("", ".ftz"))
"""The opcodes of sums that are rounded to nearest."""

_FUNCTIONS = (("approx", "f32"), ("approx", "ftz", "f32"))
_EXTREMES = ("max.f32", "max.ftz.f32", "min.f32", "min.ftz.f32")


def is_function(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is an approximate function that ptxas evaluates."""
    return instruction.mnemonic in KNOWN_NAMES and instruction.modifiers in _FUNCTIONS


def is_quotient(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is an f32 division computed with the unit's reciprocal."""
    kind = instruction.modifiers[:1]
    return instruction.mnemonic == "div" and kind in (("approx",), ("full",)) and instruction.modifiers[-1] == "f32"


def is_open_product(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is a product with an open rounding."""
    return instruction.mnemonic == "mul" and instruction.modifiers[-1:] != () and (
        instruction.modifiers[-1] in INFINITIES and {"ftz"}.issuperset(instruction.modifiers[:-1])
    )  # fmt: skip


def is_extremum_of_one(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is the maximum or minimum of a register and itself."""
    if instruction.opcode not in _EXTREMES or len(instruction.operands) != 3:
        return False
    _, first, second = instruction.operands
    return isinstance(first, Register) and first == second


def is_negative(instruction: PtxInstruction) -> bool:
    """Return whether an instruction negates a float."""
    return instruction.mnemonic == "neg" and instruction.modifiers[-1:] != () and instruction.modifiers[-1][0] == "f"


def is_folded_early(instruction: PtxInstruction, known: Mapping[int, int]) -> bool:
    """Return whether ptxas folds an instruction in its first pass only: div.full.ftz, and copies with .ftz."""
    if "ftz" not in instruction.modifiers:
        return False
    if instruction.mnemonic == "div":
        divisor = instruction.operands[2]
        return instruction.modifiers[0] == "full" and isinstance(divisor, Register) and divisor.index in known
    is_copy = instruction.mnemonic in ("neg", "abs") or instruction.opcode == "cvt.ftz.f32.f32"
    return is_copy or is_extremum_of_one(instruction)


def is_nan(bits: int, type_name: str) -> bool:
    """Return whether a bit pattern is a NaN."""
    return bits & (1 << bits_of_type(type_name) - 1) - 1 > INFINITIES[type_name]


def number_of(operand: Operand | None, known: Mapping[int, int]) -> int | None:
    """Return the bits of an f32 operand if known; an integer is not legal as such an operand."""
    if isinstance(operand, Immediate) and operand.kind == "int":
        return None
    return bits_of(operand, known, "f32")


def bits_of(operand: Operand | None, known: Mapping[int, int], type_name: str) -> int | None:
    """Return the bits of an operand of a type if known."""
    if isinstance(operand, Immediate):
        width = bits_of_type(type_name)
        return operand.value % (1 << width) if operand.kind in ("int", f"f{width}") else None
    return known.get(operand.index) if isinstance(operand, Register) else None
