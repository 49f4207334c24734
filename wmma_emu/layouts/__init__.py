# SPDX-License-Identifier: MIT
"""Where does each element live: (lane, register, bit) <-> (row, column), with proofs that none is missed."""

from wmma_emu.layouts.block_scales import ScaleMap, ScaleSelectors, scale_map, scale_selectors_of
from wmma_emu.layouts.lookup import layout_for
from wmma_emu.layouts.metadata import (
    Granularity,
    MetadataMap,
    granularity_of,
    metadata_map,
    selectors_of,
)
from wmma_emu.layouts.metadata_registers import pack_metadata, unpack_metadata
from wmma_emu.layouts.spec import LaneMap, Location
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


def __dir__() -> list[str]:
    return sorted(__all__)
