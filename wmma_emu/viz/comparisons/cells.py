# SPDX-License-Identifier: MIT
"""The cells of a picture of D: elements, or the worst element of each block if D is too large, or a batch."""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.distance import NOT_COMPARABLE

_MOST_LINES = 128
"""The most rows and columns of cells: more would not be distinguishable."""

_MOST_CELLS = 128 * 128
"""The most cells of all panels together: each cell with its text takes a few hundred bytes."""


class Reduction(NamedTuple):
    """The blocks of rows and columns that become cells; all matrices of a batch share them."""

    matrices: int
    rows: int
    columns: int
    block_rows: int
    block_columns: int

    @classmethod
    def of(cls, shape: tuple[int, ...], panels: int) -> "Reduction":
        """Choose blocks for D of a shape and a number of panels.

        Examples
        --------
        >>> Reduction.of((3, 300, 20), 1)
        Reduction(matrices=3, rows=300, columns=20, block_rows=3, block_columns=1)
        """
        *batch, rows, columns = shape
        tall, wide = (max(-(-x // _MOST_LINES), 1) for x in (rows, columns))
        while (down := -(-rows // tall)) * (across := -(-columns // wide)) * panels > _MOST_CELLS:
            tall, wide = (tall + 1, wide) if down >= across else (tall, wide + 1)
        return cls(prod(batch), rows, columns, tall, wide)

    @property
    def cell_rows(self) -> int:
        """Rows of cells."""
        return -(-self.rows // self.block_rows)

    @property
    def cell_columns(self) -> int:
        """Columns of cells."""
        return -(-self.columns // self.block_columns)

    @property
    def note(self) -> str:
        """A sentence that explains a cell, empty if it is one element."""
        parts = []
        if self.block_rows * self.block_columns > 1:
            parts.append(f"{self.block_rows} × {self.block_columns} neighbours")
        if self.matrices > 1:
            parts.append(f"the {self.matrices} matrices of the batch")
        return f"Each cell is the worst element of {', in '.join(parts)}." if parts else ""


class Cell(NamedTuple):
    """A cell with elements whose bits differ: its position, its worst element, and the number that differ."""

    row: int
    column: int
    where: tuple[int, ...]
    differing: int
    elements: int


def cells(ulps: NDArray[np.uint64], differ: NDArray[np.bool_], reduction: Reduction) -> Iterator[Cell]:
    """Reduce distances to the cells in which any bits differ, row by row.

    The worst element of a cell is the first with the greatest distance; NaN is further than every number, and a zero of
    the other sign nearer.
    """
    if not ulps.size:
        return
    batch = ulps.shape[:-2]
    flat = (reduction.matrices, reduction.rows, reduction.columns)
    ulps, differ = ulps.reshape(flat), differ.reshape(flat)
    tall, wide = reduction.block_rows, reduction.block_columns
    for row in range(reduction.cell_rows):  # slice by slice, so that a large D is not copied at once
        top = row * tall
        part = slice(top, top + tall)
        steps, other = ulps[:, part], differ[:, part]
        if not other.any():
            continue
        severity = np.where(steps == NOT_COMPARABLE, steps, steps + np.uint64(1))
        severity[~other] = 0
        height = severity.shape[1]
        missing = reduction.cell_columns * wide - reduction.columns
        padded = np.pad(severity, ((0, 0), (0, 0), (0, missing))).reshape(-1, height, reduction.cell_columns, wide)
        blocks = padded.transpose(2, 0, 1, 3).reshape(reduction.cell_columns, -1)
        worst, counts = blocks.argmax(axis=1), np.count_nonzero(blocks, axis=1)
        for column in np.flatnonzero(counts).tolist():
            matrix, y, x = np.unravel_index(worst[column], (reduction.matrices, height, wide))
            width = min(wide, reduction.columns - column * wide)
            where = (*(np.unravel_index(matrix, batch) if batch else ()), top + y, column * wide + x)
            elements = reduction.matrices * height * width
            yield Cell(row, column, tuple(int(i) for i in where), int(counts[column]), elements)
