# SPDX-License-Identifier: MIT
"""A picture of an operand in text: which lane holds which part of the matrix, in which elements."""

from collections.abc import Callable, Collection, Iterator
from itertools import accumulate
from typing import NamedTuple

from wmma_emu.cli.operand import span
from wmma_emu.cli.terminal import Line, Styled
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.layouts import LaneMap
from wmma_emu.palette import INK, lane_colour
from wmma_emu.viz.operands.held_cells import HeldCell, cell_size, cells_of_matrix
from wmma_emu.viz.operands.windows import Viewport

_WIDTH_OF_FILES = 100
_GAP = "   "
_MARK = "*"

Marked = Collection[tuple[int, int, int]]
"""The matrix, row and column of highlighted elements."""


class Grid(NamedTuple):
    """A drawing of a matrix or a part of it, with a cell for every register that the instruction reads.

    ``names`` is a key of `_NAMES`: the longest labels of cells with which the matrix fits the terminal.
    """

    layout: LaneMap
    window: Viewport
    names: str
    cells: dict[tuple[int, int, int], HeldCell]
    room: int
    marked: Marked

    def facts(self) -> list[tuple[str, str]]:
        """Return an explanation of the first cell, and the rules by which the matrix continues."""
        return [("a cell", self._first()), *self.window.rules]

    def _first(self) -> str:
        cell = self.cells[0, self.window.row, self.window.col]
        lanes = [str(x) for x in cell.lanes]
        text = f"{_NAMES[self.names](cell)}: lane{'s' * (len(lanes) > 1)} {', '.join(lanes)}"
        count = cell.elements
        if self.names == "lane":
            rule = self.layout.formulas.one_line()["index"]
            shared = f"; the {count} that share a register make a cell" if count > 1 else ""
            return f"{text}; the element is x[{rule}]{shared} (a wider terminal shows it in the cells)"
        elements = f"element{'s' * (count > 1)} {span(cell.element, count)}".replace("-", " to ")
        if self.names == "register":
            elements = f"register {cell.register}: {elements}"
        if count == 1:
            return f"{text}, {elements}"
        axis = f"{cell.rows} neighbouring rows" if cell.rows > 1 else f"{cell.cols} neighbouring columns"
        return f"{text}, {elements}, which share a register: {axis}"

    def lines(self) -> Iterator[Line]:
        """Draw the matrix.

        A matrix wider than the terminal is split by columns into stacked panels; independent products are
        drawn next to each other if they fit.
        """
        panels = [x for matrix in range(self.layout.num_matrices) for x in self._panels(matrix)]
        while panels:
            ends = accumulate(x.width + len(_GAP) for x in panels)
            count = max(1, sum(x - len(_GAP) <= self.room for x in ends))
            yield from _side_by_side(panels[:count])
            panels = panels[count:]
            if panels:
                yield ()

    def fits(self) -> bool:
        """Return whether no matrix is split."""
        return self._label_width() + 1 + len(self._columns()) * (self._cell_width() + 1) <= self.room

    def _columns(self) -> range:
        return range(self.window.col, self.window.col + self.window.cols, cell_size(self.layout)[1])

    def _rows(self) -> range:
        return range(self.window.row, self.window.row + self.window.rows, cell_size(self.layout)[0])

    def _label_width(self) -> int:
        return max(len(span(x, cell_size(self.layout)[0])) for x in self._rows())

    def _cell_width(self) -> int:
        heads = (span(x, cell_size(self.layout)[1]) for x in self._columns())
        return max(len(x) for x in (*heads, *map(self._text, self.cells.values())))

    def _is_marked(self, cell: HeldCell) -> bool:
        rows, cols = range(cell.row, cell.row + cell.rows), range(cell.col, cell.col + cell.cols)
        return any((cell.matrix, r, c) in self.marked for r in rows for c in cols)

    def _text(self, cell: HeldCell) -> str:
        return _NAMES[self.names](cell) + _MARK * self._is_marked(cell)

    def _piece(self, cell: HeldCell, width: int) -> Styled:
        """Return a cell in the colour of its lane; if cells are marked, only these are coloured."""
        style = f"{INK} on {lane_colour(cell.lanes[0])}"
        if self.marked:
            style = f"bold {style}" if self._is_marked(cell) else ""
        return Styled(f"{self._text(cell):<{width}}", style)

    def _panels(self, matrix: int) -> list["_GridPanel"]:
        """Draw one matrix, in as many panels of nearly equal sizes as the width requires."""
        columns, label_width, width = self._columns(), self._label_width(), self._cell_width()
        most = max(1, (self.room - label_width - 1) // (width + 1))
        count = -(-len(columns) // most)
        size = -(-len(columns) // count)
        title = _lanes_of(self.layout, matrix) if self.layout.num_matrices > 1 else ""
        return [
            self._panel(title, matrix, columns[i : i + size], label_width, width)
            for i in range(0, len(columns), size)
        ]  # fmt: skip

    def _panel(self, title: str, matrix: int, columns: range, label_width: int, width: int) -> "_GridPanel":
        rows, cols = cell_size(self.layout)
        total = max(label_width + (width + 1) * len(columns) + 1, len(title))
        lines: list[Line] = [(Styled(f"{title:<{total}}", "heading"),)] if title else []
        ruler = " " * label_width + "".join(f" {span(x, cols):<{width}}" for x in columns)
        lines.append((Styled(f"{ruler:<{total}}", "heading"),))
        end = f"{'|':<{total - label_width - (width + 1) * len(columns)}}"
        for row in self._rows():
            pieces = [x for col in columns for x in (Styled("|"), self._piece(self.cells[matrix, row, col], width))]
            lines.append((Styled(f"{span(row, rows):>{label_width}}", "label"), *pieces, Styled(end)))
        return _GridPanel(lines, total)


class _GridPanel(NamedTuple):
    """An unbroken part of the drawing: lines of equal length."""

    lines: list[Line]
    width: int


def grid_of(layout: LaneMap, width: int | None, marked: Marked = (), at: tuple[int, int] = (0, 0)) -> Grid:
    """Draw a matrix, or the part of a warpgroup's matrix around the element ``at``; ``marked`` is highlighted.

    If the full labels of cells do not fit the width, shorter ones are used, down to lane numbers, before the matrix is
    split; in a file, whose width is None, labels are never shortened.

    Examples
    --------
    >>> import wmma_emu as we
    >>> print(grid_of(we.instruction("m16n8k16.f32.f16.f16.f32").a.layout, 80).facts()[0][1])
    T0 x0-1: lane 0, elements 0 to 1, which share a register: 2 neighbouring columns
    >>> d = we.instruction("wgmma.m64n256k16.f32.f16.f16").d.layout
    >>> grid = grid_of(d, 60, at=(40, 20))
    >>> (grid.names, *grid.window[:4]), grid.facts()[2]
    (('lane', 32, 16, 16, 16), ('more columns', '8 further on: the same lanes, x + 4'))
    """
    window = Viewport.of(layout, 0, at)
    cells = {(x.matrix, x.row, x.col): x for x in cells_of_matrix(layout, *window.ranges)}
    grids = [Grid(layout, window, x, cells, width or _WIDTH_OF_FILES, marked) for x in _NAMES]
    return next((x for x in grids if x.fits() and _names_elements(x)), grids[0]) if width else grids[0]


def _names_elements(grid: Grid) -> bool:
    """Return whether the cells, or the rule above the drawing, name the elements too."""
    try:
        return grid.names != "lane" or bool(grid.layout.formulas)
    except FragmentMismatchError:
        return False


def _lanes(cell: HeldCell, before: str = "") -> str:
    return before + ",".join(str(x) for x in cell.lanes)


_NAMES: dict[str, Callable[[HeldCell], str]] = {
    "full": lambda cell: f"{_lanes(cell, 'T')} x{span(cell.element, cell.elements)}",
    "register": lambda cell: f"{_lanes(cell)}:{cell.register}",
    "lane": _lanes,
}
"""The functions that label cells, from the longest labels to the shortest."""


def _side_by_side(panels: list[_GridPanel]) -> Iterator[Line]:
    for lines in zip(*(x.lines for x in panels), strict=True):
        *before, last = lines
        padded = [piece for line in before for piece in (*line, Styled(_GAP))]
        yield (*padded, *last[:-1], Styled(last[-1].text.rstrip(), last[-1].style))


def _lanes_of(layout: LaneMap, matrix: int) -> str:
    lanes = [int(x) for x in (layout.matrix_of_lane == matrix).nonzero()[0]]
    starts = [x for x in lanes if x - 1 not in lanes]
    runs = [span(x, next(n for n in range(1, len(lanes) + 1) if x + n not in lanes)) for x in starts]
    return f"matrix {matrix}: " + " ".join(f"T{x}" for x in runs)
