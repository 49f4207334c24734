# SPDX-License-Identifier: MIT
"""Bits on a ruler: a cell for each power of two, the same power in the same column of every row."""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise
from typing import NamedTuple

from wmma_emu.viz.svg import element, text_width

HEIGHT, PITCH = 16, 20
"""The width of a cell, and the distance of rows."""

TEXT, SMALL = 11, 9
_CELL, _NARROW_CELL = 11, 8
_MANY = 100
"""The number of columns from which they are narrow."""

_GAP = 44
_LONGEST_RUN = 14
"""The longest run of columns without a change in any row; a break replaces longer runs."""

_MARGIN = 2
"""The columns of a run that are drawn on each side of its break."""


class Bits(NamedTuple):
    """The binary digits of ``value * 2**lowest``, from the power ``highest`` down to ``lowest``."""

    value: int
    lowest: int
    highest: int

    @classmethod
    def of(cls, value: int, lowest: int, least: int | None = None) -> "Bits":
        """Return the digits from the leading one, or from the power ``least`` if it is higher, down to ``lowest``.

        Examples
        --------
        >>> Bits.of(0b101, -3), Bits.of(0b101, -3, 0)
        (Bits(value=5, lowest=-3, highest=-1), Bits(value=5, lowest=-3, highest=0))
        """
        leading = lowest + max(value.bit_length(), 1) - 1
        return cls(value, lowest, leading if least is None else max(leading, least))

    @classmethod
    def stripped(cls, value: int, lowest: int) -> "Bits":
        """Return the digits from the leading one to the last one."""
        zeros = (value & -value).bit_length() - 1 if value else 0
        return cls.of(value >> zeros, lowest + zeros)

    def digit(self, power: int) -> int:
        """Return the digit at a power of two."""
        return self.value >> (power - self.lowest) & 1

    @property
    def powers(self) -> range:
        """Return the powers that have a digit, from the highest."""
        return range(self.highest, self.lowest - 1, -1)


class Ruler:
    """The columns of the powers of two from ``highest`` down to ``lowest``; breaks replace some of them.

    ``gaps`` are the highest and the lowest power of each break, from the highest.
    """

    def __init__(self, left: float, highest: int, lowest: int, gaps: Iterable[tuple[int, int]] = ()) -> None:
        self.left, self.highest, self.lowest, self.gaps = left, highest, lowest, tuple(gaps)
        hidden = sum(high - low + 1 for high, low in self.gaps)
        self.narrow = highest - lowest + 1 - hidden > _MANY
        self.cell = _NARROW_CELL if self.narrow else _CELL
        self._starts = [(highest, left)]
        for high, low in self.gaps:
            start, x = self._starts[-1]
            self._starts.append((low - 1, x + (start - high) * self.cell + _GAP))

    def x(self, power: int) -> float:
        """Return the left edge of a power's column, also beyond the ruler."""
        start, x = next((s for s in reversed(self._starts) if power <= s[0]), self._starts[0])
        return x + (start - power) * self.cell

    @property
    def right(self) -> float:
        """The right edge of the ruler."""
        return self.x(self.lowest - 1)

    def moved(self, power: int, x: float) -> "Ruler":
        """Return a separate ruler for one row, on which a power has another position."""
        other = Ruler(x, power, power)
        other.cell, other.narrow = self.cell, self.narrow
        return other


def gaps_of(rows: Iterable[Bits]) -> list[tuple[int, int]]:
    """Find long runs of powers in which no row changes, so that a break can replace each.

    Examples
    --------
    >>> gaps_of([Bits.of(1, 0), Bits.of(1, -100)])
    [(-3, -97)]
    >>> gaps_of([Bits.of((1 << 40) - 1, -40)])
    [(-3, -38)]
    """
    rows = list(rows)
    highest, lowest = max(row.highest for row in rows), min(row.lowest for row in rows)
    # A run can end only where a row begins, ends or changes its digit: other powers need not be examined.
    ends = {highest, lowest - 1}
    for row in rows:
        changes = row.value ^ (row.value >> 1)
        ends |= {row.highest, row.lowest - 1}
        while changes:
            place = changes.bit_length() - 1
            ends.add(row.lowest + place)
            changes ^= 1 << place
    found = []
    points = sorted((x for x in ends if lowest - 1 <= x <= highest), reverse=True)
    for high, below in pairwise(points):
        if high - below > _LONGEST_RUN:
            found.append((high - _MARGIN, below + 1 + _MARGIN))
    return found


def bit_row(
    ruler: Ruler, y: float, bits: Bits, *, cut_below: int | None = None, new_above: int | None = None
) -> Iterator[str]:
    """Draw one row of cells: ones filled, zeros light; digits below a power struck out; ones above a power are carries.

    Every cell has its power and its digit (``data-exponent``, ``data-bit``), and ``data-cut`` if it is struck out;
    a break has the number of digits that it replaces (``data-count``, from ``data-exponent`` down).
    """
    digits, places = [], []
    hidden = [(high, low) for high, low in ruler.gaps if high <= bits.highest and low >= bits.lowest]
    skipped = {power for high, low in hidden for power in range(low, high + 1)}
    for power in bits.powers:
        if power in skipped:
            continue
        bit, cut = bits.digit(power), cut_below is not None and power < cut_below
        kind = "x" if cut else "n" if bit and new_above is not None and power > new_above else "b"
        extra = {"data_cut": 1} if cut else {}
        x = ruler.x(power)
        yield element("rect", x=x + 0.5, y=y + 0.5, width=ruler.cell - 1, height=HEIGHT - 1, class_=f"{kind}{bit}",
                      data_exponent=power, data_bit=bit, **extra)  # fmt: skip
        digits.append(str(bit))
        places.append(f"{x + ruler.cell / 2:g}")
    for high, low in hidden:
        yield from _break(ruler, y, high, low, bits.digit(high), cut_below)
    if cut_below is not None and cut_below > bits.lowest:
        start = ruler.x(min(cut_below - 1, bits.highest))
        d = f"M{start:g} {y + HEIGHT / 2:g}H{ruler.x(bits.lowest) + ruler.cell:g}"
        yield element("path", d=d, class_="strike")
    size = "mono digits narrow" if ruler.narrow else "mono digits"
    yield element("text", "".join(digits), x=" ".join(places), y=y + HEIGHT - 4, class_=size)


def _break(ruler: Ruler, y: float, high: int, low: int, bit: int, cut_below: int | None) -> Iterator[str]:
    x, count = ruler.x(high + 1) + ruler.cell, high - low + 1
    cut = {"data_cut": 1} if cut_below is not None and high < cut_below else {}
    label = element("text", f"{bit}…{bit}", x=x + _GAP / 2, y=y + HEIGHT - 4, class_="mono digits")
    tip = element("title", f"{count} digits {bit}")
    yield element("g", tip, label, class_="break", data_exponent=high, data_bit=bit, data_count=count, **cut)


def marks(ruler: Ruler, y: float, bar: int | None = None) -> Iterator[str]:
    """Draw the ruler: a tick for each power, the number at every fourth or eighth; ``y`` is its lower edge.

    No number is written across the bar below the power ``bar``.
    """
    ticks, every = [], 8 if ruler.narrow else 4
    edge = ruler.left - 20
    line = None if bar is None else ruler.x(bar) + ruler.cell
    hidden = {power for high, low in ruler.gaps for power in range(low, high + 1)}
    powers = [power for power in range(ruler.highest, ruler.lowest - 1, -1) if power not in hidden]
    if not any(power % every == 0 for power in powers):
        every = max(abs(ruler.highest), 1)  # a short ruler names only its first power
    for power in powers:
        x = ruler.x(power)
        middle = x + ruler.cell / 2
        label = f"2^{power}"
        room = text_width(label, SMALL)
        clear = line is None or abs(middle - line) > room / 2 + 1
        named = power % every == 0 and middle - room / 2 >= edge and clear
        ticks.append(f"M{middle:g} {y:g}v{-6 if named else -3}")
        if named:
            edge = middle + room / 2
            yield element("text", label, x=middle, y=y - 8, font_size=SMALL, text_anchor="middle", class_="quiet")
    yield element("path", d="".join(ticks), class_="line")
    for high, low in ruler.gaps:
        x = ruler.x(high + 1) + ruler.cell
        d = f"M{x + 3:g} {y + 1:g}l4 -8M{x + 7:g} {y + 1:g}l4 -8"
        yield element("path", d=d, class_="line")
        label = f"{high - low + 1} powers"
        yield element("text", escape(label), x=x + _GAP / 2, y=y - 19, font_size=SMALL, text_anchor="middle",
                      class_="quiet")  # fmt: skip


def boundary(ruler: Ruler, power: int, top: float, bottom: float, kind: str = "bar") -> str:
    """Draw a line between the digits that are kept, from ``power`` up, and the digits below it."""
    x = ruler.x(power) + ruler.cell
    return element("path", d=f"M{x:g} {top:g}V{bottom:g}", class_=kind, data_power=power)
