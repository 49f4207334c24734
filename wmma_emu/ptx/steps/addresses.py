# SPDX-License-Identifier: MIT
"""Addresses of operands: ``[register + 16]``, ``[variable]``, ``[64]``, as 64-bit patterns of each thread."""

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.program import AddressOperand, Immediate, Instruction, Operand, Register, Symbol
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type

__all__ = ["address_operand", "addresses_of", "space_of"]

_SPACES = {
    "global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func",
}  # fmt: skip


def address_operand(instruction: Instruction, operand: Operand | None) -> AddressOperand:
    """Require an operand to be an address.

    Raises
    ------
    UnsupportedInstructionError
    """
    if isinstance(operand, AddressOperand) and not operand.coordinates:
        return operand
    if isinstance(operand, Register | Symbol | Immediate):
        return AddressOperand(operand)
    raise UnsupportedInstructionError(
        f"line {instruction.line}: {instruction.opcode} takes an address here, [register + constant] for one, "
        f"not {operand}"
    )


def space_of(instruction: Instruction, operand: AddressOperand | None = None) -> str:
    """Find the state space among the modifiers, "" for generic; parameters of calls are local memory."""
    for modifier in instruction.modifiers:
        if modifier in _SPACES:
            if operand is not None and isinstance(operand.base, Symbol) and modifier.startswith("param"):
                return operand.base.space
            return modifier
    return ""


def addresses_of(state: State, operand: AddressOperand) -> Array:
    """Compute the address of each thread, uint64; a 32-bit register wraps at 32 bits."""
    base, offset = operand.base, operand.offset
    if isinstance(base, Register):
        width = bits_of_type(base.type)
        value = state.read(base, f"b{width}")
        if offset:
            value = value + value.dtype.type(offset % (1 << width))
        return value if value.dtype == np.uint64 else value.astype(np.uint64)
    start = state.memory.address_of(base) if isinstance(base, Symbol) else base.value
    return np.full((1, 1, 1), (start + offset) % (1 << 64), np.uint64)
