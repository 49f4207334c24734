# SPDX-License-Identifier: MIT
"""A drawing that grows downwards: lines of words, rows of bits, patterns in boxes."""

from collections.abc import Iterable
from html import escape

from wmma_emu.arithmetic.explanation.notation import grouped, pattern
from wmma_emu.arithmetic.explanation.steps import Special
from wmma_emu.formats import Format, format_of
from wmma_emu.viz.arithmetic.bit_rows import HEIGHT, PITCH, TEXT
from wmma_emu.viz.arithmetic.pattern_fields import FIELDS_HEIGHT, draw_fields, fields_width
from wmma_emu.viz.svg import element, text_lines, wrapped

_MONO = 6.9
"""The width of a monospaced letter at size 11."""

_HEAD, _WORDS = 13, 12
_LEAST = 620.0
"""The least width to which words are wrapped; otherwise the width of the rows of bits."""


def mono_width(text: str) -> float:
    """Return the width of a string in monospaced letters."""
    return len(text) * _MONO


def _names(text: str) -> str:
    first, _, last = text.partition(" ")[0].removeprefix("k=").partition("..")
    return ", ".join(f"k={k}" for k in range(int(first), int(last or first) + 1))


class Drawing:
    """A growing list of elements and their extent; the title above them is measured separately."""

    def __init__(self, title: str, width: float = 0.0) -> None:
        self.title, self.y = title, 0.0
        self.width = max(width, _LEAST)
        self.body: list[str] = []

    def head(self, width: float) -> tuple[list[str], float]:
        """Return the title in lines that fit, and their height."""
        lines = wrapped(self.title, width, 1.15 * _HEAD)  # bold letters are wider
        return text_lines(lines, 0, _HEAD, _HEAD, 18, font_weight="600"), 18.0 * len(lines) + 6

    def add(self, *elements: str) -> None:
        """Draw elements that do not extend the drawing."""
        self.body += elements

    def widen(self, right: float) -> None:
        """Extend the drawing to at least this size."""
        self.width = max(self.width, right)

    def words(self, text: str, *, quiet: bool = False, **attributes: str) -> None:
        """Write a sentence below the drawing."""
        lines = wrapped(text, self.width, _WORDS)
        kind = {"class_": "quiet"} if quiet else {}
        self.body += text_lines(lines, 0, self.y + _WORDS, _WORDS, 17, **kind, **attributes)
        self.y += 17.0 * len(lines) + 3

    def mono(self, text: str, x: float, *, anchor: str = "start", quiet: bool = False) -> None:
        """Write monospaced letters into the current row."""
        kind = "mono quiet" if quiet else "mono"
        self.body.append(element("text", escape(text), x=x, y=self.y + HEIGHT - 4, font_size=TEXT, class_=kind,
                                 text_anchor=anchor))  # fmt: skip

    def row(self, elements: Iterable[str], tip: str = "", **data: str | int) -> None:
        """Draw the elements of a row at `y`, and continue below it; ``tip`` is its tooltip."""
        title = [element("title", escape(tip))] if tip else []
        self.body.append(element("g", *title, *elements, class_="row", **data))
        self.y += PITCH

    def listed(self, head: str, terms: list[tuple[int, str]], others: Iterable[tuple[str, str]] = ()) -> None:
        """Write terms, each with its k or its name, in lines that fit; a term is never split."""
        items = [*((_names(text), text) for text in grouped(terms)), *others]
        if not items:
            return
        x, indent = mono_width(f"{head} "), mono_width(f"{head} ")
        self.mono(head, 0, quiet=True)
        for i, (names, text) in enumerate(items):
            text = text if i == len(items) - 1 else f"{text},"
            if x > indent and x + mono_width(text) > self.width:
                x, self.y = indent, self.y + 16
            shown = element("text", escape(text), x=x, y=self.y + HEIGHT - 4, font_size=TEXT, class_="mono")
            self.body.append(element("g", shown, class_="listed", data_terms=names, data_kind=head.strip(":")))
            self.widen(x + mono_width(text))
            x += mono_width(f"{text}  ")
        self.y += PITCH

    def result(self, bits: int, fmt: Format | str, head: str = "") -> None:
        """Draw the fields of the result's pattern."""
        fmt = format_of(fmt) if isinstance(fmt, str) else fmt
        head = head or f"→ {pattern(bits, fmt)} ({fmt})"
        self.y += 2
        self.mono(head, 0)
        left = mono_width(head) + 10
        self.add(element("g", *draw_fields(bits, fmt, left, self.y), class_="result"))
        self.widen(left + fields_width(fmt))
        self.y += FIELDS_HEIGHT + 4

    def special(self, special: Special) -> None:
        """Write the rule that made an infinity or NaN, and its cause."""
        causes = ", ".join(special.causes)
        self.words(f"= {special.result}: {special.rule} ({causes})", data_rule=special.rule, data_causes=causes)
