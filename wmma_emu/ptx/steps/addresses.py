# SPDX-License-Identifier: MIT
"""Addresses of operands: ``[register + 16]``, ``[variable]``, ``[64]``, as 64-bit patterns of each thread."""

import numpy as np

from wmma_emu.ptx.program.faults import refusal, short_name
from wmma_emu.ptx.program.program import AddressOperand, Immediate, Operand, PtxInstruction, Register, Symbol
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type

_GENERIC = ("global", "shared", "local")
"""State spaces of the variables that an access without one may name; ptxas refuses .const and .param."""

_SPACES = {
    "global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func",
}  # fmt: skip


def address_operand(
    instruction: PtxInstruction, operand: Operand | None, spaces: tuple[str, ...] | None = None
) -> AddressOperand:
    """Require an operand to be an address.

    ``spaces`` are those that a variable may be in: that of the modifiers, else what generic addresses reach. ptxas is
    the source.
    """
    if not isinstance(operand, AddressOperand) or operand.coordinates:
        raise refusal(instruction, f"takes an address here, [register + constant] for one, not {operand}")
    written = space_of(instruction)
    spaces = spaces or ((written.split("::")[0],) if written else _GENERIC)
    if isinstance(operand.base, Symbol):
        require_own_space(instruction, operand.base, spaces)
    elif isinstance(operand.base, Immediate) and spaces != ("local",):
        raise refusal(
            instruction, f"[{operand.base.value}]: numbers are addresses of .local memory alone; use a register"
        )
    return operand


def require_own_space(instruction: PtxInstruction, symbol: Symbol, spaces: tuple[str, ...]) -> None:
    """Require a variable to be declared in one of some state spaces."""
    declared = "param" if symbol.is_parameter else symbol.space
    if declared not in spaces:
        expected = " or ".join(f".{x}" for x in spaces)
        raise refusal(instruction, f"{short_name(symbol.name)} is a .{declared} variable; expected one of {expected}")


def space_of(instruction: PtxInstruction, operand: AddressOperand | None = None) -> str:
    """Find the state space of an access, "" for generic; without an operand, what the modifiers say.

    Where the modifiers name none, that of a variable is its own, as in ptxas; an address in a register is generic, of
    whatever it was made. Parameters of functions are local memory.
    """
    written = next((x for x in instruction.modifiers if x in _SPACES), "")
    if operand is not None and isinstance(operand.base, Symbol) and (not written or written.startswith("param")):
        return operand.base.space
    return written


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
