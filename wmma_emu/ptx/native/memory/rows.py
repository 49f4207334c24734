# SPDX-License-Identifier: MIT
"""The rows of memory and collective instructions, by mnemonic."""

from collections.abc import Callable

from wmma_emu.ptx.native.memory import loads_and_stores
from wmma_emu.ptx.native.rows import Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import CompileContext

ROWS: dict[str, Callable[[PtxInstruction, WarpLayout, CompileContext], Row]] = {
    "ld": loads_and_stores.load, "ldu": loads_and_stores.load, "st": loads_and_stores.store,
}  # fmt: skip


def row_of(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row | None:
    """Return the row of an instruction, None if it is none of this package.

    Raises
    ------
    NotNativeError
        If this form of the instruction has no native code.
    """
    build = ROWS.get(instruction.mnemonic)
    return None if build is None else build(instruction, layout, context)
