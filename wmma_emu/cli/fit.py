# SPDX-License-Identifier: MIT
"""Line breaks for an explanation on a terminal narrower than its lines; parts are kept whole if possible."""

import re
import textwrap
from collections.abc import Iterator
from itertools import groupby

_LABEL = re.compile(r" *\S+ {2,}")
"""A label and the gap before its text."""

_BITS = re.compile(r" {2}(?=[+-] [01]+\.| {2}bits x 2\^)")
"""The start of a term's bits, and of their heading."""

_PRODUCT = re.compile(r" {4}k=\d+ +0x\w+ x 0x\w+ = ")
"""The start of a row of integer products; four or more spaces separate its products."""

_ITEM_END = ",  "
"""The end of an item of a listing; nothing else has two spaces after a comma."""

_GLUE = "\N{NO-BREAK SPACE}"
_GAP = 4
_NARROWEST_CUT = 8


def fit(lines: list[str], width: int) -> Iterator[list[str]]:
    r"""Fit text to a terminal: tables get fewer columns, listings break between items, paragraphs between words.

    Yield the lines of each paragraph.

    Examples
    --------
    >>> text = ["    zero:   k=0 0x0000 x 0x3c00,  k=2..3 0x0000 x 0x0000"]
    >>> [lines] = fit(text, 50)
    >>> print(*lines, sep="\n")
        zero:   k=0 0x0000 x 0x3c00,
                k=2..3 0x0000 x 0x0000
    """
    for line, hang in _paragraphs(_columns(_halved(lines, width), width)):
        yield _wrapped(line, hang, width)


def _halved(lines: list[str], width: int) -> list[str]:
    """Put the bits of all terms, and their heading, on separate lines if one line is too long."""
    found = [_BITS.search(line) for line in lines]
    halves = [line[x.end() :] for line, x in zip(lines, found, strict=True) if x]
    if all(len(line) <= width for line, x in zip(lines, found, strict=True) if x):
        return lines
    bar = max(half.find("|") for half in halves)
    # Leave space after the bar for the truncated bits.
    indent = " " * (6 if 6 + bar + 1 + _NARROWEST_CUT <= width else 2)
    out = []
    for line, x in zip(lines, found, strict=True):
        out += _cut_folded(indent + line[x.end() :], width, [line[: x.start()].rstrip()]) if x else [line]
    return out


def _cut_folded(line: str, width: int, before: list[str]) -> list[str]:
    """Continue truncated bits that exceed the width on further lines, aligned after the bar."""
    start = line.find("|") + 1
    room = width - start
    if len(line) <= width or room < _GAP:
        return [*before, line]
    rest = [" " * start + line[i : i + room] for i in range(width, len(line), room)]
    return [*before, line[:width], *rest]


def _columns(lines: list[str], width: int) -> list[str]:
    """Arrange products of integers in as many columns as fit, in column-major order as before."""
    out: list[str] = []
    for is_product, group in groupby(lines, lambda line: bool(_PRODUCT.match(line))):
        rows = list(group)
        if is_product and any(len(row) > width for row in rows):
            cells = [re.split(r" {4,}(?=k=)", row.strip()) for row in rows]
            items = [row[i] for i in range(len(cells[0])) for row in cells if i < len(row)]
            widest = max(map(len, items))
            count = max(1, width // (_GAP + widest))
            height = -(-len(items) // count)
            gap = " " * _GAP
            rows = [(gap + gap.join(f"{x:<{widest}}" for x in items[i::height])).rstrip() for i in range(height)]
        out += rows
    return out


def _paragraphs(lines: list[str]) -> list[tuple[str, int]]:
    """Join continuation lines to their first line: they are indented to its text, after its label if it has one."""
    joined: list[tuple[str, int]] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        before, hang = joined[-1] if joined else ("", 0)
        is_listing = _ITEM_END in before
        if line and indent == hang > 0 and (before.endswith(",") or not is_listing):
            joined[-1] = (f"{before}{'  ' if is_listing else ' '}{line.lstrip()}", hang)
        else:
            label = _LABEL.match(line)
            joined.append((line, label.end() if label else indent if _ITEM_END in line else 0))
    return joined


def _wrapped(line: str, hang: int, width: int) -> list[str]:
    indent = len(line) - len(line.lstrip())
    body = line[hang:]
    if _ITEM_END in body and max(map(len, body.split(_ITEM_END))) < width - hang:
        line = line[:hang] + _ITEM_END.join(x.replace(" ", _GLUE) for x in body.split(_ITEM_END))
    # The indent is small if the hanging text would be a column of single words, or if a word would not fit.
    fits = 0 < hang <= width // 3 and max(map(len, body.split()), default=0) <= width - hang
    further = " " * (hang if fits else indent + 2)
    room = width - len(further)
    line = re.sub(rf"[^\s{_GLUE}]{{{room + 1},}}", lambda x: _broken_at_dot(x[0], room), line)
    parts = textwrap.wrap(line.rstrip(), width, subsequent_indent=further, break_on_hyphens=False)
    return [part.replace(_GLUE, " ") for part in parts] or [""]


def _broken_at_dot(word: str, room: int) -> str:
    """Break a mnemonic that is longer than a line before a dot; other words may break anywhere."""
    dot = word.rfind(".", 1, room + 1)
    return f"{word[:dot]} {word[dot:]}" if word[0].isalpha() and dot > 0 else word
