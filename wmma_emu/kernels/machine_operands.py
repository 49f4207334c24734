# SPDX-License-Identifier: MIT
"""The registers in which calls of a Python kernel pass operands to the instructions of the PTX machine."""

from wmma_emu.ptx.program.program import AddressOperand, Operand, Register

LOOP_CONDITION = Register(0, "%again", "pred")
"""A register that represents the condition of a loop."""

_TYPES = {
    "shared": "b32", "barrier": "b32", "size": "b32", "count": "b32", "parity": "b32", "done": "pred",
    "global": "b64", "map": "b64",
    **{f"coordinate{i}": "b32" for i in range(5)}, **{f"offset{i}": "b16" for i in range(3)},
}  # fmt: skip

OPERANDS = {name: Register(i, f"%{name}", kind) for i, (name, kind) in enumerate(_TYPES.items(), 1)}
"""The registers of operands by name: addresses, numbers, and the result of a wait."""

REGISTERS = (LOOP_CONDITION, *OPERANDS.values())
"""All registers, by index."""


def address(name: str) -> AddressOperand:
    """Return the operand of an address.

    Examples
    --------
    >>> address("barrier").base
    Register(index=2, name='%barrier', type='b32')
    """
    return AddressOperand(OPERANDS[name])


def tensor(rank: int) -> AddressOperand:
    """Return the operand of a tensor map and coordinates."""
    return AddressOperand(OPERANDS["map"], 0, tuple(OPERANDS[f"coordinate{i}"] for i in range(rank)))


Operands = tuple[Operand | None, ...]
