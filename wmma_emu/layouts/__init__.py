# SPDX-License-Identifier: MIT
"""Register layouts: the map (lane, register, bit) <-> (row, column) of operands, checked to cover every element."""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from wmma_emu.layouts.block_scales import ScaleMap, ScaleSelectors, scale_map, scale_selectors_of
    from wmma_emu.layouts.lane_map import LaneMap
    from wmma_emu.layouts.lookup import layout_for
    from wmma_emu.layouts.metadata import (
        Granularity,
        MetadataMap,
        granularity_of,
        metadata_map,
        selectors_of,
    )
    from wmma_emu.layouts.metadata_registers import pack_metadata, unpack_metadata
    from wmma_emu.layouts.spec import Location
    from wmma_emu.layouts.wmma import fragment_layout
    from wmma_emu.layouts.wmma_table import MemoryLayout, Use

__all__ = [
    "Granularity",
    "LaneMap",
    "Location",
    "MemoryLayout",
    "MetadataMap",
    "ScaleMap",
    "ScaleSelectors",
    "Use",
    "fragment_layout",
    "granularity_of",
    "layout_for",
    "metadata_map",
    "pack_metadata",
    "scale_map",
    "scale_selectors_of",
    "selectors_of",
    "unpack_metadata",
]

_HOMES = {
    "block_scales": ("ScaleMap", "ScaleSelectors", "scale_map", "scale_selectors_of"),
    "lane_map": ("LaneMap",),
    "lookup": ("layout_for",),
    "metadata": ("Granularity", "MetadataMap", "granularity_of", "metadata_map", "selectors_of"),
    "metadata_registers": ("pack_metadata", "unpack_metadata"),
    "spec": ("Location",),
    "wmma": ("fragment_layout",),
    "wmma_table": ("MemoryLayout", "Use"),
}  # fmt: skip
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers know the names, and would take any other for one too
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
