# SPDX-License-Identifier: MIT
"""What the modifiers of ld and st say: state space, vector, type, ordering, and what is only a hint."""

import re
from typing import NamedTuple

import numpy as np

from wmma_emu.ptx.program.faults import refusal
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
    r"(ca|cg|cs|cv|lu|wb|wt|nc|unified|L1::(evict_(normal|unchanged|first|last)|no_allocate)"
    r"|L2::(evict_(normal|first|last)|cache_hint|64B|128B|256B)|level::eviction_priority)\Z"
)
_TYPE = re.compile(r"([busf])(8|16|32|64)\Z")


class Access(NamedTuple):
    """A load or a store: ``length`` elements of ``type``, ``size`` bytes each."""

    space: str
    type: str
    size: int
    length: int
    ordering: str
    signed: bool
    address: AddressOperand
    elements: tuple[Operand | None, ...]


def require_values(instruction: PtxInstruction, *operands: Operand | None) -> None:
    """Require operands that have a value in each thread: no sink, no vector, no address in brackets."""
    for operand in operands:
        if not isinstance(operand, Register | Immediate | Predicate | SpecialRegister | Symbol):
            raise refusal(instruction, f"reads a register, a number or a variable, not {operand or '_'}")


def written_register(instruction: PtxInstruction, operand: Operand | None, what: str = "a register") -> Register | None:
    """Require what an instruction of one result writes: a register, or the sink."""
    if operand is not None and not isinstance(operand, Register):
        raise refusal(instruction, f"writes {what}")
    return operand


def is_hint(modifier: str) -> bool:
    """Say whether a modifier changes how fast an access is, and nothing else."""
    return _HINT.match(modifier) is not None


def elements_of(operand: Operand | None) -> tuple[Operand | None, ...]:
    """Elements of a vector operand; of any other, itself."""
    return operand.elements if isinstance(operand, VectorOperand) else (operand,)


def parse_access(instruction: PtxInstruction, address_at: int, data_at: int) -> Access:
    """Read the modifiers and operands of ld, ldu or st."""
    if len(instruction.operands) < 2:
        raise refusal(instruction, "takes an address and a register")
    count, ordering, name = 1, "weak", instruction.modifiers[-1] if instruction.modifiers else ""
    kind = _TYPE.match(name)
    if kind is None:
        raise refusal(
            instruction, f"{name!r} is no type of loads and stores; there are .b .u .s of 8 to 64 bits, .f32, .f64"
        )
    for modifier in instruction.modifiers[:-1]:
        if modifier in ("v2", "v4", "v8"):
            count = int(modifier[1:])
        elif modifier in ORDERINGS:
            ordering = modifier
        elif not (modifier in SCOPES or is_hint(modifier) or modifier.split("::")[0] in _STATE_SPACES):
            raise refusal(instruction, f".{modifier} is no modifier of {instruction.mnemonic}")
    address = address_operand(instruction, instruction.operands[address_at])
    elements = elements_of(instruction.operands[data_at])
    size = int(kind[2]) // 8
    if len(elements) != count:
        raise refusal(instruction, f"has a vector of {len(elements)} registers where its modifiers say {count}")
    if size * count > 32 or (count == 8 and size != 4):
        raise refusal(instruction, "an access is of 32 bytes at most: .v2 .v4 of all types, .v8 of 32-bit ones")
    return Access(space_of(instruction, address), name, size, count, ordering, kind[1] == "s", address, elements)


_STATE_SPACES = ("global", "const", "shared", "local", "param")


def extended(value: Array, register: Register, signed: bool) -> Array:
    """Extend a loaded value to its register: with its sign for .s types; `State.write` extends with zeros."""
    bits = bits_of_type(register.type)
    if not signed or bits <= value.dtype.itemsize * 8:
        return value
    wide = value.view(f"i{value.dtype.itemsize}").astype(f"i{bits // 8}")
    return np.asarray(wide).view(f"u{bits // 8}")
