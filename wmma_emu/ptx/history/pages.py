# SPDX-License-Identifier: MIT
"""A history as a page: time goes down, each warp has a column, and synchronisation of several warps spans columns."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from wmma_emu.errors import printable
from wmma_emu.ptx.history.events import Event
from wmma_emu.ptx.history.history import History
from wmma_emu.ptx.history.words import action_text, place_text, shown_indices, threads_text

_MOST = 1000
"""The maximum number of events on a page."""

_COLUMNS = 12
"""The maximum number of warps with separate columns; the others share one column."""

_Column = tuple[tuple[int, int, int], int]
_OTHERS: _Column = ((-1, -1, -1), -1)

_STYLE = """
.wmma-history{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#59636e;--rule:#d0d7de;--read:#ddf4ff;
--write:#fff1d6;--sync:#6e7781;--mark:#cf222e;font:14px/1.45 system-ui,sans-serif;color:var(--ink);
background:var(--paper);padding:1em;max-width:100%;overflow-x:auto}
@media (prefers-color-scheme:dark){.wmma-history{--ink:#e6edf3;--paper:#0d1117;--soft:#9198a1;--rule:#3d444d;
--read:#12324f;--write:#4d3800;--sync:#9198a1;--mark:#ff7b72}}
.wmma-history h1{font-size:1.15em;margin:0 0 .3em}.wmma-history p{margin:.3em 0;max-width:60em}
.wmma-history .soft{color:var(--soft)}
.wmma-history table{border-collapse:collapse;margin:1em 0;font:13px/1.4 ui-monospace,monospace}
.wmma-history th,.wmma-history td{padding:.2em .7em;text-align:left;vertical-align:top;color:var(--ink);
background:var(--paper);border:0}
.wmma-history thead th{border-bottom:1px solid var(--ink);white-space:nowrap}
.wmma-history td.lane{border-left:1px solid var(--rule)}
.wmma-history td.step{color:var(--soft);text-align:right}.wmma-history td.where{color:var(--soft);white-space:nowrap}
.wmma-history .event{padding:.1em .4em;border-radius:3px;margin:.1em 0}
.wmma-history .reads{background:var(--read)}.wmma-history .writes{background:var(--write)}
.wmma-history .sync{border-top:2px solid var(--sync);border-radius:0;color:var(--soft);padding-top:.2em}
.wmma-history .marked{outline:2px solid var(--mark)}
.wmma-history .end{font-weight:600}
"""


def page(history: History, is_whole: bool = True) -> str:
    """Return a history as an HTML document, or as the part of one that a notebook shows."""
    left_out = f"{history.left_out} events in the middle of the run were not kept."
    body = [
        f"<h1>{_text(history.title)}</h1>",
        f"<p>History of {_text(history.watched)}.</p>",
        f'<p class="soft">{_text(history.replayed)}</p>',
        *([_table(history)] if history.events else ()),
        *([f'<p class="soft">{left_out}</p>'] if history.left_out else ()),
        *(f'<p class="end">{_text(x)}</p>' for x in history.conclusion),
    ]
    inside = f'<style>{_STYLE}</style><div class="wmma-history">{"".join(body)}</div>'
    if not is_whole:
        return inside
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{_text(history.title)}</title><style>body{{margin:0;color-scheme:light dark}}"
        "@media (prefers-color-scheme:dark){body{background:#0d1117}}</style>"
        f"</head><body>{inside}</body></html>"
    )


def _text(text: str) -> str:
    return escape(printable(text))


def _table(history: History) -> str:
    events = history.events
    columns = _columns(history)
    several = len({x[0] for x in columns if x is not _OTHERS}) > 1
    names = [
        "other warps" if x is _OTHERS else f"block {x[0]}, warp {x[1]}" if several else f"warp {x[1]}" for x in columns
    ]
    head = "".join(f'<th scope="col">{escape(x)}</th>' for x in ("step", *names, "where"))
    rows = []
    for is_gap, run in groupby(shown_indices(events, (history.here, history.other), _MOST), lambda x: x is None):
        if is_gap:
            gap = f'<td class="lane" colspan="{len(columns) + 1}">some events omitted</td>'
            rows.append(f'<tr><td class="step">...</td>{gap}</tr>')
            continue
        shown = [x for x in run if x is not None]
        for _, step in groupby(shown, lambda x: (events[x].step, events[x].place)):
            rows.append(_row(history, columns, list(step)))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _columns(history: History) -> list[_Column]:
    """Choose the warps with a column: first those of the finding, then those that access the bytes, then others."""
    marked = [history.events[x] for x in (history.here, history.other) if x is not None]
    accesses = [x for x in history.events if x.is_access]
    found = list(dict.fromkeys((x.block, w) for x in (*marked, *accesses, *history.events) for w in x.warps))
    return sorted(found[:_COLUMNS]) + ([_OTHERS] if len(found) > _COLUMNS else [])


def _row(history: History, columns: Sequence[_Column], shown: Sequence[int]) -> str:
    """Draw the events of one instruction, each in the columns of its warps."""
    events = history.events
    cells: list[list[str]] = [[] for _ in columns]
    spans: list[tuple[int, int, str]] = []
    for i in shown:
        event = events[i]
        at = sorted({_column_of(columns, event, w) for w in event.warps})
        text = _event(history, i, named=columns[at[0]] is _OTHERS or len(at) > 1)
        if len(at) > 1 and at == list(range(at[0], at[-1] + 1)) and len(shown) == 1:
            spans.append((at[0], at[-1], text))
            continue
        cells[at[0]].append(text)
        for k in at[1:]:
            cells[k].append('<div class="event sync"></div>')
    first = events[shown[0]]
    drawn, k = [], 0
    while k < len(columns):
        span = next((x for x in spans if x[0] == k), None)
        if span is not None:
            drawn.append(f'<td class="lane" colspan="{span[1] - k + 1}">{span[2]}</td>')
            k = span[1] + 1
            continue
        drawn.append(f'<td class="lane">{"".join(cells[k])}</td>')
        k += 1
    where = f'<td class="where" title="{_text(first.text)}">{_text(place_text(first.place))}</td>'
    return f'<tr><td class="step">{first.step}</td>{"".join(drawn)}{where}</tr>'


def _column_of(columns: Sequence[_Column], event: Event, warp: int) -> int:
    key = event.block, warp
    return columns.index(key) if key in columns else len(columns) - 1


def _event(history: History, i: int, named: bool) -> str:
    """Draw one event; ``named`` is whether to add its warps, because the column does not name them."""
    event = history.events[i]
    kind = "sync" if not event.is_access else "writes" if event.does_write else "reads"
    mark = " marked" if i in (history.here, history.other) else ""
    who = threads_text(event)
    who = who if named else who.partition(", ")[2]
    said = f"{who} {action_text(event)}".strip()
    return f'<div class="event {kind}{mark}" data-event="{i}">{_text(said)}</div>'
