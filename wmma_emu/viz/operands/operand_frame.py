# SPDX-License-Identifier: MIT
"""The common parts of operands' pictures: style, heading, cells with labels, and marks of highlighted elements."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

from wmma_emu.palette import INK, LANE_COLOURS
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import document, element, text_lines, text_width, wrapped

_NAME = "wmma-emu-operand"
MARGIN = 16
_TITLE, _TEXT = 15, 11.5
LANE, PART, RULER = 11, 9.5, 9
"""The font sizes of lanes, of registers and elements in a cell, and of rulers."""

_BOLD = 1.12
_NARROWEST = 460
_BAR = 5

Parts = Callable[[float], tuple[list[str], float]]
"""A function that draws the parts below the heading."""

_DAY = f"""
.{_NAME} text {{ font-size: {RULER}px; text-anchor: middle; }}
.{_NAME} .head {{ font-size: {_TEXT}px; text-anchor: start; }}
.{_NAME} .title {{ font-size: {_TITLE}px; font-weight: 600; text-anchor: start; }}
.{_NAME} .start {{ text-anchor: start; }}
.{_NAME} .end {{ text-anchor: end; }}
.{_NAME} .part {{ font-size: {PART}px; }}
.{_NAME} .here {{ font-weight: 700; }}
.{_NAME} .cell rect {{ stroke: #57606a; stroke-width: 0.6; }}
.{_NAME} .cell text {{ fill: {INK}; font-size: {PART}px; }}
.{_NAME} .cell .t {{ font-size: {LANE}px; font-weight: 600; }}
.{_NAME} .cell .mark {{ fill: none; stroke: {INK}; stroke-width: 2.6; }}
.{_NAME} .cell .bar {{ fill: {INK}; stroke: none; }}
.{_NAME} .cell.off rect {{ fill: none; stroke: #afb8c1; }}
.{_NAME} .cell.off text {{ fill: #57606a; }}
.{_NAME} .cell.off .t {{ font-weight: 400; }}
.{_NAME} .cell.copy rect {{ fill: none; stroke-dasharray: 2 2; }}
.{_NAME} .cell.copy text {{ fill: #57606a; }}
.{_NAME} .tick {{ fill: none; stroke: {INK}; stroke-width: 0.6; opacity: 0.55; }}
.{_NAME} .tile {{ fill: none; stroke: {INK}; stroke-width: 1.6; }}
.{_NAME} .drawn {{ fill: #57606a; }}
{"".join(f".{_NAME} .l{i} {{ fill: {colour}; }}" for i, colour in enumerate(LANE_COLOURS))}
"""

_NIGHT = f"""
.{_NAME} .cell.off rect {{ stroke: #484f58; }}
.{_NAME} .cell.off text, .{_NAME} .cell.copy text {{ fill: #9da7b3; }}
.{_NAME} .cell.on :nth-child(2) {{ stroke: #e6edf3; stroke-width: 2; }}
.{_NAME} .tile {{ stroke: #e6edf3; }}
.{_NAME} .drawn {{ fill: #9da7b3; }}
"""


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def rect(self, **attributes: str) -> str:
        """Return the SVG of the box."""
        return element("rect", x=self.x, y=self.y, width=self.width, height=self.height, **attributes)

    def path(self, **attributes: str) -> str:
        """Return the box as a path, to which the style rules of rectangles do not apply."""
        return element(
            "path", d=f"M{self.x:.6g} {self.y:.6g}h{self.width:.6g}v{self.height:.6g}h{-self.width:.6g}z", **attributes
        )

    def inset(self, by: float) -> "Box":
        """Return the box, smaller on all sides."""
        return Box(self.x + by, self.y + by, self.width - 2 * by, self.height - 2 * by)

    def part(self, first: int, count: int, of: int, across: bool) -> "Box":
        """Return some of the equal parts into which the box is divided along one axis."""
        if across:
            return Box(self.x + self.width * first / of, self.y, self.width * count / of, self.height)
        return Box(self.x, self.y + self.height * first / of, self.width, self.height * count / of)


def drawn_cell(box: Box, lanes: Sequence[int], state: str, tip: str, texts: Iterable[str], **data: str | int) -> str:
    """Draw a cell in the colours of its lanes; ``state`` is its class of highlighting, or empty."""
    stripes = [
        box.part(i, 1, len(lanes), across=True).path(class_=f"l{lane % len(LANE_COLOURS)}")
        for i, lane in enumerate(lanes[1:], 1)
    ]
    return element(
        "g", element("title", escape(tip)), box.rect(), *([] if state == "off" else stripes), *texts,
        class_=f"cell l{lanes[0] % len(LANE_COLOURS)} {state}".strip(), **data,
    )  # fmt: skip


def marks(box: Box, first: int, count: int, of: int, across: bool) -> list[str]:
    """Outline a highlighted cell; if only a part is highlighted, draw bars along the part at the cell's edges."""
    outline = [box.inset(1.3).rect(class_="mark")]
    if count == of:
        return outline
    x, y, width, height = box.part(first, count, of, across)
    ends = [Box(x, y, width, _BAR), Box(x, y + height - _BAR, width, _BAR)]
    if not across:
        ends = [Box(x, y, _BAR, height), Box(x + width - _BAR, y, _BAR, height)]
    return outline + [end.rect(class_="bar") for end in ends]


def _broken(notes: Iterable[str], width: float) -> list[str]:
    return [line for note in notes for line in wrapped(note, width, _TEXT)]


def label(text: str, x: float, y: float, *classes: str) -> str:
    """Write text; its classes determine size, alignment at x (centred by default) and colour."""
    return element("text", escape(text), x=x, y=y, **({"class_": " ".join(classes)} if classes else {}))


def room_of(texts: Iterable[str], size: float, bold: bool = False) -> float:
    """Return the width of the longest text."""
    return max((text_width(x, size) for x in texts), default=0) * (_BOLD if bold else 1)


def framed(title: str, head: Sequence[str], foot: Sequence[str], width: float, parts: Parts) -> Picture:
    """Add sentences above and below a picture's parts; they are also its description for screen readers."""
    room = max(width, _NARROWEST)
    heads = wrapped(title, room, _TITLE * _BOLD)
    y = float(MARGIN + _TITLE)
    body = text_lines(heads, MARGIN, y, _TITLE, 20, class_="title")
    y += 20 * (len(heads) - 1) + 19
    lines = _broken(head, room)
    body += text_lines(lines, MARGIN, y, _TEXT, 15, class_="quiet head")
    elements, y = parts(y + 15 * len(lines))
    body += elements
    lines = _broken(foot, room)
    body += text_lines(lines, MARGIN, y + 22, _TEXT, 15, class_="quiet head")
    y += 22 + 15 * len(lines) - 10
    description = " ".join(f"{x}." for x in (*head, *foot))
    return Picture(
        title, document(_NAME, round(room + 2 * MARGIN), round(y + MARGIN), title, description, _DAY, _NIGHT, body)
    )
