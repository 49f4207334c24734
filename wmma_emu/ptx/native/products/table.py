# SPDX-License-Identifier: MIT
"""The rows of matrix instructions, by mnemonic."""

from collections.abc import Callable

from wmma_emu.ptx.native.products.mma import multiply_row
from wmma_emu.ptx.native.products.moves import load_row, store_row, transpose_row
from wmma_emu.ptx.native.products.tiles import transfer_row
from wmma_emu.ptx.native.products.wgmma import proxy_fence_row, warpgroup_row
from wmma_emu.ptx.native.rows import Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import CompileContext

_Make = Callable[[PtxInstruction, WarpLayout, CompileContext], Row | None]


def row_of(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row | None:
    """Return the row of a matrix instruction; None for other instructions.

    Raises
    ------
    NotNativeError
        If the instruction has no native code.
    """
    make = _ROWS.get(instruction.mnemonic)
    return None if make is None else make(instruction, layout, context)


def _wmma(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row:
    if instruction.modifiers[:1] == ("mma",):
        return multiply_row(instruction, layout, context)
    return transfer_row(instruction, layout, context)


_ROWS: dict[str, _Make] = {
    "mma": multiply_row,
    "wmma": _wmma,
    "movmatrix": transpose_row,
    "ldmatrix": load_row,
    "stmatrix": store_row,
    "wgmma": warpgroup_row,
    "fence": proxy_fence_row,
}
