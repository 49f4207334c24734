# SPDX-License-Identifier: MIT
"""The drawn part of a large operand: the rows and registers of four warps repeat one pattern."""

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.spec import LANES
from wmma_emu.viz.operands.held_cells import cell_size, cells_per_register

_WINDOW = 16
"""The columns that are drawn of a matrix with too many cells: two tiles of an accumulator."""

_TILE = 8
"""The columns of an accumulator's tile."""

_MOST_REGISTERS = 16
"""The most registers of an operand that are all drawn; of more, the registers of two tiles are drawn."""

_MOST_CELLS, _MOST_BOXES = 1024, 2048
"""The most cells of a matrix, and registers of lanes, that are drawn of layouts without repetition."""


class Viewport(NamedTuple):
    """The drawn part of a matrix, and the rules by which the rest follows."""

    row: int
    col: int
    rows: int
    cols: int
    rules: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, layout: LaneMap, most_cells: int, at: tuple[int, int] = (0, 0)) -> "Viewport":
        """Return the whole matrix, or the part around an element if a warpgroup's matrix has too many cells.

        The rows of all warps have the same pattern, and so has every group of eight columns of an accumulator. If not,
        in a user's layout, the whole matrix is returned.

        Examples
        --------
        >>> import wmma_emu as we
        >>> d = we.instruction("wgmma.m64n256k16.f32.f16.f16").d.layout
        >>> Viewport.of(d, 512, (40, 200))[:4]
        (32, 192, 16, 16)
        >>> Viewport.of(we.instruction("wgmma.m64n8k16.f32.f16.f16").d.layout, 512)
        Viewport(row=0, col=0, rows=64, cols=8, rules=())
        """
        tall, wide = cell_size(layout)
        if layout.rows * layout.cols <= most_cells * tall * wide or not _warps_repeat(layout):
            return cls(0, 0, layout.rows, layout.cols)._part(layout, max(most_cells, _MOST_CELLS), at)
        rows = layout.rows * LANES // layout.num_lanes
        rules = [("more rows", f"{rows} further down: the next warp, T + {LANES}")]
        row, col, cols = at[0] // rows * rows, 0, layout.cols
        coords = layout.coords_of_lanes
        tile = len(coords) * 8 // cols
        if cols > 2 * _WINDOW and np.array_equal(coords[tile:], coords[:-tile] + np.array((0, 8))):
            rules.append(("more columns", f"8 further on: the same lanes, x + {tile}"))
            col, cols = at[1] // _WINDOW * _WINDOW, _WINDOW
            col = min(col, layout.cols - cols)  # n is a multiple of 8
        return cls(row, col, rows, cols, tuple(rules))._part(layout, max(most_cells, _MOST_CELLS), at)

    def _part(self, layout: LaneMap, most: int, at: tuple[int, int]) -> "Viewport":
        """Return the part around an element, if the layout has too many cells to draw."""
        tall, wide = cell_size(layout)
        if layout.num_matrices * self.rows * self.cols <= most * tall * wide:
            return self
        side = max(isqrt(most // layout.num_matrices), 1)
        rows, cols = min(side * tall, self.rows), min(side * wide, self.cols)
        row = min(at[0] // rows * rows, self.row + self.rows - rows) // tall * tall
        col = min(at[1] // cols * cols, self.col + self.cols - cols) // wide * wide
        rest = ("the rest", "element=(row, column) draws the part around an element, a larger most_cells more of it")
        return Viewport(row, col, rows, cols, (*self.rules, rest))

    @property
    def is_of_one_warp(self) -> bool:
        """Whether the part is all rows of one of four warps with the same pattern."""
        return bool(self.rules) and self.rules[0][0] == "more rows" and self.rules[-1][0] != "the rest"

    @property
    def ranges(self) -> tuple[range, range]:
        """The rows and columns of the part."""
        return range(self.row, self.row + self.rows), range(self.col, self.col + self.cols)


class RegisterWindow(NamedTuple):
    """The drawn registers, and the rules by which the rest follows."""

    lanes: range
    registers: range
    rules: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, layout: LaneMap, held: NDArray[np.bool_] | None) -> "RegisterWindow":
        """Return all registers, or those of one of four equal warps around the first highlighted element.

        Examples
        --------
        >>> import wmma_emu as we
        >>> d = we.instruction("wgmma.m64n256k16.f32.f16.f16").d.layout
        >>> RegisterWindow.of(d, (d.coords_of_lanes == (40, 200)).all(axis=-1))
        RegisterWindow(lanes=range(64, 96), registers=range(96, 104), rules=(('more warps', 'T + 32: 16 rows further \
down'), ('more registers', '4 further on: 8 columns to the right')))
        """
        if not _warps_repeat(layout):
            return cls(range(layout.num_lanes), range(layout.num_registers))._part(layout, held)
        lane, element = (0, 0) if held is None else np.argwhere(held.T)[0].tolist()
        first = lane // LANES * LANES
        lanes, registers = range(first, first + LANES), range(layout.num_registers)
        rules = [("more warps", f"T + {LANES}: {layout.rows * LANES // layout.num_lanes} rows further down")]
        step = _TILE * layout.num_registers // layout.cols
        coords, further = layout.coords_of_lanes, step * layout.elements_per_register
        repeats = np.array_equal(coords[further:], coords[:-further] + np.array((0, _TILE)))
        if len(registers) > _MOST_REGISTERS and repeats:
            start = layout.register_of(element) // (2 * step) * (2 * step)
            registers = range(start, min(start + 2 * step, layout.num_registers))
            rules.append(("more registers", f"{step} further on: {_TILE} columns to the right"))
        return cls(lanes, registers, tuple(rules))._part(layout, held)

    def _part(self, layout: LaneMap, held: NDArray[np.bool_] | None) -> "RegisterWindow":
        """Return the registers around the first highlighted element, if there are too many."""
        most = max(_MOST_BOXES // (len(self.lanes) * cells_per_register(layout)), 1)
        if len(self.registers) <= most:
            return self
        first = 0 if held is None else int(np.flatnonzero(held.any(axis=1))[0]) // layout.elements_per_register
        first = min(max(first // most * most, self.registers[0]), self.registers[-1] + 1 - most)
        rest = ("the rest", "register=... draws the registers around one")
        return RegisterWindow(self.lanes, range(first, first + most), (*self.rules, rest))


def _warps_repeat(layout: LaneMap) -> bool:
    """Return whether there are four warps with equal layouts of successive rows."""
    if layout.num_lanes == LANES:
        return False
    coords = layout.coords
    further = np.array((layout.rows * LANES // layout.num_lanes, 0))
    return np.array_equal(coords[:, 1:], coords[:, :-1] + further)
