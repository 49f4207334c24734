# SPDX-License-Identifier: MIT
"""Profiles as HTML: a page with the annotated sources, and a table for notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from wmma_emu.errors import printable
from wmma_emu.ptx.profile.columns import Column, used_columns
from wmma_emu.ptx.profile.counters import Counters
from wmma_emu.ptx.profile.lines import KernelProfile, ProfiledLine
from wmma_emu.ptx.profile.text import summary_of
from wmma_emu.ptx.reports.frames import short_path

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
.wmma-profile tbody th{font-weight:400;color:var(--soft)}
.wmma-profile td.source,.wmma-profile th.source{text-align:left;white-space:pre;
font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.wmma-profile .warm{background:var(--warm)} .wmma-profile .hot{background:var(--hot);font-weight:600}
"""
_WARM, _HOT = 0.25, 0.5


def page_of(kernels: Sequence[KernelProfile], lines: Mapping[tuple[str, int], ProfiledLine],
            sources: Mapping[str, str]) -> str:  # fmt: skip
    """Return a whole page: the summary of each kernel, then every source with the counters of its lines."""
    title = ", ".join(printable(x.kernel) for x in kernels) or "no launch"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Profile of {escape(title)}</title>"
        "<style>body{margin:0;padding:0 24px 48px}"
        "@media (prefers-color-scheme:dark){body{background:#0d1117}}</style></head><body>"
        f'<main class="wmma-profile"><style>{_STYLE}</style><h1>Profile of {escape(title)}</h1>'
        f"{''.join(_summaries(kernels))}{''.join(_sources(lines, sources))}</main></body></html>"
    )


def table_html(kernels: Sequence[KernelProfile], lines: Sequence[ProfiledLine]) -> str:
    """Return the summaries and a table of the executed lines, for a notebook."""
    shown = [x for x in lines if x.executions]
    rows = [(x.where, x, x.text) for x in shown]
    table = _table(rows, used_columns(shown), "the executed lines", "line")
    return f'<div class="wmma-profile"><style>{_STYLE}</style>{"".join(_summaries(kernels))}{table}</div>'


def _summaries(kernels: Sequence[KernelProfile]) -> Iterator[str]:
    for kernel in kernels:
        head, *rest = summary_of(kernel)
        yield f"<h2>{escape(head)}</h2><pre>{escape(chr(10).join(x.strip() for x in rest))}</pre>"


def _sources(lines: Mapping[tuple[str, int], ProfiledLine], sources: Mapping[str, str]) -> Iterator[str]:
    """Yield a table for each file: all of its lines if its text is available, else those with instructions."""
    for file in dict.fromkeys(file for file, _ in lines):
        own = {number: x for (name, number), x in lines.items() if name == file}
        columns = used_columns(list(own.values()))
        text = sources.get(file)
        rows: list[tuple[str, ProfiledLine | None, str]]
        if text is None:
            rows = [(str(number), x, x.text) for number, x in own.items()]
        else:
            rows = [(str(n), own.get(n), line.expandtabs(4)) for n, line in enumerate(text.rstrip().split("\n"), 1)]
        name = printable(short_path(file)) if file else "the PTX"
        yield f"<h2>{escape(name)}</h2>{_table(rows, columns, name, '')}"


def _table(
    rows: Sequence[tuple[str, ProfiledLine | None, str]], columns: Sequence[Column], name: str, head: str
) -> str:  # fmt: skip
    heads = "".join(f'<th scope="col" title="{escape(x.meaning)}">{escape(x.head)}</th>' for x in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(where)}</th>{"".join(_cell(line, x) for x in columns)}'
        f'<td class="source">{escape(printable(text))}</td></tr>'
        for where, line, text in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Counters of {escape(name)}"><table><thead><tr>'
        f'<th scope="col">{head or "line"}</th>{heads}<th scope="col" class="source">source</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(line: Counters | None, column: Column) -> str:
    if line is None or not (text := column.text(line)):
        return "<td></td>"
    weight = column.weight(line)
    look = ' class="hot"' if weight >= _HOT else ' class="warm"' if weight >= _WARM else ""
    return f"<td{look}>{text}</td>"
