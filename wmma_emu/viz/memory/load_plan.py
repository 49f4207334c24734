# SPDX-License-Identifier: MIT
"""The elements of a fragment's tile in memory, as data: positions, bytes, lanes, segments."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wmma_emu.errors import OutOfBoundsError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.banks import segments_of
from wmma_emu.layouts.spec import Ints
from wmma_emu.layouts.wmma_table import MemoryLayout
from wmma_emu.memory import Pointer
from wmma_emu.wmma.fragments import Fragment, require_fragment
from wmma_emu.wmma.load_store import load_matrix_sync
from wmma_emu.wmma.names import FragmentLayout, FragmentUse, MemoryOrder
from wmma_emu.wmma.tiles import Tile

_LARGEST_LDM = 1 << 20


@dataclass(frozen=True, eq=False)
class LoadPlan:
    """The position of a tile in memory, and the lanes that hold its elements.

    Parameters
    ----------
    cpp_type, arch : str
        The fragment.
    order : {"row", "col"}
        The elements that are contiguous in memory: those of a row, or of a column.
    ldm : int
        Elements from one row (column) to the next.
    start : int
        The number of elements before the tile's first one.
    format : Format
    positions : int array, (rows, cols)
        The position of each element, in elements from the start of the memory.
    lane_map : LaneMap
        The lanes that hold each element.

    Examples
    --------
    >>> from wmma_emu import wmma
    >>> a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    >>> plan = load_plan(a, 24)
    >>> plan.positions[2, :3].tolist(), plan.bit_addresses[2, 1] // 8
    ([48, 49, 50], np.int64(98))
    >>> len(plan.segments), plan.holders(9, 3)
    (24, [(5, (3,))])
    """

    cpp_type: str
    arch: str
    order: MemoryLayout
    ldm: int
    start: int
    format: Format
    positions: Ints
    lane_map: LaneMap

    @property
    def bit_addresses(self) -> Ints:
        """The first bit of each element; 4-bit and 1-bit elements are packed, the first in the lowest bits."""
        found: Ints = self.positions * self.format.bits
        return found

    @property
    def segments(self) -> Ints:
        """The 32-byte segments that the tile accesses, for memory that begins at a multiple of 32 bytes."""
        return segments_of(self.bit_addresses.reshape(-1) // 8, max(self.format.bits // 8, 1))

    @property
    def tile_bytes(self) -> int:
        """The bytes of the elements alone."""
        return self.positions.size * self.format.bits // 8

    def holders(self, row: int, col: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return the lanes that hold an element, each with the indices of the elements ``x[i]``; of copies, those that
        are read.

        Lanes whose elements are copies that no product reads are omitted.
        """
        found: dict[int, list[int]] = {}
        for place in self.lane_map.locate(row, col):
            if place.element < self.lane_map.read_elements:
                found.setdefault(place.lane, []).append(place.element)
        return [(lane, tuple(elements)) for lane, elements in sorted(found.items())]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can represent."""
        rows, cols = self.positions.shape
        return {
            "cpp_type": self.cpp_type, "arch": self.arch, "order": self.order, "ldm": self.ldm, "start": self.start,
            "element_bits": self.format.bits, "positions": self.positions.tolist(), "segments": self.segments.tolist(),
            "holders": [[self.holders(row, col) for col in range(cols)] for row in range(rows)],
            "source": self.lane_map.source, "status": self.lane_map.status,
        }  # fmt: skip


def load_plan(fragment: Fragment, ldm: int, layout: MemoryOrder | None = None, *, start: int = 0) -> LoadPlan:
    """Return where `load_matrix_sync` reads the elements of a fragment; reject what it would reject.

    Parameters
    ----------
    fragment : Fragment
        Only its type is used; it is not modified.
    ldm : int
        Elements from one row to the next (column-major: from one column to the next).
    layout : {mem_row_major, mem_col_major}
        The layout of an accumulator.
    start : int
        Elements from the start of the memory to the tile.

    Raises
    ------
    AlignmentError, FragmentMismatchError, OutOfBoundsError
        As `load_matrix_sync` raises; also for an ldm above 2^20, which is too large to draw.
    """
    require_fragment(fragment, "fragment", *FragmentUse)
    distance, offset = integer_of(ldm), integer_of(start)
    for name, given in (("ldm", distance), ("start", offset)):
        if given is not None and given > _LARGEST_LDM:
            raise OutOfBoundsError(f"{name} is {shorten(given)}; a picture shows at most {_LARGEST_LDM} elements")
    lane = fragment.lane_map
    told = fragment.layout or layout
    order: MemoryLayout = told.order if isinstance(told, FragmentLayout | MemoryOrder) else "row"
    tile = Tile(lane.rows, lane.cols, fragment.format, order, 1)
    indices = tile.indices(distance if distance is not None and distance > 0 else 1)
    memory = np.zeros(max(int(indices.max()), 0) + 1 + max(offset or 0, 0), dtype_of(fragment.format))
    like = Fragment(fragment.use, fragment.m, fragment.n, fragment.k, fragment.type, fragment.layout, fragment.arch)
    load_matrix_sync(like, Pointer(memory, start), ldm, layout)  # rejects what it would reject
    positions = indices + int(start)
    return LoadPlan(
        fragment.cpp_type, fragment.arch.name, order, int(ldm), int(start), fragment.format, positions, lane
    )
