# SPDX-License-Identifier: MIT
"""The rule of every fragment since Turing: runs of neighbours, eight rows of four lanes, then doubled."""

from typing import NamedTuple

import numpy as np

from wmma_emu.layouts.spec import LANES, Ints


class Tiling(NamedTuple):
    """A fragment described by one table entry.

    Lane ``4 * group + thread`` holds ``run`` neighbours of row ``group``, beginning at column
    ``thread * run``: a tile of 8 rows and ``4 * run`` columns. Every letter of ``steps`` doubles the tile,
    and with it the elements of a lane: ``d`` puts the second half below the first (down), ``a`` next to it
    (across). ``times`` is the number of such tiles side by side. ``transposed`` swaps rows and columns at the end.

    Examples
    --------
    >>> Tiling(run=2, steps="da").coords()[:, 5].tolist()
    [[1, 2], [1, 3], [9, 2], [9, 3], [1, 10], [1, 11], [9, 10], [9, 11]]
    >>> Tiling(run=2, steps="da").shape, Tiling(run=2, steps="a", transposed=True).shape
    ((16, 16), (16, 8))
    """

    run: int
    steps: str = ""
    transposed: bool = False
    times: int = 1

    @classmethod
    def over(cls, rows: int, cols: int, run: int, transposed: bool = False) -> "Tiling":
        """Tile a matrix as `mma.sync` does: down first, then across."""
        down = (rows // 8).bit_length() - 1
        across = (cols // (4 * run)).bit_length() - 1
        return cls(run, "d" * down + "a" * across, transposed)

    @property
    def num_elements(self) -> int:
        """The number of elements of a lane."""
        return (self.run << len(self.steps)) * self.times

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        rows = 8 << self.steps.count("d")
        cols = (4 * self.run << self.steps.count("a")) * self.times
        return (cols, rows) if self.transposed else (rows, cols)

    def coords(self) -> Ints:
        """Return row and column of every element of every lane: (num_elements, 32, 2)."""
        element = np.arange(self.num_elements)[:, None]
        lane = np.arange(LANES)
        row = np.broadcast_to(lane // 4, (self.num_elements, LANES))
        col = lane % 4 * self.run + element % self.run
        height, width = 8, 4 * self.run
        half = element // self.run
        for step in self.steps:
            if step == "d":
                row, height = row + half % 2 * height, 2 * height
            else:
                col, width = col + half % 2 * width, 2 * width
            half = half // 2
        col = col + half * width
        return np.stack((col, row) if self.transposed else (row, col), axis=-1)
