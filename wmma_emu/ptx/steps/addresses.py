# SPDX-License-Identifier: MIT
"""Address operands, ``[register + 16]``, ``[variable]`` and ``[64]``, evaluated to a 64-bit address for each thread."""

import numpy as np

from wmma_emu.ptx.program.faults import refusal, short_name
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import AddressOperand, Immediate, Operand, PtxInstruction, Register, Symbol
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type

_GENERIC = ("global", "shared", "local")
"""The state spaces of variables in an access without a state space; ptxas refuses .const and .param."""

_SPACES = {
    "global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func",
}  # fmt: skip


def address_operand(
    instruction: PtxInstruction, operand: Operand | None, spaces: tuple[str, ...] | None = None
) -> AddressOperand:
    """Return an operand if it is a legal address, else raise an error.

    ``spaces`` are the legal state spaces of a variable; the default is the space of the modifiers, else the spaces of
    generic addresses, as in ptxas.
    """
    if not isinstance(operand, AddressOperand) or operand.coordinates:
        raise refusal(instruction, f"expects an address, such as [register + constant], not {describe(operand)}")
    written = space_of(instruction)
    spaces = spaces or ((written.split("::")[0],) if written else _GENERIC)
    if isinstance(operand.base, Symbol):
        require_own_space(instruction, operand.base, spaces)
    elif isinstance(operand.base, Immediate) and spaces != ("local",):
        why = f"[{operand.base.value}] cannot be an address: only .local memory is addressed by numbers; use a register"
        raise refusal(instruction, why)
    return operand


def require_own_space(instruction: PtxInstruction, symbol: Symbol, spaces: tuple[str, ...]) -> None:
    """Raise an error unless a variable is declared in one of some state spaces."""
    declared = "param" if symbol.is_parameter else symbol.space
    if declared not in spaces:
        expected = " or ".join(f".{x}" for x in spaces)
        why = f"{short_name(symbol.name)} is a .{declared} variable; expected a variable of {expected}"
        raise refusal(instruction, why)


def space_of(instruction: PtxInstruction, operand: AddressOperand | None = None) -> str:
    """Return the state space of an access, "" for generic; without an operand, the space of the modifiers.

    Without a space in the modifiers, a variable is accessed in its own state space, as in ptxas, and an address in a
    register is generic. Parameters of functions are local memory.
    """
    written = next((x for x in instruction.modifiers if x in _SPACES), "")
    if operand is not None and isinstance(operand.base, Symbol) and (not written or written.startswith("param")):
        return operand.base.space
    return written


def addresses_of(state: State, operand: AddressOperand) -> Array:
    """Return the address of each thread, uint64; addresses in 32-bit registers wrap at 32 bits."""
    base, offset = operand.base, operand.offset
    if isinstance(base, Register):
        width = bits_of_type(base.type)
        value = state.read(base, f"b{width}")
        if offset:
            value = value + value.dtype.type(offset % (1 << width))
        return value if value.dtype == np.uint64 else value.astype(np.uint64)
    if isinstance(base, Symbol):
        return state.memory.address_of(base, offset)
    return np.full((1, 1, 1), (base.value + offset) % (1 << 64), np.uint64)
