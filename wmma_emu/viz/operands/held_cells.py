# SPDX-License-Identifier: MIT
"""The cells of a picture of an operand: what one register holds, which are neighbours in the matrix."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.layouts import LaneMap

__all__ = ["HeldCell", "cell_of", "cell_size", "cells_of_matrix", "span"]


class HeldCell(NamedTuple):
    """What one register holds: its first element, at the lowest bits, and the lanes that hold the same."""

    matrix: int
    row: int
    col: int
    rows: int
    cols: int
    lanes: tuple[int, ...]
    element: int
    register: int

    @property
    def elements(self) -> int:
        """How many elements."""
        return self.rows * self.cols

    def data(self, layout: LaneMap, bit: int = 0) -> dict[str, Any]:
        """Say in a picture's attributes what a cell is: its first element, and rows and columns where not 1."""
        lanes = " ".join(str(x) for x in self.lanes)
        more = {"data_rows": self.rows} if self.rows > 1 else {}
        more |= {"data_cols": self.cols} if self.cols > 1 else {}
        more |= {"data_matrix": self.matrix} if layout.num_matrices > 1 else {}
        return {
            "data_row": self.row, "data_col": self.col, "data_lane": lanes, "data_index": self.element,
            "data_register": self.register, "data_bit": bit, **more,
        }  # fmt: skip


def cell_size(layout: LaneMap) -> tuple[int, int]:
    """Return how many rows and columns a register covers: elements that share one are neighbours.

    Examples
    --------
    >>> import wmma_emu as we
    >>> ins = we.instruction("m16n8k32.s32.s8.s8.s32")
    >>> cell_size(ins.a.layout), cell_size(ins.b.layout), cell_size(ins.d.layout)
    ((1, 4), (4, 1), (1, 1))
    """
    count = layout.elements_per_register
    if count == 1:
        return 1, 1
    (row, _), (next_row, _) = layout.coords_of_lanes[:2, 0]
    return (1, count) if row == next_row else (count, 1)


def cells_of_matrix(layout: LaneMap, rows: range | None = None, cols: range | None = None) -> list[HeldCell]:
    """Find the cells, matrix after matrix, along rows: of duplicates the ones that the instruction reads.

    Parameters
    ----------
    layout : LaneMap
    rows, cols : range, optional
        The part of the matrix that is wanted.

    Examples
    --------
    >>> import wmma_emu as we
    >>> a = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70").a.layout
    >>> cells_of_matrix(a)[1]
    HeldCell(matrix=0, row=0, col=2, rows=1, cols=2, lanes=(0, 8), element=2, register=1)
    """
    rows, cols = rows or range(layout.rows), cols or range(layout.cols)
    size = cell_size(layout)
    packed = layout.elements_per_register
    firsts = layout.coords_of_lanes[: layout.read_elements : packed]
    row, col = firsts[..., 0], firsts[..., 1]
    wanted = (rows.start <= row) & (row < rows.stop) & (cols.start <= col) & (col < cols.stop)
    registers, lanes = np.nonzero(wanted)
    matrices = layout.matrix_of_lane.reshape(-1)[lanes]
    places = zip(*(x.tolist() for x in (matrices, row[wanted], col[wanted], registers, lanes)), strict=True)
    holders: defaultdict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for matrix, first_row, first_col, register, lane in places:
        holders[matrix, first_row, first_col].append((register, lane))
    return [
        HeldCell(*key, *size, tuple(lane for _, lane in held), held[0][0] * packed, held[0][0])
        for key, held in sorted(holders.items())
    ]


def cell_of(layout: LaneMap, lane: int, register: int) -> HeldCell:
    """What a register of a lane holds.

    Examples
    --------
    >>> import wmma_emu as we
    >>> cell_of(we.instruction("m16n8k32.s32.s8.s8.s32").b.layout, 5, 1)
    HeldCell(matrix=0, row=20, col=1, rows=4, cols=1, lanes=(5,), element=4, register=1)
    """
    first = register * layout.elements_per_register
    row, col = layout.coords_of_lanes[first, lane].tolist()
    matrix = int(layout.matrix_of_lane.reshape(-1)[lane])
    return HeldCell(matrix, row, col, *cell_size(layout), (lane,), first, register)


def span(first: int, count: int) -> str:
    """Write neighbouring numbers in short.

    Examples
    --------
    >>> span(4, 2), span(4, 1)
    ('4–5', '4')
    """
    return str(first) if count == 1 else f"{first}–{first + count - 1}"
