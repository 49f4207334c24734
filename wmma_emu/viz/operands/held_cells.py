# SPDX-License-Identifier: MIT
"""The cells of an operand's picture: the elements of one register if they are adjacent, else one element."""

from collections import defaultdict
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.layouts import LaneMap


class HeldCell(NamedTuple):
    """A cell: its first element, in the lowest bits, and the lanes that hold the same elements in that register."""

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
        """The number of elements."""
        return self.rows * self.cols

    def data(self, layout: LaneMap) -> dict[str, Any]:
        """Return a cell's attributes: its first element, and its rows and columns if not 1."""
        bit = layout.bit_of(self.element)
        lanes = " ".join(str(x) for x in self.lanes)
        more = {"data_rows": self.rows} if self.rows > 1 else {}
        more |= {"data_cols": self.cols} if self.cols > 1 else {}
        more |= {"data_matrix": self.matrix} if layout.num_matrices > 1 else {}
        return {
            "data_row": self.row, "data_col": self.col, "data_lane": lanes, "data_index": self.element,
            "data_register": self.register, "data_bit": bit, **more,
        }  # fmt: skip


@lru_cache(maxsize=128)
def cell_size(layout: LaneMap) -> tuple[int, int]:
    """Return the rows and columns of a cell: those of a register if its elements are adjacent in all lanes.

    In all tables they are. In a user's layout, the elements of a register may be anywhere in the matrix: then each is
    a cell.

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
    registers = layout.coords_of_lanes[: layout.num_registers * count].reshape(-1, count, layout.num_lanes, 2)
    for size in ((1, count), (count, 1)):
        first = registers[:, :1] // size * size  # the origins of the cells of a grid
        steps = np.arange(count)[:, None, None] * (np.array(size) > 1)
        if layout.rows % size[0] == layout.cols % size[1] == 0 and np.array_equal(registers, first + steps):
            return size
    return 1, 1


def cells_per_register(layout: LaneMap) -> int:
    """Return the number of cells of a register: 1, or its number of elements if they are not adjacent."""
    rows, cols = cell_size(layout)
    return layout.elements_per_register // (rows * cols)


def cells_of_matrix(layout: LaneMap, rows: range | None = None, cols: range | None = None) -> list[HeldCell]:
    """Find the cells of a matrix or of a part of it, along rows; of duplicates, only those that the instruction reads.

    Lanes that hold the same elements in another register than the first such lane are not among a cell's lanes.

    Examples
    --------
    >>> import wmma_emu as we
    >>> a = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70").a.layout
    >>> cells_of_matrix(a)[1]
    HeldCell(matrix=0, row=0, col=2, rows=1, cols=2, lanes=(0, 8), element=2, register=1)
    """
    rows, cols = rows or range(layout.rows), cols or range(layout.cols)
    size = cell_size(layout)
    step = size[0] * size[1]
    firsts = layout.coords_of_lanes[: layout.read_elements : step]
    row, col = firsts[..., 0], firsts[..., 1]
    wanted = (rows.start <= row) & (row < rows.stop) & (cols.start <= col) & (col < cols.stop)
    numbers, lanes = np.nonzero(wanted)
    matrices = layout.matrix_of_lane.reshape(-1)[lanes]
    places = zip(*(x.tolist() for x in (matrices, row[wanted], col[wanted], numbers * step, lanes)), strict=True)
    holders: defaultdict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for matrix, first_row, first_col, element, lane in places:
        holders[matrix, first_row, first_col].append((element, lane))
    packed = layout.elements_per_register
    return [
        HeldCell(*key, *size, tuple(lane for i, lane in held if i == held[0][0]), held[0][0], held[0][0] // packed)
        for key, held in sorted(holders.items())
    ]


def cell_of(layout: LaneMap, lane: int, register: int, part: int = 0) -> HeldCell:
    """Return the cell of a lane's register, or one part of a register with several cells; part 0 is the lowest bits.

    Examples
    --------
    >>> import wmma_emu as we
    >>> cell_of(we.instruction("m16n8k32.s32.s8.s8.s32").b.layout, 5, 1)
    HeldCell(matrix=0, row=20, col=1, rows=4, cols=1, lanes=(5,), element=4, register=1)
    """
    rows, cols = cell_size(layout)
    first = register * layout.elements_per_register + part * rows * cols
    row, col = layout.coords_of_lanes[first, lane].tolist()
    matrix = int(layout.matrix_of_lane.reshape(-1)[lane])
    return HeldCell(matrix, row, col, rows, cols, (lane,), first, register)


def span(first: int, count: int) -> str:
    """Write consecutive numbers as a range.

    Examples
    --------
    >>> span(4, 2), span(4, 1)
    ('4–5', '4')
    """
    return str(first) if count == 1 else f"{first}–{first + count - 1}"
