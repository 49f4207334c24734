# SPDX-License-Identifier: MIT
"""The pictures of a comparison of chips on a model: growth over the layers, and the effect of each mechanism."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from wmma_emu.viz.svg import document, element, heading, text_lines, wrapped

_NAME = "wmma-emu-model"
_MARGIN, _SIDE, _HEIGHT = 24, 72, 260
_WIDTH = 900
_SMALL = 11
_DAY = ("#1f6feb", "#bc4c00", "#1a7f37", "#8250df", "#9a6700", "#cf222e")
_NIGHT = ("#79c0ff", "#ffa657", "#56d364", "#d2a8ff", "#e3b341", "#ff7b72")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "12 4")


class Line(NamedTuple):
    """A line of a chart: a name, and a value for each layer, 0 where nothing differs."""

    name: str
    values: Sequence[float]


class Bar(NamedTuple):
    """A bar: a name, a value between 0 and 1, and the text next to it."""

    name: str
    value: float
    text: str


def growth(lines: Sequence[Line], layers: Sequence[str], title: str, notes: Sequence[str]) -> str:
    """Draw the relative distance of each layer on a logarithmic scale; layers with equal bits are at the bottom."""
    body, top = heading(title, notes, _MARGIN, _MARGIN + 16, _WIDTH - 2 * _MARGIN, 16, 22)
    top += 12
    present = [x for line in lines for x in line.values if x > 0]
    low = math.floor(math.log10(min(present))) - 1 if present else -1
    high = max(math.ceil(math.log10(max(present))), low + 2) if present else 1
    left, right, bottom = _MARGIN + _SIDE, _WIDTH - _MARGIN, top + _HEIGHT

    def height(value: float) -> float:
        return bottom if value <= 0 else bottom - (math.log10(value) - low) / (high - low) * _HEIGHT

    body += _axis(low, high, left, right, height, bottom)
    step = (right - left) / max(len(layers) - 1, 1)
    for i, line in enumerate(lines):
        points = [(left + j * step, height(x)) for j, x in enumerate(line.values)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        body.append(element("path", d=path, class_=f"line{i % 6}"))
        for (x, y), layer, value in zip(points, layers, line.values, strict=True):
            tip = element("title", escape(f"{line.name}, {layer}: {value:.2g}"))
            body.append(element("circle", tip, cx=x, cy=y, r=3, class_=f"dot{i % 6}"))
    body += text_lines([f"{layers[0]} … {layers[-1]}"] if layers else [], left, bottom + 18, _SMALL, 0, class_="quiet")
    body += _legend([line.name for line in lines], left, bottom + 40)
    said = "; ".join(f"{line.name}: {line.values[-1]:.2g} at the output" for line in lines if line.values)
    return document(_NAME, _WIDTH, bottom + 56, title, said, *_style(), body)


def bars(groups: Sequence[tuple[str, Sequence[Bar]]], title: str, notes: Sequence[str]) -> str:
    """Draw groups of horizontal bars; the largest value has the full length."""
    body, y = heading(title, notes, _MARGIN, _MARGIN + 16, _WIDTH - 2 * _MARGIN, 16, 22)
    names, full = 250, _WIDTH - 2 * _MARGIN - 250 - 110
    most = max([bar.value for _, rows in groups for bar in rows], default=0) or 1
    for group, rows in groups:
        y += 12
        body += text_lines([group], _MARGIN, y + 14, 13, 0, font_weight="600")
        y += 24
        for i, bar in enumerate(rows):
            body += text_lines(wrapped(bar.name, names, 12)[:1], _MARGIN, y + 13, 12, 0)
            tip = element("title", escape(f"{bar.name}: {bar.text}"))
            width = max(bar.value / most * full, 1)
            body.append(element("rect", tip, x=_MARGIN + names, y=y + 2, width=width, height=14, class_=f"dot{i % 6}"))
            body += text_lines([bar.text], _MARGIN + names + width + 8, y + 13, _SMALL, 0, class_="quiet")
            y += 22
    said = "; ".join(f"{group}: {', '.join(f'{x.name} {x.text}' for x in rows)}" for group, rows in groups)
    return document(_NAME, _WIDTH, y + _MARGIN, title, said, *_style(), body)


def _axis(low: int, high: int, left: float, right: float, height: object, bottom: float) -> Iterator[str]:
    """Draw a line for each power of ten, and one for equal bits."""
    for power in range(low + 1, high + 1):
        y = height(10.0**power)  # type: ignore[operator]
        yield element("path", d=f"M{left:.1f} {y:.1f}H{right:.1f}", class_="line", stroke_dasharray="2 4")
        yield from text_lines([f"1e{power:+d}"], left - 8, y + 4, _SMALL, 0, text_anchor="end", class_="quiet")
    yield element("path", d=f"M{left:.1f} {bottom:.1f}H{right:.1f}", class_="line")
    yield from text_lines(["equal"], left - 8, bottom + 4, _SMALL, 0, text_anchor="end", class_="quiet")


def _legend(names: Sequence[str], left: float, y: float) -> Iterator[str]:
    x = left
    for i, name in enumerate(names):
        yield element("path", d=f"M{x:.1f} {y - 4:.1f}h28", class_=f"line{i % 6}")
        yield from text_lines([name], x + 36, y, 12, 0)
        x += 60 + 8 * len(name)


def _style() -> tuple[str, str]:
    """Return rules for lines and dots; lines differ in their dashes, too."""
    return tuple(  # type: ignore[return-value]
        "\n".join(
            f".{_NAME} .line{i} {{ fill: none; stroke: {colour}; stroke-width: 2; "
            f"stroke-dasharray: {dash or 'none'}; }}\n.{_NAME} .dot{i} {{ fill: {colour}; }}"
            for i, (colour, dash) in enumerate(zip(colours, _DASHES, strict=True))
        )
        for colours in (_DAY, _NIGHT)
    )
