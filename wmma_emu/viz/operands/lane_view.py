# SPDX-License-Identifier: MIT
"""The registers of one lane, bit by bit, with the matrix element of each bit."""

from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.viz.operands.focus import Focus
from wmma_emu.viz.operands.held_cells import HeldCell, cell_of, cell_size, cells_per_register
from wmma_emu.viz.operands.operand_frame import MARGIN, PART, Box, drawn_cell, label, marks, room_of
from wmma_emu.viz.operands.subject import Subject
from wmma_emu.viz.svg import text_width

_TALL = 36
_GAP = 8
_BIT = 23
"""The width of a bit of 32-bit registers; bits of 64-bit registers are half as wide."""


def named(subject: Subject) -> str:
    """Return a sentence that explains the names of elements.

    Examples
    --------
    >>> import wmma_emu as we
    >>> from wmma_emu.viz.operands.subject import subject_of
    >>> named(subject_of(we.instruction("m16n8k8.f32.tf32.tf32.f32").b))
    'elements of B are named by k and n'
    """
    row, col = subject.axes
    return f"elements of {subject.name} are named by {row} and {col}"


class LanePanel(NamedTuple):
    """A drawing of one lane: registers one below the other, bits next to each other."""

    subject: Subject
    focus: Focus
    lane: int
    pointed_out: bool
    is_tight: bool
    bit: float
    left: float = 0

    @classmethod
    def of(cls, subject: Subject, focus: Focus, lane: int, pointed_out: bool) -> "LanePanel":
        """Measure names and bits."""
        layout = subject.layout
        bit = _BIT * 32 / layout.register_bits
        longest = subject.element(layout.rows - 1, layout.cols - 1)
        room = text_width(longest, PART) + 4
        if cells_per_register(layout) > 1:  # adjacent elements share one label; others need a label each
            bit = max(bit, room / layout.element_bits)
        is_tight = room > layout.element_bits * bit
        panel = cls(subject, focus, lane, pointed_out, is_tight, bit)
        names = room_of(map(panel._name, range(layout.num_registers)), PART)
        return panel._replace(left=MARGIN + names // 1 + 10)

    @property
    def width(self) -> float:
        """The width from the margin."""
        return self.left - MARGIN + self.subject.layout.register_bits * self.bit

    def _name(self, register: int) -> str:
        cell = cell_of(self.subject.layout, self.lane, register)
        name = self.subject.register(register)
        if not self.is_tight:
            return name
        axes = ("row", "column")
        return f"{name}: {axes[0]} {cell.row}" if cell.cols > 1 else f"{name}: {axes[1]} {cell.col}"

    def draw(self, y: float) -> tuple[list[str], float]:
        """Draw the ruler and the registers."""
        top = y + 20
        return [*self._ruler(y), *self._registers(top)], top + (_TALL + _GAP) * self.subject.layout.num_registers - _GAP

    def _ruler(self, y: float) -> Iterator[str]:
        bits = self.subject.layout.register_bits
        for bit in range(bits):
            if bits == 32 or bit % 8 == 0 or bit == bits - 1:
                x = self.left + (bits - bit - 0.5) * self.bit
                yield label(str(bit), x, y + 15, "quiet")

    def _registers(self, top: float) -> Iterator[str]:
        layout = self.subject.layout
        size = layout.element_bits * self.bit
        matrix = int(layout.matrix_of_lane.reshape(-1)[self.lane])
        for i in range(layout.num_elements):
            register, low = layout.register_of(i), layout.bit_of(i)
            y = top + register * (_TALL + _GAP)
            if not low:
                yield label(self._name(register), self.left - 6, y + _TALL / 2 + 4, "end", "part")
            box = Box(self.left + (layout.register_bits - low) * self.bit - size, y, size, _TALL)
            row, col = layout.coords_of_lanes[i, self.lane].tolist()
            cell = HeldCell(matrix, row, col, 1, 1, (self.lane,), i, register)
            yield self._element(box, cell, low)

    def _element(self, box: Box, cell: HeldCell, low: int) -> str:
        layout = self.subject.layout
        is_copy = cell.element >= layout.read_elements
        here = bool(self.focus.held[cell.element, self.lane])
        state = "copy" if is_copy else ""
        if self.pointed_out:
            state = (state or "on") if here else "off"
        marked = marks(box, 0, 1, 1, True) if self.pointed_out and here else []
        name = self.subject.element(cell.row, cell.col)
        middle, centre = box.x + box.width / 2, box.y + box.height / 2
        if self.is_tight:
            along = cell.col if cell_size(layout)[1] > 1 else cell.row
            texts = [label(str(along), middle, centre + 3.5)]
        else:
            index = f"x{cell.element}" + (" (copy)" if is_copy and box.width > 70 else "")
            texts = [label(name, middle, centre - 2.5), label(index, middle, centre + 10.5)]
        bits = f"bit {low}" if layout.element_bits == 1 else f"bits {low} to {low + layout.element_bits - 1}"
        tip = f"T{self.lane} {self.subject.register(cell.register)}, {bits}: {name}, x{cell.element}"
        tip += ", a copy that is not read" if is_copy else ""
        return drawn_cell(box, cell.lanes, state, tip, [*marked, *texts], **cell.data(layout))
