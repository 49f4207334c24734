# SPDX-License-Identifier: MIT
"""A history as text for a terminal: a table of accesses and synchronisation in order of time, and conclusions."""

import textwrap

from wmma_emu.errors import printable
from wmma_emu.ptx.history.history import History
from wmma_emu.ptx.history.words import action_text, place_text, shown_indices, threads_text

_MOST = 24
"""The number of events that are shown of a long history."""

_LEAST = 24
"""The minimum width of the column of actions, if the other columns can be narrower."""


def written(history: History, width: int, verbose: bool) -> str:
    """Return a history as text of some width."""
    head = [f"history of {history.watched}", history.title]
    lines = [y for x in head for y in textwrap.wrap(printable(x), width, subsequent_indent="  ")]
    events = history.events
    if events:
        lines += ["", *_table(history, width, verbose)]
    if history.left_out:
        lines.append(f"      ({history.left_out} events in the middle of the run were not kept)")
    said = [*history.conclusion, history.replayed]
    lines += ["", *(y for x in said for y in textwrap.wrap(printable(x), width))]
    return "\n".join(lines)


def _table(history: History, width: int, verbose: bool) -> list[str]:
    events, marked = history.events, (history.here, history.other)
    shown = shown_indices(events, marked, len(events) if verbose else _MOST)
    several = len({x.block for x in events}) > 1
    there = [events[i] for i in shown if i is not None]
    who = {id(x): f"block {x.block} {threads_text(x)}" if several else threads_text(x) for x in there}
    first, middle, last = _widths(
        max(len(x) for x in who.values()), max(len(place_text(x.place)) for x in there), width - 11
    )  # fmt: skip
    heads = (("who", first), ("does", middle), ("where", last))
    lines, step, before = _row(" step  ", heads), 0, -1
    for i in shown:
        if i is None:
            continue
        if i > before + 1:
            lines.append(f"       ... {i - before - 1} more events; text(verbose=True) shows them")
        event = events[i]
        number = f"{event.step}" if event.step != step else ""
        mark = ">" if i in marked else "-" if not event.is_access else " "
        cells = (who[id(event)], first), (action_text(event), middle), (place_text(event.place), last)
        lines += _row(f"{mark}{number:>4}  ", cells)
        step, before = event.step, i
    return lines


def _widths(first: int, last: int, width: int) -> tuple[int, int, int]:
    """Distribute a width over three columns: the first and the last at full width, if enough remains.

    Examples
    --------
    >>> _widths(18, 24, 89), _widths(60, 60, 49)
    ((18, 47, 24), (15, 19, 15))
    """
    if first + last > width - _LEAST:
        first, last = (max(min(x, width * 31 // 100), 8) for x in (first, last))
    return first, max(width - first - last, 8), last


def _row(head: str, cells: tuple[tuple[str, int], ...]) -> list[str]:
    columns = [textwrap.wrap(text, size, break_long_words=True) or [""] for text, size in cells]
    lines = []
    for k in range(max(map(len, columns))):
        parts = [(x[k] if k < len(x) else "").ljust(size) for x, (_, size) in zip(columns, cells, strict=True)]
        lines.append(((head if k == 0 else " " * len(head)) + "  ".join(parts)).rstrip())
    return lines
