# SPDX-License-Identifier: MIT
"""What goes to a GPU when `wgmma` reads an operand from shared memory: bytes for each tile, and a descriptor."""

from typing import Any, Literal

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import Instruction
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.warp.shared_operand import SharedOperand, in_shared_memory, lines_of

_UNIT = 16
"""Bytes that a thread copies at once."""


def shared_operand(row: Instruction, operand: Literal["a", "b"], given: Any, checked: bool = True) -> SharedOperand:
    """Lay an operand out as `wgmma` reads it, in whole units of 16 bytes.

    What is given is a `SharedOperand`; or a matrix, (..., 64, terms) or (..., K, N), which is laid out without swizzle,
    k contiguous, atom beside atom. A descriptor need not be one that the emulator takes if it is not to be checked.
    """
    bound = BoundOperand(row, operand, row.archs[0])
    if not isinstance(given, SharedOperand):
        return in_shared_memory(bound, given)
    if given.transpose and bound.format.bits != 16:
        raise UnsupportedInstructionError(f"{row.mnemonic} cannot transpose {bound.name}: it is {bound.format}")
    missing = -given.memory.shape[-1] % _UNIT
    memory = np.pad(given.memory, [(0, 0)] * (given.memory.ndim - 1) + [(0, missing)])
    if checked:
        first = given.memory.reshape(-1, given.memory.shape[-1])[:1]
        SharedOperand(first, given.descriptor, given.transpose).read(*lines_of(row, operand), bound.format)
    return SharedOperand(memory, given.descriptor, given.transpose)
