# SPDX-License-Identifier: MIT
"""A picture of a matrix: a cell for every register, in the colour of its lane."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.spec import LANES
from wmma_emu.suggestions import listed
from wmma_emu.viz.operands.focus import Focus, focus_on, ranges
from wmma_emu.viz.operands.held_cells import HeldCell, cell_size, cells_of_matrix, span
from wmma_emu.viz.operands.operand_frame import (
    LANE,
    MARGIN,
    PART,
    RULER,
    Box,
    drawn_cell,
    framed,
    label,
    marks,
    room_of,
)
from wmma_emu.viz.operands.subject import Drawable, Subject, subject_of
from wmma_emu.viz.operands.windows import Viewport
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import checked_title, text_width
from wmma_emu.viz.svg import element as svg_element

MOST_CELLS = 512
"""The most cells of a warpgroup's matrix that is drawn whole."""

_HEIGHT = 34
_LINE = 12.5
_PADDING = 8
_GAP = 26
_WIDEST = 900
_TICK = 4
_MOST_NUMBERS = 4
"""The most elements of a cell that are each numbered on the ruler; of more, only the first and the last are."""


def draw_matrix(
    operand: Drawable,
    *,
    lane: int | None = None,
    register: int | None = None,
    element: tuple[int, int] | None = None,
    matrix: int | None = None,
    title: str | None = None,
    most_cells: int = MOST_CELLS,
) -> Picture:
    """Draw the lane and the register that hold each element of a matrix.

    Parameters
    ----------
    operand : BoundOperand, wmma.Fragment or LaneMap
        Such as ``ins.a``.
    lane, register : int, optional
        Highlight the elements of a lane (for `wgmma` a thread, 0 to 127), of a register, or of both.
    element : (row, column), optional
        Highlight one element.
    matrix : int, optional
        Draw one of the four matrices of `m8n8k4` in f16; all by default.
    title : str, optional
        By default the operand's name, or a description of the highlighted elements.
    most_cells : int
        A warpgroup's matrix with more cells is drawn in part, with the rules by which it continues.

    Returns
    -------
    Picture
        Every cell is a group of the class ``cell`` with its row, column, lane, index (of the element in ``x``) and
        register as ``data-`` attributes, all of the cell's first element. Elements that share a register are one cell
        if they are adjacent in the matrix; the cell's number of rows or columns is an attribute, too, if more than 1.

    Raises
    ------
    OutOfBoundsError, FragmentMismatchError, UnsupportedInstructionError
        If the operand does not have the lane, register or element, or is not in registers.

    Examples
    --------
    >>> import wmma_emu as we
    >>> ins = we.instruction("m16n8k32.s32.s8.s8.s32")
    >>> draw_matrix(ins.a, element=(9, 17))
    <Picture: A[9, 17] is in lane 4, register a3, bits 8 to 15 (x13)>
    """
    heading = checked_title(title)
    subject = subject_of(operand)
    layout = subject.layout
    most = integer_of(most_cells)
    if most is None or most < 1:
        raise ArgumentValueError(f"most_cells is {shorten(most_cells)}; expected a positive integer")
    focus = focus_on(subject, lane, register, element, matrix)
    window = Viewport.of(layout, most, focus.at())
    cells = cells_of_matrix(layout, *window.ranges)
    if not cells:
        raise ArgumentValueError("no element that is read is in the part that would be drawn; copies() counts them")
    scale = _Scale.of(subject, window, cells)
    matrices = range(layout.num_matrices) if matrix is None else [matrix]
    panels = [_MatrixPanel(subject, window, scale, focus, i, [x for x in cells if x.matrix == i]) for i in matrices]
    several = layout.num_matrices > 1
    across = max(1, min(len(panels), int((_WIDEST + _GAP) // (scale.total_width + _GAP))))

    def parts(y: float) -> tuple[list[str], float]:
        body: list[str] = []
        for i in range(0, len(panels), across):
            for j, panel in enumerate(panels[i : i + across]):
                body += panel.draw(MARGIN + j * (scale.total_width + _GAP), y, several)
            y += scale.total_height + (18 if several else 0) + (10 if i + across < len(panels) else 0)
        if window.is_of_one_warp:
            body += _map(subject, window, MARGIN, y + 16)
            y += 16 + 14 * (layout.rows // window.rows) + 4
        return body, y

    heading = heading or focus.sentence or subject.title
    notes = [*subject.head(heading, focus.sentence), _legend(subject, cells[0])]
    named = sum(len(x.lanes) * x.elements for x in cells_of_matrix(layout))
    if not layout.is_bijection and named < layout.read_elements * layout.num_lanes:
        notes.append("Further copies, in other registers than those that are named, are not drawn")
    if window.rules:
        notes.append(
            f"Drawn are rows {span(window.row, window.rows)}, columns {span(window.col, window.cols)}; "
            f"{'; '.join(': '.join(rule) for rule in window.rules)}"
        )
    width = across * (scale.total_width + _GAP) - _GAP
    return framed(heading, notes, subject.foot(), width, parts)


class _Scale(NamedTuple):
    """The size of a cell, and the width of the rulers."""

    width: float
    height: float
    left: float
    top: float
    total_width: float
    total_height: float

    @classmethod
    def of(cls, subject: Subject, window: Viewport, cells: list[HeldCell]) -> "_Scale":
        rows, cols = cell_size(subject.layout)
        lanes, parts = room_of(map(_lanes, cells), LANE, bold=True), room_of((_part(subject, x) for x in cells), PART)
        last_row, last_col = window.row + window.rows - 1, window.col + window.cols - 1
        numbers = [str(last_col)] * cols if cols <= _MOST_NUMBERS else [span(last_col - cols + 1, cols)]
        ruler = sum(text_width(x, RULER) + 3 for x in numbers)
        width = float(round(max(lanes + _PADDING, parts + _PADDING, ruler, _HEIGHT)))
        height = max(_HEIGHT, rows * _LINE) if rows <= _MOST_NUMBERS else _HEIGHT + 6
        names = [str(last_row)] if rows <= _MOST_NUMBERS else [span(last_row - rows + 1, rows)]
        left = max(room_of(names, RULER), room_of([_corner(subject)], RULER)) // 1 + 8
        return cls(
            width, height, left, 16, left + width * window.cols / cols, 16 + height * window.rows / rows
        )  # fmt: skip


class _MatrixPanel(NamedTuple):
    subject: Subject
    window: Viewport
    scale: _Scale
    focus: Focus
    matrix: int
    cells: list[HeldCell]

    def draw(self, x: float, y: float, named: bool) -> Iterator[str]:
        """Draw rulers, cells, and lines between tiles."""
        if named:
            lanes = np.flatnonzero(self.subject.layout.matrix_of_lane.reshape(-1) == self.matrix).tolist()
            yield label(f"matrix {self.matrix}: lanes {ranges(lanes)}", x, y + 12, "start", "here")
            y += 18
        left, top = x + self.scale.left, y + self.scale.top
        yield from self._rulers(left, top)
        for cell in self.cells:
            yield self._cell(cell, left, top)
        yield from self._lines(left, top)

    def _box(self, cell: HeldCell, left: float, top: float) -> Box:
        width, height = self.scale.width, self.scale.height
        column, row = (cell.col - self.window.col) // cell.cols, (cell.row - self.window.row) // cell.rows
        return Box(left + column * width, top + row * height, width, height)

    def _cell(self, cell: HeldCell, left: float, top: float) -> str:
        box = self._box(cell, left, top)
        middle, centre = box.x + box.width / 2, box.y + box.height / 2
        state, marked = "", []
        if self.focus.sentence:
            first, count = self.focus.share_of(cell)
            state = "on" if count else "off"
            marked = marks(box, first, count, cell.elements, cell.cols > 1) if count else []
        texts = [
            label(_lanes(cell), middle, centre - 2.5, "t"),
            label(_part(self.subject, cell), middle, centre + 10.5),
        ]
        data = cell.data(self.subject.layout)
        return drawn_cell(box, cell.lanes, state, _tip(self.subject, cell), [*marked, *texts], **data)

    def _rulers(self, left: float, top: float) -> Iterator[str]:
        rows, cols = cell_size(self.subject.layout)
        window, scale = self.window, self.scale
        marked = self.focus.marked[self.matrix]
        yield label(_corner(self.subject), left - 5, top - 5, "end", "quiet")
        for axis, size, first, count in ((1, cols, window.col, window.cols), (0, rows, window.row, window.rows)):
            pointed_out = marked.any(axis=1 - axis) if self.focus.sentence else np.zeros(marked.shape[axis], np.bool_)
            each = 1 if size <= _MOST_NUMBERS else size
            step = (scale.width if axis else scale.height) * each / size
            for i in range(0, count, each):
                here = pointed_out[first + i : first + i + each].any()
                text, at = span(first + i, each), (i / each + 0.5) * step
                x, y = (left + at, top - 5) if axis else (left - 5, top + at + 3)
                yield label(text, x, y, *([] if axis else ["end"]), "here" if here else "quiet")

    def _lines(self, left: float, top: float) -> Iterator[str]:
        """Draw ticks at the boundaries of elements along the edges of cells, and lines between tiles of 8 groups."""
        rows, cols = cell_size(self.subject.layout)
        window, scale = self.window, self.scale
        wide, high = scale.total_width - scale.left, scale.total_height - scale.top
        if 1 < rows * cols <= 8:
            ticks = []
            for cell in self.cells:
                box = self._box(cell, left, top)
                for i in range(1, cell.elements):
                    if cols > 1:
                        x = box.x + box.width * i / cols
                        ticks.append(f"M{x:.6g} {box.y:.6g}v{_TICK}m0 {box.height - 2 * _TICK:.6g}v{_TICK}")
                    else:
                        y = box.y + box.height * i / rows
                        ticks.append(f"M{box.x:.6g} {y:.6g}h{_TICK}m{box.width - 2 * _TICK:.6g} 0h{_TICK}")
            yield svg_element("path", d="".join(ticks), class_="tick", pointer_events="none")
        tall, broad = (max(8, 4 * rows) if rows > 1 else 8), (max(8, 4 * cols) if cols > 1 else 8)
        across = [left + wide * x / window.cols for x in range(broad, window.cols, broad)]
        down = [top + high * x / window.rows for x in range(tall, window.rows, tall)]
        path = "".join(f"M{x:.6g} {top:.6g}v{high:.6g}" for x in across)
        path += "".join(f"M{left:.6g} {y:.6g}h{wide:.6g}" for y in down)
        if path:
            yield svg_element("path", d=path, class_="tile", pointer_events="none")


def _lanes(cell: HeldCell) -> str:
    return f"T{','.join(str(x) for x in cell.lanes)}"


def _part(subject: Subject, cell: HeldCell) -> str:
    register = subject.register(cell.register)
    return register if subject.layout.elements_per_register == 1 else f"{register} x{span(cell.element, cell.elements)}"


def _corner(subject: Subject) -> str:
    rows, cols = subject.axes
    return f"{rows}↓ {cols}→" if subject.letter else ""


def _legend(subject: Subject, cell: HeldCell) -> str:
    lanes = f"{subject.lane}{'s' * (len(cell.lanes) > 1)} {listed(cell.lanes)}"
    text = f"{_lanes(cell)} {_part(subject, cell)}: {lanes}, register {subject.register(cell.register)}"
    if cell.elements == 1:
        order = subject.order()
        return f"{text}, element x{cell.element}" + (order and f"; {order}")
    return f"{text}, elements x{cell.element} to x{cell.element + cell.elements - 1}; {subject.order()}"


def _tip(subject: Subject, cell: HeldCell) -> str:
    name = subject.element(span(cell.row, cell.rows), span(cell.col, cell.cols))
    return f"{name}: {_lanes(cell)} {subject.register(cell.register)} x{span(cell.element, cell.elements)}"


def _map(subject: Subject, window: Viewport, x: float, y: float) -> Iterator[str]:
    """Draw a small overview of the matrix, a band for each warp, with the enlarged part marked."""
    layout = subject.layout
    width, high = 420.0, 14.0
    for i in range(layout.rows // window.rows):
        band = Box(x, y + i * high, width, high)
        yield band.rect(class_="line")
        if i * window.rows == window.row:
            first, last = window.col * width / layout.cols, (window.col + window.cols) * width / layout.cols
            yield Box(x + first, band.y, last - first, high).rect(class_="drawn")
        text = f"warp {i}: T{LANES * i}–{LANES * i + LANES - 1}, rows {span(i * window.rows, window.rows)}"
        yield label(text, x + width + 8, band.y + 11, "start", "quiet")
    yield label(f"{layout.cols} columns", x + width / 2, y - 4, "quiet")
