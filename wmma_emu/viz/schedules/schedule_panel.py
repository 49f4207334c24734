# SPDX-License-Identifier: MIT
"""The panel of one machine instruction: B above D, A at its left, and blocks in the colours of their threadgroups."""

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

import numpy as np

from wmma_emu.layouts import layout_for
from wmma_emu.palette import lane_colour
from wmma_emu.schedule import MachineStep, Schedule
from wmma_emu.schedule.text import threadgroups_named
from wmma_emu.viz.schedules.schedule_blocks import DrawnBlock, blocks_of, turns_of
from wmma_emu.viz.svg import element, text_lines, text_width

_GAP = 8
_SMALLEST_WITH_LANES = 16
_SMALLEST_TEXT, _LARGEST_TEXT = 8.0, 12.0
_STROKED = 2.5


class Geometry(NamedTuple):
    """The geometry of a panel.

    ``cell`` is the size of an element of D, ``step`` that of one k, in A and B; ``k`` counts columns of A, rows of B.
    ``ruler`` is the space for numbers above and at the left, ``turns`` the space for marks beyond them.
    """

    cell: float
    step: float
    m: int
    n: int
    k: int
    ruler: float
    turns: float = 0

    @property
    def width(self) -> float:
        """The width of the three matrices and of the numbers at their left."""
        return self.ruler + self.turns + self.k * self.step + _GAP + self.n * self.cell

    @property
    def height(self) -> float:
        """The height of the three matrices and of the numbers above them."""
        return self.ruler + self.turns + self.k * self.step + _GAP + self.m * self.cell

    @property
    def shows_lanes(self) -> bool:
        """Whether the lane and the register of every element fit."""
        return min(self.cell, self.step) >= _SMALLEST_WITH_LANES

    def pitch(self, operand: str) -> tuple[float, float]:
        """Return the height of a matrix's rows and the width of its columns."""
        return (self.step if operand == "b" else self.cell), (self.step if operand == "a" else self.cell)

    def size(self, operand: str) -> tuple[int, int]:
        """Return the rows and columns of a matrix."""
        return {"a": (self.m, self.k), "b": (self.k, self.n)}.get(operand, (self.m, self.n))

    def box(self, operand: str, rows: range | None = None, cols: range | None = None) -> tuple[float, ...]:
        """Return left, top, width and height of a matrix, or of a block of it."""
        count = self.size(operand)
        height, width = self.pitch(operand)
        edge = self.ruler + self.turns
        left = edge + (0 if operand == "a" else self.k * self.step + _GAP)
        top = edge + (0 if operand == "b" else self.k * self.step + _GAP)
        rows, cols = rows or range(count[0]), cols or range(count[1])
        return left + cols.start * width, top + rows.start * height, len(cols) * width, len(rows) * height


def panel(schedule: Schedule, step: MachineStep, geometry: Geometry, left: float, top: float) -> Iterator[str]:
    """Draw a machine instruction: the matrices' frames, its blocks, and lanes and registers if they fit."""
    for operand in ("a", "b", "d"):
        x, y, width, height = geometry.box(operand)
        yield element("rect", x=left + x, y=top + y, width=width, height=height, class_="empty")
    for block in blocks_of(step):
        yield _block(block, step, geometry, left, top)
    if geometry.shows_lanes:
        yield from _lanes(schedule, step, geometry, left, top)
    for operand in ("a", "b", "d"):
        x, y, width, height = geometry.box(operand)
        yield element("rect", x=left + x, y=top + y, width=width, height=height, class_="line")
        if geometry.ruler:
            yield from _ruler(geometry, operand, left, top)
    if geometry.turns:
        yield from _turns(step, geometry, left, top)
    yield from _names(geometry, left, top)


def _colour(step: MachineStep, owner: int, turn: int) -> str:
    """Return the fill: on Volta the colour of the threadgroup; else one per machine instruction, a shade per turn."""
    if owner >= 0:
        return lane_colour(4 * owner + 2)
    return lane_colour(4 * (step.number % 8) + (turn if len(turns_of(step)) > 1 and turn else 2) % 4)


def _block(block: DrawnBlock, step: MachineStep, geometry: Geometry, left: float, top: float) -> str:
    """Draw a block, in a strip for each threadgroup that holds a copy, with its label if it fits."""
    x, y, width, height = geometry.box(block.operand, block.rows, block.cols)
    x, y = left + x, top + y
    count = len(block.owners)
    across, down = max((count, 1), (1, count), key=lambda x: _size(block.labels[0], width / x[0], height / x[1]))
    width, height = width / across, height / down
    stroked = "block" if min(width, height) >= _STROKED else "thin"
    drawn = []
    for i, (owner, label) in enumerate(zip(block.owners, block.labels, strict=True)):
        at_x, at_y = x + i % across * width, y + i // across * height
        drawn.append(element("rect", x=at_x, y=at_y, width=width, height=height,
                             fill=_colour(step, owner, block.turn), class_=stroked))  # fmt: skip
        size = _size(label, width, height)
        if size >= _SMALLEST_TEXT and not geometry.shows_lanes:
            drawn += text_lines([label], at_x + width / 2, at_y + height / 2 + size * 0.36, size, 0,
                                text_anchor="middle", class_="on")  # fmt: skip
    tip = f"{_who(block)}{block.operand.upper()}[{_slice(block.rows)}, {_slice(block.cols)}]"
    return element(
        "g", element("title", escape(tip)), *drawn, class_="part", data_step=step.number, data_operand=block.operand,
        data_rows=f"{block.rows.start} {block.rows.stop}", data_cols=f"{block.cols.start} {block.cols.stop}",
        data_threadgroups=" ".join(str(x) for x in block.owners if x >= 0), data_turn=block.turn,
    )  # fmt: skip


def _size(label: str, width: float, height: float) -> float:
    return min(_LARGEST_TEXT, height - 2, (width - 2) / text_width(label, 1))


def _who(block: DrawnBlock) -> str:
    if block.owners == (-1,):
        return ""
    who = threadgroups_named(*block.owners)
    return f"{who} make{'s' * (len(block.owners) == 1)} " if block.operand == "d" else f"held by {who}: "


def _slice(of: range) -> str:
    return f"{of.start}:{of.stop}"


def _lanes(schedule: Schedule, step: MachineStep, geometry: Geometry, left: float, top: float) -> Iterator[str]:
    """Write the lanes that hold it, and the register below, into each element that the instruction uses."""
    entry, arch = schedule.instruction, schedule.arch
    sums = layout_for(entry, "d" if entry.d == schedule.sums else "c", arch)
    layouts = {"a": layout_for(entry, "a", arch), "d": sums}
    if not entry.is_warpgroup and not entry.is_sparse:  # metadata selects the rows of B of a packed A
        layouts["b"] = layout_for(entry, "b", arch)
    held: dict[tuple[str, int, int], list[tuple[int, int]]] = {}
    for part in step.parts:
        for operand, place in (("a", part.a), ("b", part.b), ("d", part.d)):
            if place is None or operand not in layouts or part.matrix:
                continue
            coords = layouts[operand].coords_of_lanes[np.ix_(place.elements, place.lanes)]
            for i, number in enumerate(place.elements):
                for j, lane in enumerate(place.lanes):
                    at = (operand, int(coords[i, j, 0]), int(coords[i, j, 1]))
                    if (lane, number) not in held.setdefault(at, []):
                        held[at].append((lane, number))
    for (operand, r, c), places in held.items():
        register = places[0][1] // layouts[operand].elements_per_register
        lanes = sorted(lane for lane, _ in places)
        texts = [" ".join(map(str, lanes[i : i + 2])) for i in range(0, len(lanes), 2)] + [f"{operand}{register}"]
        x, y, width, height = geometry.box(operand, range(r, r + 1), range(c, c + 1))
        size = min(height / (len(texts) + 0.4), (width - 4) / text_width(max(texts, key=len), 1), 10.5)
        first = top + y + (height - size * 1.08 * len(texts)) / 2 + size * 0.88
        yield element(
            "g", *text_lines(texts, left + x + width / 2, first, size, size * 1.08, text_anchor="middle", class_="on"),
            class_="cell", data_operand=operand, data_row=r, data_col=c, data_lane=" ".join(map(str, lanes)),
            data_register=register, data_index=places[0][1],
        )  # fmt: skip


def _ruler(geometry: Geometry, operand: str, left: float, top: float) -> Iterator[str]:
    if operand == "d":
        return
    x0, y0, _, _ = geometry.box(operand)
    for count, pitch, above in zip(geometry.size(operand), geometry.pitch(operand), (False, True), strict=True):
        size = min(11.0, max(pitch * 0.9, 9.0))
        needed = text_width(str(count - 1), size) + 3 if above else size + 1
        every = next(i for i in (1, 2, 4, 8, 16, 32, 64, 128) if i * pitch >= needed)
        for i in range(0, count, every):
            middle = (i + 0.5) * pitch
            x, y = (x0 + middle, y0 - 4) if above else (x0 - 4, y0 + middle + size * 0.36)
            anchor = "middle" if above else "end"
            yield from text_lines([str(i)], left + x, top + y, size, 0, text_anchor=anchor, class_="quiet")


def _turns(step: MachineStep, geometry: Geometry, left: float, top: float) -> Iterator[str]:
    """Mark the order of roundings beyond the numbers of A's columns and of B's rows."""
    for turn, ks in enumerate(turns_of(step), 1):
        x, y, width, _ = geometry.box("a", None, range(ks[0], ks[-1] + 1))
        yield from text_lines([f"{turn}."], left + x + width / 2, top + y - 20, 12, 0, text_anchor="middle")
        x, y, _, height = geometry.box("b", range(ks[0], ks[-1] + 1))
        yield from text_lines([f"{turn}."], left + x - 24, top + y + height / 2 + 4, 12, 0, text_anchor="end")


def _names(geometry: Geometry, left: float, top: float) -> Iterator[str]:
    ax, ay, _, _ = geometry.box("a")
    bx, by, _, _ = geometry.box("b")
    size = 14 if geometry.shows_lanes else 11
    away = geometry.ruler + geometry.turns
    yield from text_lines(["A"], left + ax + 1, top + ay - max(away - 6, 4), size, 0, font_weight="600")
    yield from text_lines(["B"], left + bx - max(away, 5), top + by + size - 1, size, 0, text_anchor="end",
                          font_weight="600")  # fmt: skip
