# SPDX-License-Identifier: MIT
"""Pictures, as SVG and HTML that need nothing else: layouts, memory, schedules, explanations, and the explorer.

Objects ask for theirs by name, through `wmma_emu.display`; the functions here are imported when they are first used.
"""

from importlib import import_module
from typing import Any

_WHERE = {
    "Picture": "picture",
    "PictureFileError": "picture",
    "draw_explanation": "arithmetic.explanation",
    "draw_ldmatrix": "memory.ldmatrix_view",
    "draw_load_matrix_sync": "memory.load_view",
    "draw_matrix": "operands.matrix_view",
    "draw_registers": "operands.register_view",
    "draw_schedule": "schedules.schedule",
    "draw_shared_operand": "memory.swizzle_view",
    "explorer_page": "explorer",
    "handout_page": "explorer",
    "lane_colour": "palette",
    "ldmatrix_plan": "memory.ldmatrix_plan",
    "load_plan": "memory.load_plan",
    "plain_addresses": "memory.ldmatrix_plan",
    "row_conflicts": "memory.ldmatrix_plan",
    "shared_plan": "memory.shared_plan",
}
"""The module of every public name."""

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"wmma_emu.viz.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'wmma_emu.viz' has no attribute {name!r}; it has {', '.join(__all__)}")
