# SPDX-License-Identifier: MIT
"""A finding as a few lines of text: title, source lines, message, possible fix."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from wmma_emu.ptx.reports.frames import QuotedLine

MOST_LINES = 12
"""The maximum number of lines of a finding that is not verbose, without the table of a deadlock."""

_MOST_ROWS = 8

_LEAST_OF_MESSAGE = 2
_LEAST_OF_QUOTE = 10
_LEAST_OF_NAME = 8
_NARROWEST = 40
_LOOKS = {
    "error": "1;31", "warning": "1;33", "note": "1;36", "title": "1", "caret": "32", "number": "2", "label": "36",
}  # fmt: skip
"""Styles of ANSI terminals."""


class FindingParts(NamedTuple):
    """The parts of a finding's text."""

    severity: str
    title: str
    id: str
    sides: Sequence[QuotedLine]
    message: str
    fix: str
    seen: str
    more: Sequence[str]
    sightings: Sequence[str]
    page: str
    inlined: str = ""
    table: Sequence[str] = ()


_Frame = tuple[list[str], list[str]]
"""The lines above the message, and the lines below it."""


class _LineLimits(NamedTuple):
    """The maximum number of lines of each part, and whether carets, the kind's page and calls are shown at all."""

    title: int | None = None
    fix: int | None = None
    more: int | None = None
    seen: int | None = None
    has_carets: bool = True
    has_page: bool = True
    has_inlined: bool = True


_LIMITS = (
    _LineLimits(),
    _LineLimits(has_inlined=False),
    _LineLimits(has_carets=False, has_inlined=False),
    _LineLimits(seen=1, has_carets=False, has_page=False, has_inlined=False),
    _LineLimits(2, 3, 1, 1, has_carets=False, has_page=False, has_inlined=False),
)
"""Increasingly tight limits for long messages; the last leaves two lines for the message next to two quoted lines."""

_LIMITS_FOR_WHOLE_MESSAGES = 3
"""The number of these limits that may be applied to show a whole message; the others apply to show its first lines."""


def text_of(found: FindingParts, width: int, *, verbose: bool = False, color: bool = False) -> str:
    """Return a finding as text for a terminal of some width."""
    width = max(width, _NARROWEST)
    message = _wrapped(found.message, width - 2, "")
    lines, ends = _frame_for(found, len(message), width, color, verbose)
    if not verbose:
        message = _wrapped(found.message, width - 2, "", _room(lines, ends))
    lines += [f"  {x}" for x in message] + _table(found.table, width, color, verbose) + ends
    if verbose and found.sightings:
        lines += _look("  in the PTX:", "label", color).splitlines()
        for each in found.sightings:
            lines += [f"    {x}" for part in each.splitlines() for x in _wrapped(part, width - 4, "  ")]
    return "\n".join(x.rstrip() for x in lines)


def _table(rows: Sequence[str], width: int, color: bool, verbose: bool) -> list[str]:
    """Write the table of a message, each row on separate lines."""
    shown = rows if verbose or len(rows) <= _MOST_ROWS else [*rows[:_MOST_ROWS], f"and {len(rows) - _MOST_ROWS} more"]
    head = [f"  {_look('mbarriers:', 'label', color)}"] if rows else []
    return head + [f"    {x}" for row in shown for x in _wrapped(row, width - 4, "  ")]


def _frame_for(found: FindingParts, message: int, width: int, color: bool, verbose: bool) -> _Frame:
    """Choose the parts around a message of some lines, so that it is whole, or has at least two lines."""
    frames = [_frame(found, width, color, x) for x in _LIMITS[: 1 if verbose else None]]
    whole = (x for x in frames[:_LIMITS_FOR_WHOLE_MESSAGES] if _room(*x) >= message)
    begun = (x for x in frames if _room(*x) >= min(message, _LEAST_OF_MESSAGE))
    return next(whole, None) or next(begun, frames[-1])


def _room(lines: Sequence[str], ends: Sequence[str]) -> int:
    return MOST_LINES - len(lines) - len(ends)


def _frame(found: FindingParts, width: int, color: bool, most: _LineLimits) -> _Frame:
    head = _wrapped(found.title, width - len(found.severity) - 2, "  ", most.title)
    lines = [f"{_look(found.severity + ':', found.severity, color)} {_look(head[0], 'title', color)}"]
    lines += [_look(x, "title", color) for x in head[1:]]
    lines += _quotes(found.sides, width, color, most.has_carets)
    ends = [
        *(_labelled("possible fix: ", found.fix, width, color, most.fix) if found.fix else ()),
        *(x for more in found.more for x in _labelled("same cause: ", more, width, color, most.more)),
        *(_labelled("inlined: ", found.inlined, width, color) if found.inlined and most.has_inlined else ()),
        *_labelled("seen: ", found.seen, width, color, most.seen),
        *_labelled("id: ", f"{found.id}; {found.page}" if most.has_page else found.id, width, color),
    ]
    return lines, ends


def _quotes(sides: Sequence[QuotedLine], width: int, color: bool, has_carets: bool) -> list[str]:
    """Quote the lines one below the other, without their common indentation."""
    role = max((len(x.role) for x in sides), default=0)
    room = width - 2 - 1 - (role + 1 if role else 0) - 2
    most = max(room - _LEAST_OF_QUOTE, _LEAST_OF_NAME)
    names = [x.where if len(x.where) <= most else f"...{x.where[3 - most :]}" for x in sides]
    label = max(map(len, names), default=0)
    room -= label
    texts = [x.quote for x in sides if x.quote]
    indent = min((len(x) - len(x.lstrip()) for x in texts), default=0)
    lines: list[str] = []
    for name, side in zip(names, sides, strict=True):
        start = _look(f"{name:<{label}} ", "number", color)
        what = f"{side.role:<{role}} " if role else ""
        if not side.quote:
            lines.append(f"  {start}{what}|")
            continue
        quote, column = side.quote[indent:], side.column - indent if side.column else 0
        quote, column = _window(quote, column, room)
        lines.append(f"  {start}{what}| {quote}")
        if column > 0 and has_carets:
            blanks = " " * (2 + label + 1 + len(what))
            lines.append(f"{blanks}| {' ' * (column - 1)}{_look('^', 'caret', color)}")
    return lines


def _window(quote: str, column: int, room: int) -> tuple[str, int]:
    """Shorten a line that is too long, keeping the column of the caret."""
    if len(quote) <= room:
        return quote, column
    first = max(0, min(column - room // 2, len(quote) - room)) if column > room - 4 else 0
    cut = quote[first : first + room]
    if first:
        cut = "..." + cut[3:]
    if first + room < len(quote):
        cut = cut[:-3] + "..."
    return cut, column - first if column else 0


def _labelled(label: str, text: str, width: int, color: bool, most: int | None = None) -> list[str]:
    lines = _wrapped(text, width - 2 - len(label), "", most)
    rest = " " * (2 + len(label))
    return [f"  {_look(label, 'label', color)}{lines[0]}", *(rest + x for x in lines[1:])]


def _wrapped(text: str, width: int, indent: str, most: int | None = None) -> list[str]:
    return textwrap.wrap(
        text, max(width, _NARROWEST // 2), subsequent_indent=indent, break_on_hyphens=False, max_lines=most,
        placeholder=" ...",
    ) or [""]  # fmt: skip


def _look(text: str, look: str, color: bool) -> str:
    return f"\x1b[{_LOOKS[look]}m{text}\x1b[0m" if color else text
