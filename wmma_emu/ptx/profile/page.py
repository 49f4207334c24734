# SPDX-License-Identifier: MIT
"""Profiles as HTML: a page with the annotated sources, and a table for notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby

from wmma_emu.errors import printable
from wmma_emu.ptx.profile.columns import Column, shown_lines, used_columns
from wmma_emu.ptx.profile.counters import Counters
from wmma_emu.ptx.profile.lines import KernelProfile, ProfiledLine
from wmma_emu.ptx.profile.same_names import shown_names
from wmma_emu.ptx.profile.text import summary_of

_STYLE = """
.wmma-profile{--ink:#1b1f24;--paper:#fff;--soft:#57606a;--rule:#d0d7de;--warm:#fff1c2;--hot:#ffd9d2;
font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
@media (prefers-color-scheme:dark){.wmma-profile{--ink:#e6edf3;--paper:#0d1117;--soft:#9da7b3;--rule:#3d444d;
--warm:#4a3a00;--hot:#5c1f17}}
.wmma-profile h2{font-size:1.15em;margin:1.4em 0 .3em}
.wmma-profile pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:0;white-space:pre-wrap}
.wmma-profile .scroll{overflow-x:auto;border:1px solid var(--rule)}
.wmma-profile table{border-collapse:collapse;font-variant-numeric:tabular-nums;color:var(--ink)}
.wmma-profile th,.wmma-profile td{padding:1px 8px;text-align:right;vertical-align:top;white-space:nowrap}
.wmma-profile thead th{position:sticky;top:0;background:var(--paper);border-bottom:1px solid var(--rule);
font-weight:600}
.wmma-profile tbody th{font-weight:400;color:var(--soft);position:sticky;left:0;background:var(--paper)}
.wmma-profile .source{text-align:left;white-space:pre}
.wmma-profile td.source{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.wmma-profile .warm{background:var(--warm)} .wmma-profile .hot{background:var(--hot);font-weight:600}
.wmma-profile summary{cursor:pointer;padding:4px 0}
.wmma-profile details pre{margin:0 0 8px}
@media print{.wmma-profile{--ink:#1b1f24;--paper:#fff;--soft:#57606a;--rule:#d0d7de;--warm:#fff1c2;--hot:#ffd9d2}
.wmma-profile .scroll,.wmma-profile figure{overflow:visible!important}
.wmma-profile td.source{white-space:pre-wrap;overflow-wrap:anywhere}
.wmma-profile tr{break-inside:avoid} .wmma-profile svg{max-width:100%;height:auto}
.wmma-profile .warm,.wmma-profile .hot{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
_WARM, _HOT = 0.25, 0.5

_CONTEXT, _LEAST_GAP = 4, 8
"""The lines around those with instructions that are shown, and the fewest lines that are left out."""

_Row = tuple[str, ProfiledLine | None, str]
"""The head of a row, its counters, and its text."""

Changes = Sequence[tuple[str, str, int, int]]
"""Counters of lines that changed: the line, the counter, its value before and now."""

Explained = Sequence[tuple[str, str, str]]
"""The bank conflicts of lines: the name of each line, its text, and the explanation as HTML."""


def page_of(kernels: Sequence[KernelProfile], lines: Mapping[tuple[str, int], ProfiledLine],
            sources: Mapping[str, str], conflicts: Explained = ()) -> str:  # fmt: skip
    """Return a whole page: the summary of each kernel, every source with the counters of its lines, the conflicts."""
    names = ", ".join(printable(x.kernel) for x in kernels) or "no launch"
    return _page(f"Profile of {names}", *_summaries(kernels), *_sources(lines, sources), *_explanations(conflicts))


def changes_page(worse: Changes, better: Changes) -> str:
    """Return a whole page: the counters that became worse, and those that became better."""
    return _page("Changes of counters", changes_table(worse, better))


def changes_table(worse: Changes, better: Changes) -> str:
    """Return a table of the counters that became worse, and of those that became better."""
    if not worse and not better:
        return "<p>No counter changed.</p>"
    rows = "".join(
        f'<tr><th scope="row" class="source">{escape(printable(where))}</th><td>{counter.replace("_", " ")}</td>'
        f"<td>{before}</td><td{look}>{now}</td></tr>"
        for look, changes in ((' class="hot"', worse), ("", better))
        for where, counter, before, now in changes
    )
    heads = "".join(f'<th scope="col"{x}</th>' for x in (' class="source">line', ">counter", ">before", ">now"))
    return (
        f'<div class="wmma-profile"><style>{_STYLE}</style>'
        f"<p>{len(worse)} counters became worse; their new values are marked. {len(better)} became better.</p>"
        f"{_scrolling('Changes of counters', heads, rows)}</div>"
    )


def _page(title: str, *parts: str) -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title>"
        "<style>body{margin:0;padding:0 24px 48px}"
        "@media (prefers-color-scheme:dark){body{background:#0d1117}}</style></head><body>"
        f'<main class="wmma-profile"><style>{_STYLE}</style><h1>{escape(title)}</h1>'
        f"{''.join(parts)}</main></body></html>"
    )


def table_html(kernels: Sequence[KernelProfile], lines: Sequence[ProfiledLine], conflicts: Explained = ()) -> str:
    """Return the summaries, a table of the executed lines, and the conflicts, for a notebook."""
    shown = shown_lines(lines)
    rows: list[_Row] = [(x.where, x, x.text) for x in shown]
    table = _table(rows, used_columns(shown), "the executed lines", "line")
    parts = "".join([*_summaries(kernels), table, *_explanations(conflicts)])
    return f'<div class="wmma-profile"><style>{_STYLE}</style>{parts}</div>'


def _explanations(conflicts: Explained) -> Iterator[str]:
    """Yield a heading, and for each line a part that opens."""
    if conflicts:
        yield "<h2>Bank conflicts</h2><p>An access of each line, its banks, and what would remove the conflicts of "
        yield "this line. Profile.conflicts_at finds a remedy for several lines that access one array.</p>"
    for where, text, explanation in conflicts:
        yield f"<details><summary>{escape(where)} <code>{escape(printable(text))}</code></summary>"
        yield f"{explanation}</details>"


def _summaries(kernels: Sequence[KernelProfile]) -> Iterator[str]:
    for kernel in kernels:
        head, *rest = summary_of(kernel)
        yield f"<h2>{escape(head)}</h2><pre>{escape(chr(10).join(x.strip() for x in rest))}</pre>"


def _sources(lines: Mapping[tuple[str, int], ProfiledLine], sources: Mapping[str, str]) -> Iterator[str]:
    """Yield a table for each file: all of its lines if its text is available, else those with instructions."""
    for file, shown in shown_names(dict.fromkeys(file for file, _ in lines)).items():
        own = {number: x for (name, number), x in lines.items() if name == file}
        columns = used_columns(list(own.values()))
        text = sources.get(file)
        if text is None:
            rows: list[_Row] = [(str(number), x, x.text) for number, x in own.items()]
        else:
            rows = _without_gaps(own, [x.expandtabs(4) for x in text.rstrip().split("\n")])
        name = printable(shown) or "the PTX"
        yield f"<h2>{escape(name)}</h2>{_table(rows, columns, name, '')}"


def _without_gaps(own: Mapping[int, ProfiledLine], text: Sequence[str]) -> list[_Row]:
    """Return a row for each line of a source; long parts without instructions become one row."""
    near = {number + i for number in own for i in range(-_CONTEXT, _CONTEXT + 1)}
    rows: list[_Row] = []
    for is_near, run in groupby(range(1, len(text) + 1), key=near.__contains__):
        numbers = [*run]
        if is_near or len(numbers) < _LEAST_GAP:
            rows += [(str(n), own.get(n), text[n - 1]) for n in numbers]
        else:
            rows.append(("", None, f"... {len(numbers)} lines without instructions"))
    return rows


def _table(
    rows: Sequence[_Row], columns: Sequence[Column], name: str, head: str
) -> str:  # fmt: skip
    heads = "".join(f'<th scope="col" title="{escape(x.meaning)}">{escape(x.head)}</th>' for x in columns)
    body = "".join(
        f"<tr>{_row_head(where)}{''.join(_cell(line, x) for x in columns)}"
        f'<td class="source">{escape(printable(text))}</td></tr>'
        for where, line, text in rows
    )
    heads = f'<th scope="col">{head or "line"}</th>{heads}<th scope="col" class="source">source</th>'
    return _scrolling(f"Counters of {name}", heads, body)


def _scrolling(name: str, heads: str, body: str) -> str:
    """Return a table in a box that scrolls sideways, from the keyboard too."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}"><table><thead><tr>{heads}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _row_head(where: str) -> str:
    return f'<th scope="row">{escape(where)}</th>' if where else "<td></td>"


def _cell(line: Counters | None, column: Column) -> str:
    if line is None or not (text := column.text(line)):
        return "<td></td>"
    weight = column.weight(line)
    look = ' class="hot"' if weight >= _HOT else ' class="warm"' if weight >= _WARM else ""
    return f"<td{look}>{text}</td>"
