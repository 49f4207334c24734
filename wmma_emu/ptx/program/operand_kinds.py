# SPDX-License-Identifier: MIT
"""The compatibility of operands with the expected type: kinds and widths of registers, kinds of constants."""

import re
from functools import lru_cache

from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    Operand,
    PairOperand,
    Predicate,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.cvt_table import CVT_TYPES

_PLAIN = re.compile(r"([busf])(\d+)\Z")

_PACKED = {"f16x2": ("b32", "f16x2"), "u16x2": ("b32", "f16x2"), "s16x2": ("b32", "f16x2"), "f16": ("b16", "f16")}
"""The register types that ptxas accepts for a packed type; for other packed or small formats it accepts untyped
bits."""


@lru_cache(1 << 12)
def agrees(register: str, expected: str, *, is_relaxed: bool = False) -> bool:
    """Return whether a register of a type may be an operand of the expected type.

    PTX ISA 9.1, Type Checking: untyped bits agree with any type of the same size, signed and unsigned integers with
    each other, floating-point types with themselves. ptxas 13.0 accepts a register of .f16x2 as untyped bits or an
    integer. If ``is_relaxed``, in ld, st and cvt, a register may be wider, unless it has a floating-point type (Operand
    Size Exceeding Instruction-Type Size).

    Examples
    --------
    >>> agrees("b32", "f32"), agrees("u32", "s32"), agrees("f32", "u32"), agrees("b64", "f32", is_relaxed=True)
    (True, True, False, True)
    """
    if "pred" in (register, expected):
        return register == expected
    given, wanted = bits_of_type(register), _bits(expected)
    if given != wanted and not (is_relaxed and given > wanted):
        return False
    found = _PLAIN.match(expected)
    if found is None or expected == "f16":
        allowed = _PACKED.get(expected, (f"b{wanted}",))
        return register in allowed or (is_relaxed and register[0] == "b")
    if register[0] == "b" or found[1] == "b":
        return True
    if register == "f16x2":
        return found[1] in "us"
    if "f" in (register[0], found[1]):
        return register == expected
    return True


def _bits(expected: str) -> int:
    return CVT_TYPES[expected].bits if expected in CVT_TYPES else bits_of_type(expected)


def reason_against_register(register: Register, expected: str, *, is_relaxed: bool = False) -> str | None:
    """Return the reason why a register cannot be an operand of the expected type; None if it can."""
    if agrees(register.type, expected, is_relaxed=is_relaxed):
        return None
    given = f"{register.name} is a register of .{register.type}"
    if register.type == "pred" or expected == "pred":
        return f"{given}; expected .{expected}"
    bits, wanted = bits_of_type(register.type), _bits(expected)
    if bits != wanted:
        return f"{given}, {bits} bits; expected .{expected}, {wanted} bits"
    return f"{given}; expected .{expected} or .b{wanted}: move it with mov.b{wanted}"


def reason_against_constant(constant: Immediate, expected: str) -> str | None:
    """Return the reason why a constant cannot be an operand of the expected type; None if it can.

    Integer constants are operands of integer types and untyped bits; floating-point constants are operands of f32, f64,
    and untyped bits of their width.

    Examples
    --------
    >>> reason_against_constant(Immediate("f32", 0x3F800000), "f32") is None
    True
    >>> reason_against_constant(Immediate("int", 4608), "f32")
    'the integer 4608 cannot be an operand of .f32: write 4608.0, or the bit pattern 0f00001200'
    """
    is_float = constant.kind != "int"
    if expected in ("f32", "f64"):
        if is_float:
            return None
        bits = int(expected[1:])
        pattern = f"0{'f' if bits == 32 else 'd'}{constant.value % (1 << bits):0{bits // 4}X}"
        number = constant.value
        message = f"the integer {number} cannot be an operand of .{expected}: "
        return message + f"write {number}.0, or the bit pattern {pattern}"
    plain = _PLAIN.match(expected)
    if plain is None or plain[1] == "f":
        return f"a constant cannot be an operand of .{expected}: mov it into a register" if expected != "pred" else None
    if is_float and (plain[1] != "b" or constant.kind[1:] != plain[2]):
        return f"a floating-point constant cannot be an operand of .{expected}: write an integer, or its bit pattern"
    return None


def kinds_of(operands: tuple[Operand | None, ...]) -> tuple[object, ...]:
    """Return the properties of operands that the checks depend on: register types, values of constants, and others.

    Instructions with the same opcode and operands of the same kinds are all legal, or all illegal.

    Examples
    --------
    >>> kinds_of((Register(0, "%f1", "f32"), AddressOperand(Register(1, "%rd1", "b64"), 16), None))
    ('f32', ('[', 'b64'), None)
    """
    return tuple([x.type if type(x) is Register else _kind(x) for x in operands])


def _kind(operand: Operand | None) -> object:
    if isinstance(operand, AddressOperand):
        base = operand.base
        return "[", base.type if type(base) is Register else type(base)
    if isinstance(operand, VectorOperand):
        return kinds_of(operand.elements)
    if isinstance(operand, PairOperand):
        return "|", *kinds_of((operand.first, operand.second))
    return operand


def describe(operand: Operand | None) -> str:
    """Describe an operand for a message.

    Examples
    --------
    >>> describe(None), describe(SpecialRegister("tid.x"))
    ('the sink _', 'the special register %tid.x')
    """
    if isinstance(operand, Register):
        return f"the register {operand.name}"
    if isinstance(operand, Immediate):
        return "a constant"
    if isinstance(operand, SpecialRegister):
        return f"the special register %{operand.name}"
    if isinstance(operand, Symbol):
        return f"the variable {operand.name}"
    if isinstance(operand, AddressOperand):
        return "an address in [ ]"
    if isinstance(operand, Predicate):
        return f"!{operand.register.name}"
    if isinstance(operand, VectorOperand):
        return "a vector"
    return "a pair" if isinstance(operand, PairOperand) else "the sink _"
