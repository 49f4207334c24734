# SPDX-License-Identifier: MIT
"""Instructions of a warp or warpgroup bound to a chip, and their operands' registers."""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from wmma_emu.warp import schedule
    from wmma_emu.warp.block_scales import BoundScale
    from wmma_emu.warp.instruction import BoundInstruction
    from wmma_emu.warp.ldmatrix import ldmatrix
    from wmma_emu.warp.matrices import matrix_bits
    from wmma_emu.warp.matrix_instruction import BoundMatrixInstruction
    from wmma_emu.warp.movmatrix import movmatrix
    from wmma_emu.warp.quad_pairs import matrix_of_copies
    from wmma_emu.warp.registers import BoundOperand
    from wmma_emu.warp.stmatrix import stmatrix
    from wmma_emu.warp.warpgroup import BoundWarpgroupInstruction, SharedOperand, bound_instruction

__all__ = [
    "BoundInstruction",
    "BoundMatrixInstruction",
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

_HOMES = {
    "block_scales": ("BoundScale",),
    "instruction": ("BoundInstruction",),
    "ldmatrix": ("ldmatrix",),
    "matrices": ("matrix_bits",),
    "matrix_instruction": ("BoundMatrixInstruction",),
    "movmatrix": ("movmatrix",),
    "quad_pairs": ("matrix_of_copies",),
    "registers": ("BoundOperand",),
    "stmatrix": ("stmatrix",),
    "warpgroup": ("BoundWarpgroupInstruction", "SharedOperand", "bound_instruction"),
}  # fmt: skip
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers know the names, and would take any other for one too
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
