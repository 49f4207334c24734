# SPDX-License-Identifier: MIT
"""Records as a plain table, or as CSV, JSON or Markdown."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wmma_emu.cli.terminal import Line, Styled, Terminal, has_look

Record = Mapping[str, str | int | Sequence[str]]

_GAP = "  "


class Column(NamedTuple):
    """A column of a table: its heading, and whether it may be dropped on a narrow terminal."""

    heading: str
    optional: bool = False


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> Iterator[Line]:
    """Format a table; optional columns, the last first, are dropped until it fits the width.

    A cell's text is also the name of its style, so statuses are coloured.
    """
    widths = [max(len(x) for x in cells) for cells in zip([c.heading for c in columns], *rows, strict=True)]
    kept = list(range(len(columns)))
    for i in reversed(range(len(columns))):
        needed = sum(widths[j] + len(_GAP) for j in kept) - len(_GAP)
        if width is not None and needed > width and columns[i].optional:
            kept.remove(i)
    yield _row([columns[i].heading.upper() for i in kept], [widths[i] for i in kept], "heading")
    for row in rows:
        yield _row([row[i] for i in kept], [widths[i] for i in kept])


def _row(cells: Sequence[str], widths: Sequence[int], style: str | None = None) -> Line:
    *before, last = (*map(str.ljust, cells[:-1], widths), cells[-1])
    if style is None and not any(map(has_look, cells)):  # the case of most of thousands of lines
        return (Styled(_GAP.join((*before, last))),)
    names = cells if style is None else [style] * len(cells)
    return tuple(Styled(x, name) for x, name in zip((*(f"{y}{_GAP}" for y in before), last), names, strict=True))


def _cell(value: str | int | Sequence[str]) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # as in JSON
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else " ".join(value)


def write_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], output: str, terminal: Terminal) -> None:
    """Write a table for people: as Markdown, or formatted to the terminal's width."""
    if output == "markdown":
        terminal.raw(_markdown(columns, rows))
    else:
        terminal.lines(table_lines(columns, rows, terminal.width))


def write_records(records: Sequence[Record], output: str, terminal: Terminal, keys: Sequence[str] = ()) -> None:
    """Write records for programs, as JSON or CSV; ``keys`` are the headings, required if records may be empty."""
    terminal.raw(_json(records) if output == "json" else _csv(records, keys or list(records[0])))


def _csv(records: Sequence[Record], keys: Sequence[str]) -> str:
    """Write records as CSV with a line of headings; lists are joined by spaces.

    Examples
    --------
    >>> print(_csv([{"shape": "m16n8k16", "archs": ["sm_80", "sm_90"]}], ["shape", "archs"]), end="")
    shape,archs
    m16n8k16,sm_80 sm_90
    """
    import csv  # imported late: most tables are written as text

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(keys)
    writer.writerows([_cell(record[key]) for key in keys] for record in records)
    return text.getvalue()


def _json(records: Sequence[Record]) -> str:
    """Write records as a JSON list, one record a line; numbers and lists keep their types."""
    import json  # imported late too

    if not records:
        return "[]\n"
    # One call for all: three times as fast as one call each. JSON strings contain no raw line breaks.
    text = json.dumps([dict(record) for record in records], separators=(",\n", ": "))[1:-1]
    lines = text.replace("},\n{", "}\n{").replace(",\n", ", ").replace("}\n{", "},\n{")
    return f"[\n{lines}\n]\n"


def _markdown(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as Markdown, with every column.

    Examples
    --------
    >>> print(_markdown([Column("shape"), Column("chips")], [["m16n8k16", "sm_80+"]]), end="")
    | shape | chips |
    | --- | --- |
    | m16n8k16 | sm_80+ |
    """
    lines = [[c.heading for c in columns], ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(x.replace("|", "\\|") for x in line) + " |\n" for line in lines)
