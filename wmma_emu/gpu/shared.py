# SPDX-License-Identifier: MIT
"""Operands of `wgmma` in shared memory on a GPU: the bytes of each tile, and a descriptor."""

from typing import Any, Literal

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import Instruction
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.warp.shared_operand import SharedOperand, in_shared_memory, lines_of

_UNIT = 16
"""The bytes that a thread copies at once."""


def shared_operand(entry: Instruction, operand: Literal["a", "b"], given: Any, checked: bool = True) -> SharedOperand:
    """Lay out an operand as `wgmma` reads it, in whole units of 16 bytes.

    A `SharedOperand` is used as it is; a matrix, (..., 64, terms) or (..., K, N), is laid out without swizzle, k
    contiguous, atom after atom. If it is not checked, a descriptor may be one that the emulator rejects.
    """
    bound = BoundOperand(entry, operand, entry.archs[0])
    if not isinstance(given, SharedOperand):
        return in_shared_memory(bound, given)
    if given.transpose and bound.format.bits != 16:
        raise UnsupportedInstructionError(f"{entry.mnemonic} cannot transpose {bound.name}: it is {bound.format}")
    missing = -given.memory.shape[-1] % _UNIT
    memory = np.pad(given.memory, [(0, 0)] * (given.memory.ndim - 1) + [(0, missing)])
    if checked:
        first = given.memory.reshape(-1, given.memory.shape[-1])[:1]
        SharedOperand(first, given.descriptor, given.transpose).read(*lines_of(entry, operand), bound.format)
    return SharedOperand(memory, given.descriptor, given.transpose)
