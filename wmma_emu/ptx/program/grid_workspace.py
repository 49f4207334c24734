# SPDX-License-Identifier: MIT
"""The workspace of a cooperative launch: where the blocks of a grid meet, and the registers that say its address."""

from wmma_emu.ptx.program.program import Instruction, KernelProgram, Special

__all__ = ["WORKSPACE_BYTES", "reads_grid_workspace", "workspace_registers"]

WORKSPACE_BYTES = 64
"""Bytes that the launch gives. The kernels that nvcc 13.0 makes of ``grid_group::sync`` use the word at 4 alone."""

_UPPER, _LOWER = "envreg1", "envreg2"


def workspace_registers(address: int) -> dict[str, int]:
    """What the registers read that say a workspace's address, half of it each.

    Examples
    --------
    >>> {name: hex(value) for name, value in workspace_registers(0x7F0000010000).items()}
    {'envreg1': '0x7f00', 'envreg2': '0x10000'}
    """
    return {_UPPER: address >> 32, _LOWER: address & 0xFFFFFFFF}


def reads_grid_workspace(program: KernelProgram) -> bool:
    """Tell whether a kernel asks for the address of its grid's workspace, as ``cooperative_groups::this_grid`` does."""
    return any(_reads(x) for x in program.instructions)


def _reads(instruction: Instruction) -> bool:
    return any(isinstance(x, Special) and x.name in (_UPPER, _LOWER) for x in instruction.operands)
