# SPDX-License-Identifier: MIT
"""May an operand stand where a type is asked for: kinds and widths of registers, kinds of constants."""

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

_PLAIN = re.compile(r"([busf])(\d+)\Z")

_PACKED = {"f16x2": ("b32", "f16x2"), "u16x2": ("b32", "f16x2"), "s16x2": ("b32", "f16x2"), "f16": ("b16", "f16")}
"""Types of which ptxas takes registers of these types alone; of any other packed or small format, those of bits."""


@lru_cache(1 << 12)
def agrees(register: str, expected: str, *, is_relaxed: bool = False) -> bool:
    """Tell whether a register of a type may be an operand of a type.

    PTX ISA 9.1, Type Checking: bits agree with any type of their size, signed and unsigned integers with each other,
    floating-point types with themselves. ptxas 13.0 takes a register of .f16x2 for a word of bits or an integer. Where
    it ``is_relaxed``, in ld, st and cvt, a register may be wider, but for one of a floating-point type (Operand Size
    Exceeding Instruction-Type Size).

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
    if expected[:1] == "e" or expected[:2] == "ue":
        return 16 if expected.endswith("x2") else 32 if expected.endswith("x4") else 8
    return bits_of_type(expected)


def reason_against_register(register: Register, expected: str, *, is_relaxed: bool = False) -> str | None:
    """Say why a register is no operand of a type; None where it is one."""
    if agrees(register.type, expected, is_relaxed=is_relaxed):
        return None
    given = f"{register.name} is a register of .{register.type}"
    if register.type == "pred" or expected == "pred":
        return f"{given}; the operand is of .{expected}"
    bits, wanted = bits_of_type(register.type), _bits(expected)
    if bits != wanted:
        return f"{given}, {bits} bits, where the operand is of .{expected}, {wanted} bits"
    return f"{given} where the operand is of .{expected}, with which .b{wanted} agrees: move it with mov.b{wanted}"


def reason_against_constant(constant: Immediate, expected: str) -> str | None:
    """Say why a constant is no operand of a type; None where it is one.

    Integers are operands of integer types and of bits; those of floating point of f32, f64, and of bits of their width.

    Examples
    --------
    >>> reason_against_constant(Immediate("f32", 0x3F800000), "f32") is None
    True
    >>> reason_against_constant(Immediate("int", 4608), "f32")
    'the integer 4608 is no operand of .f32: write 4608.0, or the pattern 0f00001200'
    """
    is_float = constant.kind != "int"
    if expected in ("f32", "f64"):
        if is_float:
            return None
        bits = int(expected[1:])
        pattern = f"0{'f' if bits == 32 else 'd'}{constant.value % (1 << bits):0{bits // 4}X}"
        number = constant.value
        return f"the integer {number} is no operand of .{expected}: write {number}.0, or the pattern {pattern}"
    plain = _PLAIN.match(expected)
    if plain is None or plain[1] == "f":
        return f"a constant is no operand of .{expected}: mov it into a register" if expected != "pred" else None
    if is_float and (plain[1] != "b" or constant.kind[1:] != plain[2]):
        return f"a constant of floating point is no operand of .{expected}: write an integer, or its pattern"
    return None


def kinds_of(operands: tuple[Operand | None, ...]) -> tuple[object, ...]:
    """Tell what is judged of operands: types of registers, values of constants, and what else there is.

    Instructions of one opcode whose operands are of the same kinds are all legal, or none is.

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
    """Name an operand in a message.

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
