# SPDX-License-Identifier: MIT
"""The modifiers of ld and st: state space, vector, type, ordering, and hints."""

import re
from typing import NamedTuple

import numpy as np

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    Operand,
    Predicate,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.steps.addresses import address_operand, space_of
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type

ORDERINGS = ("weak", "relaxed", "acquire", "release", "acq_rel", "seq_cst", "volatile", "mmio")
SCOPES = ("cta", "cluster", "gpu", "sys")
_HINT = re.compile(
    r"(ca|cg|cs|cv|lu|wb|wt|nc|L1::(evict_(normal|unchanged|first|last)|no_allocate)"
    r"|L2::(evict_(normal|first|last)|cache_hint|64B|128B|256B)|level::eviction_priority)\Z"
)
_TYPE = re.compile(r"([busf])(8|16|32|64)\Z")


class Access(NamedTuple):
    """A load or store of ``length`` elements of ``type`` with ``size`` bytes each."""

    space: str
    type: str
    size: int
    length: int
    ordering: str
    signed: bool
    address: AddressOperand
    elements: tuple[Operand | None, ...]


def require_values(instruction: PtxInstruction, *operands: Operand | None) -> None:
    """Raise an error unless all operands have a value: sinks, vectors and addresses are refused."""
    for operand in operands:
        if not isinstance(operand, Register | Immediate | Predicate | SpecialRegister | Symbol):
            raise refusal(instruction, f"expects a register, a number or a variable, not {describe(operand)}")


def written_register(instruction: PtxInstruction, operand: Operand | None, what: str = "a register") -> Register | None:
    """Return the destination of an instruction with one result: a register, or the sink."""
    if operand is not None and not isinstance(operand, Register):
        raise refusal(instruction, f"expects {what} as its destination, not {describe(operand)}")
    return operand


def is_hint(modifier: str) -> bool:
    """Return whether a modifier affects only the speed of an access."""
    return _HINT.match(modifier) is not None


def elements_of(operand: Operand | None) -> tuple[Operand | None, ...]:
    """Return the elements of a vector operand; any other operand is its only element."""
    return operand.elements if isinstance(operand, VectorOperand) else (operand,)


def parse_access(instruction: PtxInstruction, address_at: int, data_at: int) -> Access:
    """Decode the modifiers and operands of ld, ldu or st."""
    if len(instruction.operands) < 2:
        raise refusal(instruction, "expects an address and a register")
    count, ordering, name = 1, "weak", instruction.modifiers[-1] if instruction.modifiers else ""
    kind = _TYPE.match(name)
    if kind is None:
        types = "legal types are .b, .u and .s of 8 to 64 bits, .f32, .f64, and .b128 for a register of .b128"
        raise refusal(instruction, f"{name!r} is not a type of loads and stores; {types}")
    for modifier in instruction.modifiers[:-1]:
        if modifier in ("v2", "v4", "v8"):
            count = int(modifier[1:])
        elif modifier in ORDERINGS:
            ordering = modifier
        elif not (modifier in SCOPES or is_hint(modifier) or modifier.split("::")[0] in _STATE_SPACES):
            raise refusal(instruction, f".{modifier} is not a modifier of {instruction.mnemonic}")
    address = address_operand(instruction, instruction.operands[address_at])
    elements = elements_of(instruction.operands[data_at])
    size = int(kind[2]) // 8
    if len(elements) != count:
        raise refusal(instruction, f"has a vector of {len(elements)} registers; its modifiers require {count}")
    if size * count > 32 or (count == 8 and size != 4):
        vectors = "legal vectors are .v2 and .v4 of all types, and .v8 of 32-bit types"
        raise refusal(instruction, f"accesses more than 32 bytes; {vectors}")
    return Access(space_of(instruction, address), name, size, count, ordering, kind[1] == "s", address, elements)


_STATE_SPACES = ("global", "const", "shared", "local", "param")


def extended(value: Array, register: Register, signed: bool) -> Array:
    """Return a loaded value of an .s type sign-extended to its register; `State.write` extends with zeros."""
    bits = bits_of_type(register.type)
    if not signed or bits <= value.dtype.itemsize * 8:
        return value
    wide = value.view(f"i{value.dtype.itemsize}").astype(f"i{bits // 8}")
    return np.asarray(wide).view(f"u{bits // 8}")
