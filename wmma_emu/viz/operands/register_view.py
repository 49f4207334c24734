# SPDX-License-Identifier: MIT
"""A picture of registers: the matrix element in each group of bits, the high bits at the left."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wmma_emu.viz.operands.focus import Focus, focus_on
from wmma_emu.viz.operands.held_cells import HeldCell, cell_of, cells_per_register, span
from wmma_emu.viz.operands.lane_view import LanePanel, named
from wmma_emu.viz.operands.operand_frame import MARGIN, PART, RULER, Box, drawn_cell, framed, label, marks, room_of
from wmma_emu.viz.operands.subject import Drawable, Subject, subject_of
from wmma_emu.viz.operands.windows import RegisterWindow
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import checked_title, text_width
from wmma_emu.viz.svg import element as svg_element

_SPELT_OUT = 4
"""The most adjacent elements of a register that are each named in the picture of all lanes; of more, the ends are."""

_ROW = 19
_GAP = 8


def draw_registers(
    operand: Drawable,
    *,
    lane: int | None = None,
    register: int | None = None,
    element: tuple[int, int] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw the matrix element in each group of bits of each register, of all lanes or of one.

    Parameters
    ----------
    operand : BoundOperand, wmma.Fragment or LaneMap
        Such as ``ins.a``.
    lane : int, optional
        Draw only the registers of this lane (for `wgmma` a thread, 0 to 127), bit by bit.
    register : int, optional
        Highlight a register.
    element : (row, column), optional
        Highlight one element.
    title : str, optional
        By default the operand's name, or a description of the highlighted elements.

    Returns
    -------
    Picture
        Every cell is a group of the class ``cell`` with its lane, register, lowest bit, index (of the element in
        ``x``), row and column as ``data-`` attributes. For one lane, a cell is an element. For all lanes, it is a
        register with the attributes of the element in the lowest bits, and its number of rows or columns if more
        than 1. If the elements of a register are not adjacent in the matrix, as is possible in your own `LaneMap`,
        a cell is an element too.

    Raises
    ------
    OutOfBoundsError, FragmentMismatchError, UnsupportedInstructionError
        If the operand does not have the lane, register or element, or is not in registers.

    Examples
    --------
    >>> import wmma_emu as we
    >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32")
    >>> draw_registers(ins.a, lane=5)
    <Picture: Lane 5 holds rows 1, 9, columns 2–3, 10–11 of A>
    """
    heading = checked_title(title)
    subject = subject_of(operand)
    focus = focus_on(subject, lane, register, element)
    heading = heading or focus.sentence or subject.title
    notes = subject.head(heading, focus.sentence)
    table: LanePanel | _Table
    if lane is None:
        table = _Table.of(subject, focus)
        notes += [_legend(subject), *table.part()]
    else:
        table = LanePanel.of(subject, focus, lane, pointed_out=register is not None or element is not None)
        notes.append(f"The highest bit is left; {named(subject)}")
    return framed(heading, notes, subject.foot(), table.width, table.draw)


def _legend(subject: Subject) -> str:
    layout = subject.layout
    if layout.elements_per_register == 1:
        return f"A box is a register; {named(subject)}"
    return f"A box is a register, the highest bit left; {subject.order()}; {named(subject)}"


class _Table(NamedTuple):
    """A drawing of all lanes, or of one warp of four: a row for each lane, a column for each register."""

    subject: Subject
    focus: Focus
    lanes: range
    registers: range
    rules: tuple[tuple[str, str], ...]
    left: float = 0
    box: float = 0

    @classmethod
    def of(cls, subject: Subject, focus: Focus) -> "_Table":
        window = RegisterWindow.of(subject.layout, focus.held)
        table = cls(subject, focus, *window)
        left = MARGIN + room_of(map(table._name, table.lanes), RULER, bold=True) // 1 + 8
        return table._replace(left=left, box=table.box_width())

    def part(self) -> list[str]:
        """Describe the drawn part of a warpgroup's registers, and the rules by which it continues."""
        if not self.rules:
            return []
        names = (self.subject.register(x) for x in (self.registers[0], self.registers[-1]))
        drawn = f"Drawn are T{self.lanes[0]} to T{self.lanes[-1]}, {' to '.join(names)}"
        return [f"{drawn}; {'; '.join(': '.join(rule) for rule in self.rules)}"]

    def _texts(self, cell: HeldCell) -> list[str]:
        """Return the rows and columns of a register's elements, the highest bits first."""
        if cell.elements <= _SPELT_OUT:
            down, across = cell.rows > 1, cell.cols > 1
            return [f"{cell.row + i * down},{cell.col + i * across}" for i in reversed(range(cell.elements))]
        rows = str(cell.row) if cell.rows == 1 else f"{cell.row + cell.rows - 1}–{cell.row}"
        cols = str(cell.col) if cell.cols == 1 else f"{cell.col + cell.cols - 1}–{cell.col}"
        return [f"{rows},{cols}"]

    def box_width(self) -> float:
        """Return the width of a register, from the longest names of elements and of bits."""
        layout = self.subject.layout
        first, parts = cell_of(layout, 0, 0), cells_per_register(layout)
        texts = self._texts(first._replace(row=layout.rows - first.rows, col=layout.cols - first.cols))
        bits = layout.register_bits
        return parts * round(max(
            sum(text_width(x, PART) + 7 for x in texts),
            len(texts) * (text_width(f"{bits - 1}–{bits - 8}", RULER) + 5),
        ))  # fmt: skip

    def _name(self, lane: int) -> str:
        layout = self.subject.layout
        matrix = f" of matrix {layout.matrix_of_lane.reshape(-1)[lane]}" if layout.num_matrices > 1 else ""
        return f"T{lane}{matrix}"

    @property
    def width(self) -> float:
        """The width from the margin."""
        return self.left - MARGIN + len(self.registers) * (self.box + _GAP) - _GAP

    def draw(self, y: float) -> tuple[list[str], float]:
        """Draw rulers and rows."""
        top = y + 34
        return [*self._ruler(y), *self._rows(top)], top + _ROW * len(self.lanes)

    def _ruler(self, y: float) -> Iterator[str]:
        layout, width = self.subject.layout, self.box
        parts = cells_per_register(layout)
        spelt_out = parts > 1 or layout.elements_per_register <= _SPELT_OUT
        for i, register in enumerate(self.registers):
            left = self.left + i * (width + _GAP)
            packed = layout.elements_per_register
            here = self.focus.sentence and self.focus.held[register * packed : (register + 1) * packed].any()
            yield label(self.subject.register(register), left + width / 2, y + 16, "here" if here else "quiet", "part")
            count = layout.elements_per_register if spelt_out else 1
            for j in range(count):
                bits = layout.register_bits // count
                low = (count - 1 - j) * bits
                text = f"{low + bits - 1}–{low}" if bits > 1 else str(low)
                yield label(text, left + width * (j + 0.5) / count, y + 29, "quiet")

    def _rows(self, top: float) -> Iterator[str]:
        layout, width = self.subject.layout, self.box
        parts = cells_per_register(layout)
        ticks = []
        for j, lane in enumerate(self.lanes):
            y = top + j * _ROW
            here = self.focus.sentence and self.focus.held[:, lane].any()
            yield label(self._name(lane), self.left - 6, y + 13, "end", "here" if here else "quiet")
            for i, register in enumerate(self.registers):
                box = Box(self.left + i * (width + _GAP), y, width, _ROW)
                cells = [cell_of(layout, lane, register, x) for x in range(parts)]
                for part, cell in enumerate(cells):
                    yield self._cell(box.part(parts - 1 - part, 1, parts, across=True), cell)
                cell = cells[0]
                if 1 < cell.elements <= _SPELT_OUT:
                    ticks += [
                        f"M{box.x + width * x / cell.elements:.6g} {y:.6g}v{_ROW}" for x in range(1, cell.elements)
                    ]
        if ticks:
            yield svg_element("path", d="".join(ticks), class_="tick", pointer_events="none")

    def _cell(self, box: Box, cell: HeldCell) -> str:
        layout = self.subject.layout
        (lane,) = cell.lanes
        is_copy = cell.element >= layout.read_elements
        state, marked = "copy" if is_copy else "", []
        if self.focus.sentence:
            part = np.flatnonzero(self.focus.held[cell.element : cell.element + cell.elements, lane])
            state = "off" if not len(part) else state or "on"
            if len(part):
                share = cell.elements - 1 - int(part[-1]), len(part), cell.elements
                outline = box.part(*share, across=True).inset(1.3).rect(class_="mark")
                marked = [outline] if cell.elements <= _SPELT_OUT else marks(box, *share, across=True)
        words = self._texts(cell)
        texts = [
            label(x, box.x + box.width * (i + 0.5) / len(words), box.y + 13) for i, x in enumerate(words)
        ]  # fmt: skip
        name = self.subject.element(span(cell.row, cell.rows), span(cell.col, cell.cols))
        tip = f"T{lane} {self.subject.register(cell.register)}: {name}, x{span(cell.element, cell.elements)}"
        tip += ", a copy that is not read" if is_copy else ""
        return drawn_cell(box, cell.lanes, state, tip, [*marked, *texts], **cell.data(layout))
