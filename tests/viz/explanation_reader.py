# SPDX-License-Identifier: MIT
"""A picture of an explanation read back: every digit drawn, with its power of two, as exact numbers."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


class DigitRow(NamedTuple):
    """Digits of a row: the power of each; those that are struck out apart."""

    sign: int
    attributes: dict[str, str]
    digits: dict[int, int]
    struck: dict[int, int]

    @property
    def value(self) -> Fraction:
        """All digits, with the sign."""
        return self.signed(number(self.digits) + number(self.struck))

    @property
    def stays(self) -> Fraction:
        """The digits that are not struck out, with the sign."""
        return self.signed(number(self.digits))

    def signed(self, x: Fraction) -> Fraction:
        return -x if self.sign else x


class Read(NamedTuple):
    """Rows by what they hold, terms in lists by their kind, patterns in boxes in the order of the picture."""

    rows: dict[str, DigitRow]
    listed: dict[str, list[str]]
    patterns: list[tuple[str, int]]
    converted: list[tuple[str, list[int]]]
    texts: list[str]


def number(digits: dict[int, int]) -> Fraction:
    return sum((bit * Fraction(2) ** power for power, bit in digits.items()), start=Fraction(0))


def read(svg: str) -> Read:
    """Read a picture of one step."""
    root = ElementTree.fromstring(svg)
    rows = {g.get("data-term"): row_of(g) for g in groups(root, "row") if g.get("data-term")}
    listed: dict[str, list[str]] = defaultdict(list)
    for g in groups(root, "listed"):
        listed[g.get("data-kind")] += g.get("data-terms").split(", ")
    patterns = [(g.get("data-format"), bits_of(g)) for g in groups(root, "pattern")]
    converted = [(g.get("data-terms"), [bits_of(x) for x in groups(g, "pattern")]) for g in groups(root, "converted")]
    return Read(rows, listed, patterns, converted, [x.text or "" for x in root.iter(f"{SVG}text")])


def groups(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (g for g in root.iter(f"{SVG}g") if g.get("class") == name)


def row_of(group: ElementTree.Element) -> DigitRow:
    digits: dict[int, int] = {}
    struck: dict[int, int] = {}
    written = []
    for cell in group.iter():
        if cell.get("data-bit") is None:
            continue
        power, bit, count = (int(cell.get(x, "1")) for x in ("data-exponent", "data-bit", "data-count"))
        for i in range(count):
            assert power - i not in digits and power - i not in struck, f"2^{power - i} is drawn twice"
            (struck if cell.get("data-cut") else digits)[power - i] = bit
        if cell.tag == f"{SVG}rect":
            written.append((float(cell.get("x")), str(bit)))
            assert cell.get("class")[1] == str(bit)
    # The digits that are written are those that the cells say, each over its cell.
    shown = [x for x in group.iter(f"{SVG}text") if x.get("x", "").count(" ") == len(x.text or "") - 1 and written]
    shown = [x for x in shown if x.get("class").startswith("mono digits") and set(x.text) <= {"0", "1"}]
    pieces = [(float(x), digit) for text in shown for x, digit in zip(text.get("x").split(), text.text, strict=True)]
    assert [digit for _, digit in pieces] == [digit for _, digit in written]
    assert all(0 < x - left < 12 for (x, _), (left, _) in zip(pieces, written, strict=True))
    return DigitRow(int(group.get("data-sign", "0")), dict(group.attrib), digits, struck)


def bits_of(pattern: ElementTree.Element) -> int:
    """Return the bits of a pattern from the digits in its boxes."""
    boxes = list(pattern.iter(f"{SVG}rect"))
    texts = [x.text for x in pattern.iter(f"{SVG}text") if x.get("class") == "mono"]
    assert texts == [x.get("data-digits") for x in boxes]
    bits = int("".join(texts), 2)
    assert bits == int(pattern.get("data-pattern"), 16)
    return bits
