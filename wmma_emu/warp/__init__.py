# SPDX-License-Identifier: MIT
"""Thirty-two lanes together: an instruction bound to a chip, and its operands' registers."""

from wmma_emu.warp import schedule
from wmma_emu.warp.block_scales import BoundScale
from wmma_emu.warp.instruction import BoundInstruction
from wmma_emu.warp.ldmatrix import ldmatrix
from wmma_emu.warp.matrices import matrix_bits
from wmma_emu.warp.movmatrix import movmatrix
from wmma_emu.warp.quad_pairs import matrix_of_copies
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.warp.stmatrix import stmatrix
from wmma_emu.warp.warpgroup import BoundWarpgroupInstruction, SharedOperand, bound_instruction

__all__ = [
    "BoundInstruction",
    "BoundOperand",
    "BoundScale",
    "BoundWarpgroupInstruction",
    "SharedOperand",
    "bound_instruction",
    "ldmatrix",
    "matrix_bits",
    "matrix_of_copies",
    "movmatrix",
    "schedule",
    "stmatrix",
]


def __dir__() -> list[str]:
    return sorted(__all__)
