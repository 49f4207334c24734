# SPDX-License-Identifier: MIT
"""The instructions through which ptxas propagates constants: if all sources are known, the result becomes known.

The patterns were read from the machine code of ptxas 12.9.86, 13.0.88, 13.4.59 and 13.5.37 for sm_80, sm_90a, sm_100a
and sm_120a: a square root of the result becomes a number if the result is known, and stays an instruction otherwise
(``docs/decisions/0024-constants-that-ptxas-knows.md``). Opcodes that match no pattern end the propagation: ``fma``, any
rounding but to nearest, integer division, ``prmt``, ``lop3``, arithmetic of f16 and bf16. The values are always those
of the chip's instruction; a NaN is not propagated.
"""

import re
from collections.abc import Mapping
from functools import cache

from wmma_emu.ptx.program.foldable import bits_of
from wmma_emu.ptx.program.program import (
    Immediate,
    Operand,
    PairOperand,
    Predicate,
    PtxInstruction,
    Register,
    VectorOperand,
)
from wmma_emu.ptx.widths import bits_of_type

_PATTERNS = (
    # f64 with .rn and .sat with .rn stay instructions.
    r"(add|sub|mul)(\.rn|\.ftz|\.rn\.ftz|\.sat|\.ftz\.sat)?\.f32",
    r"(add|sub|mul)\.f64",
    r"(min|max|neg|abs)(\.ftz)?\.f32",
    r"(neg|abs)\.f64",
    r"(min|max)\.(f16|f64)",
    r"(add|sub|min|max|mul\.lo|mad\.lo)\.[su](16|32|64)",
    r"mul\.hi\.[su](16|32)",
    r"(mul|mad)\.wide\.[su](16|32)",
    r"(mul24|mad24)\.lo\.[su]32",
    r"(neg|abs)\.s(16|32|64)",
    r"(and|or|xor|not)\.(pred|b16|b32|b64)",
    r"shl\.b(16|32|64)",
    r"shr\.[sub](16|32|64)",
    r"shf\.[lr]\.(wrap|clamp)\.b32",
    r"(cnot|brev)\.b32",
    r"(popc|clz)\.b(32|64)",
    r"bfind\.[su]32",
    r"fns\.b32",
    r"bfe\.[su](32|64)",
    r"bfi\.b32",
    r"mov\.(pred|[subf](16|32|64))",
    r"selp\.[subf](16|32|64)",
    r"slct\.[subf](16|32|64)\.s32",
    r"setp\.(\w+\.)+([sub](16|32|64)|f32|f64)",
    r"set\.\w+\.f32\.f32",
    r"testp\.\w+\.f32",
    r"cvt\.[su](8|16|32|64)\.[su](8|16|32|64)",
    r"cvt\.rn\.f32\.[su](8|16|32)",
    r"cvt\.r[nz]i(\.ftz)?\.(u16|[su]32|[su]64)\.f32",
    r"cvt\.rzi\.(u16|[su]32|[su]64)\.(f16|f64)",
    r"cvt\.r[nzmp]i(\.ftz)?\.f32\.f32",
    r"cvt\.r[nzmp]i\.f64\.f64",
    r"cvt\.sat\.f32\.f32",
    r"cvt\.rn\.(f32\.f64|f16\.f32|bf16\.f32|f16x2\.f32)",
    r"cvt\.(f64\.f32|f32\.f16|f32\.bf16|f64\.f16)",
)

_ANY = re.compile("|".join(f"(?:{row})" for row in _PATTERNS))


@cache
def propagates_constants(opcode: str) -> bool:
    """Return whether ptxas evaluates an instruction with known sources, and propagates the result.

    Examples
    --------
    >>> propagates_constants("mul.f32"), propagates_constants("fma.rn.f32")
    (True, False)
    """
    return _ANY.fullmatch(opcode) is not None


_DECIDABLE = frozenset("and or xor mul mul24 mad mad24 shl shr bfe bfi selp slct setp".split())
_SHIFTS_OUT = ("b16", "b32", "b64", "u16", "u32", "u64")
_DECIDED_FOR_EQUAL_OPERANDS = ("lt", "gt", "ne", "equ", "leu", "geu")
"""The comparisons of a float with itself whose result is the same for a NaN."""


def is_decided(instruction: PtxInstruction, known: Mapping[int, int]) -> bool:
    """Return whether the known sources decide the result for any value of the others.

    Examples are a product with 0 and a selection between two equal numbers. The cases that ptxas recognises were read
    from machine code, like the patterns; ``sub`` of a register from itself, ``min.u32`` with 0 and quotients are not
    among them.

    Examples
    --------
    >>> r = [Register(i, f"%r{i}", "b32") for i in range(2)]
    >>> is_decided(PtxInstruction("and.b32", "and", ("b32",), (*r, Immediate("int", 0)), None, 1, 1), {})
    True
    """
    if instruction.mnemonic not in _DECIDABLE or not instruction.modifiers or len(instruction.operands) < 3:
        return False
    first, second = instruction.operands[1:3]
    has_equal_operands = first == second and isinstance(first, Register | Predicate)
    kind = instruction.modifiers[-1]
    is_unsigned, is_integer = kind[:1] == "u", kind[:1] in ("s", "u")
    width = bits_of_type(kind)
    values = [_number(x, known, width) for x in instruction.operands[1:]]
    match instruction.mnemonic:
        case "and":
            return 0 in values
        case "or":
            return (1 << width) - 1 in values
        case "xor":
            return has_equal_operands
        case "shl" | "shr":
            value, amount = values
            return value == 0 or (kind in _SHIFTS_OUT and amount is not None and amount >= width)
        case "bfe":
            _, start, length = values
            return length == 0 or (is_unsigned and start is not None and width <= start < 256)
        case "bfi":
            field, base, start, length = values
            if length == 0:
                return base is not None
            return field is not None and start == 0 and length is not None and width <= length < 256
        case "selp" | "slct":
            return values[0] is not None and values[0] == values[1]
        case "setp":
            is_decided_for_floats = kind == "f32" and instruction.modifiers[0] in _DECIDED_FOR_EQUAL_OPERANDS
            return has_equal_operands and len(values) == 2 and (is_integer or kind[:1] == "b" or is_decided_for_floats)
        case _:  # products
            is_high_of_one = instruction.modifiers[0] == "hi" and kind == "u32" and 1 in values
            return is_integer and (0 in values[:2] or is_high_of_one) and None not in values[2:]


def _number(operand: Operand | None, known: Mapping[int, int], width: int) -> int | None:
    if isinstance(operand, Immediate):
        return operand.value % (1 << width)
    if isinstance(operand, Predicate):
        value = known.get(operand.register.index)
        return None if value is None else value ^ operand.negated
    return known.get(operand.index) if isinstance(operand, Register) else None


def copied_values(instruction: PtxInstruction, known: Mapping[int, int]) -> dict[int, int]:
    """Return the known values of registers that receive a value of another lane, or the parts of a value."""
    target, source = instruction.operands[:2]
    pairs: list[tuple[object, Operand | None]] = [(target.first if isinstance(target, PairOperand) else target, source)]
    if isinstance(target, VectorOperand) and isinstance(source, VectorOperand):
        pairs = list(zip(target.elements, source.elements, strict=True))
    found = {x.index: bits_of(y, known, x.type) for x, y in pairs if isinstance(x, Register)}
    return {register: bits for register, bits in found.items() if bits is not None}
