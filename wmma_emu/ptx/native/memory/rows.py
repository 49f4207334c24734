# SPDX-License-Identifier: MIT
"""The rows of memory and collective instructions, by mnemonic."""

from collections.abc import Callable

from wmma_emu.ptx.native.memory import address_rows, atomics, collectives, copies, loads_and_stores
from wmma_emu.ptx.native.rows import Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.lane_operations import CompileContext

ROWS: dict[str, Callable[[PtxInstruction, WarpLayout, CompileContext], Row]] = {
    "ld": loads_and_stores.load, "ldu": loads_and_stores.load, "st": loads_and_stores.store,
    "atom": atomics.atomic, "red": atomics.atomic, "cp": copies.copy, **collectives.ROWS,
    "cvta": address_rows.convert_address, "isspacep": address_rows.is_in_space, "mapa": address_rows.map_address,
    "getctarank": address_rows.zeros, "createpolicy": address_rows.zeros,
    "membar": address_rows.fence, "fence": address_rows.fence,
    "prefetch": address_rows.hint, "prefetchu": address_rows.hint, "applypriority": address_rows.hint,
    "griddepcontrol": address_rows.hint, "nanosleep": address_rows.hint,
}  # fmt: skip


def row_of(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row | None:
    """Return the row of an instruction, or None if the instruction does not belong to this package.

    Raises
    ------
    NotNativeError
        If this form of the instruction has no native code.
    """
    build = ROWS.get(instruction.mnemonic)
    return None if build is None else build(instruction, layout, context)
