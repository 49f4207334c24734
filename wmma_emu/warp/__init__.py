# SPDX-License-Identifier: MIT
"""Thirty-two lanes together: an instruction bound to a chip, and its operands' registers."""

from wmma_emu.warp.instruction import BoundInstruction, matrix_bits
from wmma_emu.warp.quad_pairs import matrix_of_copies
from wmma_emu.warp.registers import BoundOperand

__all__ = ["BoundInstruction", "BoundOperand", "matrix_bits", "matrix_of_copies"]
