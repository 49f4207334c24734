# SPDX-License-Identifier: MIT
"""The common parts of pictures of memory: styles, cells with data, columns of text, and marks for printing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape

from wmma_emu.errors import OutOfBoundsError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.spec import LANES
from wmma_emu.palette import INK
from wmma_emu.viz.svg import document, element, heading, text_width

NAME = "wmma-emu-memory"
MARGIN = 20
HEAD, TEXT, SMALL, TINY = 15, 12, 10, 8.5

_KINDS = ("cell", "held", "given", "holder", "row", "bank")
"""Classes of cells; their text is dark in light and dark mode, as their fills are the same in both."""

_DAY = f"""
{", ".join(f".{NAME} .{kind} text" for kind in _KINDS)} {{ fill: {INK}; text-anchor: middle; }}
{", ".join(f".{NAME} .{kind} rect" for kind in _KINDS)} {{ stroke: #57606a; stroke-width: 0.75; }}
.{NAME} .faint rect {{ fill-opacity: 0.2; }}
.{NAME} .faint text {{ fill: #57606a; }}
.{NAME} .lit rect {{ stroke: {INK}; stroke-width: 2; }}
.{NAME} .lit text {{ font-weight: 700; }}
.{NAME} .marked rect {{ stroke: {INK}; stroke-width: 2.5; }}
.{NAME} .empty {{ fill: #f0f2f4; stroke: #d0d7de; stroke-width: 0.75; }}
.{NAME} .edge {{ stroke: #57606a; stroke-width: 2; fill: none; }}
.{NAME} .cut {{ fill: {INK}; stroke: #ffffff; stroke-width: 1; }}
"""
_NIGHT = f"""
.{NAME} .empty {{ fill: #161b22; stroke: #30363d; }}
.{NAME} .marked rect, .{NAME} .lit rect {{ stroke: #ffffff; }}
.{NAME} .faint text {{ fill: #9da7b3; }}
.{NAME} .edge {{ stroke: #9da7b3; }}
"""


def cell(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    lines: Iterable[str],
    data: Mapping[str, object],
    *,
    tip: str = "",
    kind: str = "cell",
    sizes: tuple[float, ...] = (SMALL, TINY),
) -> str:
    """Draw a cell with centred lines of text, and data attributes for programs.

    ``sizes`` are the font sizes of the first line and of the others; text that does not fit is made smaller.

    Examples
    --------
    >>> print(cell(0, 0, 40, 20, "#ffffff", ["T5"], {"lane": 5}).replace("><", ">|<").replace("|", chr(10)))
    <g class="cell" data-lane="5">
    <rect x="0" y="0" width="40" height="20" fill="#ffffff"/>
    <text x="20" y="12.8" font-size="10">T5</text>
    </g>
    """
    written = list(lines)
    parts = [element("title", escape(tip))] if tip else []
    parts.append(element("rect", x=x, y=y, width=width, height=height, fill=fill))
    step = 1.08
    room = [sizes[min(i, len(sizes) - 1)] for i in range(len(written))]
    room = [min(size, fitted(line, width - 3, size)) for size, line in zip(room, written, strict=True)]
    total = sum(room) * step
    base = y + (height - total) / 2
    for size, line in zip(room, written, strict=True):
        base += size * step
        parts.append(element("text", escape(line), x=x + width / 2, y=base - 0.26 * size, font_size=size))
    return element("g", *parts, class_=kind, **_attributes(data))


def banded(
    box: tuple[float, float, float, float],
    bands: Sequence[tuple[str, str, str]],
    data: Mapping[str, object],
    *,
    tip: str = "",
) -> str:
    """Draw a cell in bands, each with a fill, a line of text and a class, for an element that several lanes hold.

    Examples
    --------
    >>> banded((0, 0, 40, 40), [("#ffffff", "T1", "band"), ("#eeeeee", "T9", "band")], {"row": 2})[:47]
    '<g class="cell" data-row="2"><g class="band"><r'
    """
    x, y, width, height = box
    each = height / len(bands)
    drawn = [
        cell(x, y + i * each, width, each, fill, [line], {}, kind=kind, sizes=(SMALL,))
        for i, (fill, line, kind) in enumerate(bands)
    ]
    title = [element("title", escape(tip))] if tip else []
    return element("g", *title, *drawn, class_="cell", **_attributes(data))


def _attributes(data: Mapping[str, object]) -> dict[str, str]:
    return {f"data-{name}": str(value) for name, value in data.items()}


def fitted(text: str, width: float, size: float) -> float:
    """Return the size at which a line fits a width, at most the given one.

    Examples
    --------
    >>> fitted("T31", 40, 10), fitted("T31", 12, 10)
    (10, 6.25)
    """
    needed = text_width(text, size)
    return size if needed <= width else size * width / needed


def emphasis(kind: str, lit: int | None, lanes: Collection[int]) -> str:
    """Return the class of a cell if one lane is highlighted: its cells are marked, and all others dimmed.

    Examples
    --------
    >>> [emphasis("cell", lit, [4, 5]) for lit in (None, 5, 6)]
    ['cell', 'cell lit', 'cell faint']
    """
    if lit is None:
        return kind
    return f"{kind} lit" if lit in lanes else f"{kind} faint"


def checked_lane(given: int | None) -> int | None:
    """Check the highlighted lane, if there is one."""
    if given is None:
        return None
    lane = integer_of(given)
    if lane is None or not 0 <= lane < LANES:
        raise OutOfBoundsError(f"the lane is {shorten(given)}; legal lanes are 0 to {LANES - 1}")
    return lane


def label(text: str, x: float, y: float, *, size: float = SMALL, anchor: str = "start", kind: str = "quiet") -> str:
    """Write one line of text next to the cells; ``y`` is its base line.

    Examples
    --------
    >>> label("banks", 10, 20)
    '<text x="10" y="20" font-size="10" text-anchor="start" class="quiet">banks</text>'
    """
    return element("text", escape(text), x=x, y=y, font_size=size, text_anchor=anchor, class_=kind)


def head(title: str, notes: Iterable[str], width: float) -> tuple[list[str], float]:
    """Write the title and sentences below it; return them and the y at which the next part may begin."""
    return heading(title, notes, MARGIN, MARGIN + HEAD - 2, width - 2 * MARGIN, HEAD, 20)


def finished(width: float, height: float, title: str, description: str, body: Iterable[str]) -> str:
    """Assemble the picture."""
    return document(NAME, round(width), round(height), title, description, _DAY, _NIGHT, [x for x in body if x])
