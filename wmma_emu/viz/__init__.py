# SPDX-License-Identifier: MIT
"""Pictures as self-contained SVG and HTML: layouts, memory, schedules, explanations, and the explorer.

Objects request their pictures by name, through `wmma_emu.display`; functions are imported when first used.
"""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # the same value as typing.TYPE_CHECKING
if TYPE_CHECKING:
    from wmma_emu.viz.arithmetic.explanation import draw_explanation
    from wmma_emu.viz.explorer import explorer_page, handout_page
    from wmma_emu.viz.memory.conflict_view import draw_bank_conflicts
    from wmma_emu.viz.memory.ldmatrix_plan import ldmatrix_plan, plain_addresses, row_conflicts
    from wmma_emu.viz.memory.ldmatrix_view import draw_ldmatrix
    from wmma_emu.viz.memory.load_plan import load_plan
    from wmma_emu.viz.memory.load_view import draw_load_matrix_sync
    from wmma_emu.viz.memory.shared_plan import shared_plan
    from wmma_emu.viz.memory.swizzle_view import draw_shared_operand
    from wmma_emu.viz.operands.matrix_view import draw_matrix
    from wmma_emu.viz.operands.register_view import draw_registers
    from wmma_emu.viz.operands.tile_view import draw_tile
    from wmma_emu.viz.palette import lane_color, lane_colour
    from wmma_emu.viz.picture import Picture, PictureFileError
    from wmma_emu.viz.schedules.schedule import draw_schedule

__all__ = [
    "Picture",
    "PictureFileError",
    "draw_bank_conflicts",
    "draw_explanation",
    "draw_ldmatrix",
    "draw_load_matrix_sync",
    "draw_matrix",
    "draw_registers",
    "draw_schedule",
    "draw_shared_operand",
    "draw_tile",
    "explorer_page",
    "handout_page",
    "lane_color",
    "lane_colour",
    "ldmatrix_plan",
    "load_plan",
    "plain_addresses",
    "row_conflicts",
    "shared_plan",
]

_HOMES = {
    "arithmetic.explanation": ("draw_explanation",),
    "explorer": ("explorer_page", "handout_page"),
    "memory.conflict_view": ("draw_bank_conflicts",),
    "memory.ldmatrix_plan": ("ldmatrix_plan", "plain_addresses", "row_conflicts"),
    "memory.ldmatrix_view": ("draw_ldmatrix",),
    "memory.load_plan": ("load_plan",),
    "memory.load_view": ("draw_load_matrix_sync",),
    "memory.shared_plan": ("shared_plan",),
    "memory.swizzle_view": ("draw_shared_operand",),
    "operands.matrix_view": ("draw_matrix",),
    "operands.register_view": ("draw_registers",),
    "operands.tile_view": ("draw_tile",),
    "palette": ("lane_color", "lane_colour"),
    "picture": ("Picture", "PictureFileError"),
    "schedules.schedule": ("draw_schedule",),
}
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers know the names, and would take any other for one too
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
