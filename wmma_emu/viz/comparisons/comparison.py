# SPDX-License-Identifier: MIT
"""A comparison of chips as a picture: a panel for each chip, a cell for each element, a colour for each distance."""

from collections import defaultdict
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

import numpy as np

from wmma_emu.gemm import Comparison
from wmma_emu.gemm.comparison_text import order_of_k, short_mnemonic, summary
from wmma_emu.instructions import ARCHS
from wmma_emu.viz.comparisons.cells import Cell, Reduction, cells
from wmma_emu.viz.comparisons.distance_scale import EQUAL, KINDS, NAN, ZERO_SIGN, kinds_of, style
from wmma_emu.viz.svg import document, element, heading, text_lines, text_width, wrapped

_NAME = "wmma-emu-comparison"
_MARGIN = 24
_GAP = 28
_SIDES = {1: 512, 2: 352}
_SIDE = 256
"""The longest side of a panel's matrix, for one panel, two, and three or more."""

_LARGEST_CELL = 32
_MARKED_CELL = 7
"""The least size of cells with marks for NaN and zeros of the other sign; smaller cells have only the colour."""

_ROOM_OF_ROWS = 44
_TITLE, _TEXT, _SMALL = 16, 12, 11


class _ChipPanel(NamedTuple):
    arch: str
    lines: list[str]
    counts: list[int]


def svg(comparison: Comparison) -> str:
    """Draw a comparison, as `wmma_emu.Comparison.svg` documents."""
    others = [arch for arch in comparison.results if arch != comparison.reference]
    side = _SIDES.get(len(others), _SIDE)
    reduction = Reduction.of(comparison.shape, len(others))
    column = _ROOM_OF_ROWS + side
    panels = [_panel(comparison, arch, column) for arch in others]
    kinds = _kinds(panels)
    columns = min(len(others), 3)
    texts = [*(KINDS[i].label for i in kinds), *(f"{count:,}" for panel in panels for count in panel.counts)]
    legend_step = max(text_width(x, _SMALL) for x in texts) + 14
    legend_start = max((text_width(arch, _TEXT) for arch in comparison.results), default=0) + 16
    width = max(columns * column + (columns - 1) * _GAP, legend_start + len(kinds) * legend_step, 560) + 2 * _MARGIN

    title = f"D {' × '.join(map(str, comparison.shape))} ({comparison.format}): distance from {comparison.reference}"
    notes = _notes(comparison, reduction, others)
    body, y = heading(title, notes, _MARGIN, _MARGIN + _TITLE, width - 2 * _MARGIN, _TITLE, 22)
    y += 8
    for i in range(0, len(panels), 3):
        row = panels[i : i + 3]
        text_room = max(len(panel.lines) for panel in row)
        for j, panel in enumerate(row):
            x = _MARGIN + j * (column + _GAP)
            body += text_lines(panel.lines[:1], x, y + 14, 14, 0, font_weight="600")
            body += text_lines(panel.lines[1:], x, y + 31, _TEXT, 16, class_="quiet")
            top = y + 31 + 16 * (text_room - 1) + 8
            body += _matrix(comparison, panel.arch, reduction, x + _ROOM_OF_ROWS, top, side)
        y = top + _cell_size(reduction, side) * max(reduction.cell_rows, 1) + _GAP + 14
    body += _legend(panels, kinds, _MARGIN, y, legend_start, legend_step)
    y += 44 + 18 * len(panels) + _MARGIN / 2
    said = "; ".join(f"{arch}: {comparison.statistics(arch)}" for arch in others) or "No other chip is compared."
    return document(_NAME, round(width), round(y), title, said, *style(_NAME), body)


def _panel(comparison: Comparison, arch: str, width: float) -> _ChipPanel:
    model, found = comparison.models[arch], comparison.statistics(arch)
    lines = [f"{summary(model)} ({model.status})", str(found)]
    if comparison.instructions[arch] != comparison.instructions[comparison.reference]:
        lines.insert(0, short_mnemonic(comparison.instructions[arch]))
    wrapped_lines = [part for line in lines for part in wrapped(line, width, _TEXT)]
    differ = comparison.bits(arch) != comparison.bits(comparison.reference)
    counts = np.bincount(kinds_of(comparison.ulps[arch], differ).reshape(-1), minlength=len(KINDS))
    return _ChipPanel(arch, [_named(arch), *wrapped_lines], counts.tolist())


def _named(arch: str) -> str:
    return f"{arch} ({ARCHS[arch].generation})"


def _kinds(panels: list[_ChipPanel]) -> list[int]:
    """Return the kinds in the legend: ulps up to the largest distance, and NaN or zeros of the other sign if any."""
    present = {i for panel in panels for i, count in enumerate(panel.counts) if count}
    furthest = max((i for i in present if ZERO_SIGN < i < NAN), default=ZERO_SIGN)
    return [EQUAL, *range(ZERO_SIGN + 1, furthest + 1), *sorted(present & {ZERO_SIGN, NAN})]


def _notes(comparison: Comparison, reduction: Reduction, others: list[str]) -> Iterator[str]:
    reference = comparison.reference
    model = comparison.models[reference]
    yield short_mnemonic(comparison.instructions[reference])
    yield f"reference {_named(reference)}: {summary(model)} ({model.status})"
    if order := order_of_k(comparison):
        yield order
    if not others:
        yield "No other chip is compared."
    elif reduction.note and comparison.ulps[reference].size:
        yield reduction.note


def _cell_size(reduction: Reduction, side: int) -> float:
    """Round sizes of at least one pixel to whole pixels, so that cells are sharp."""
    size = side / max(reduction.cell_rows, reduction.cell_columns, 1)
    return min(float(int(size)) if size >= 2 else size, _LARGEST_CELL)


def _matrix(
    comparison: Comparison, arch: str, reduction: Reduction, left: float, top: float, side: int
) -> Iterator[str]:
    size = _cell_size(reduction, side)
    width, height = size * reduction.cell_columns, size * reduction.cell_rows
    if not width or not height:
        yield from text_lines(["no elements"], left, top + 14, _SMALL, 0, class_="quiet")
        return
    yield element("rect", x=left, y=top, width=width, height=height, class_=f"k{EQUAL}")
    differ = comparison.bits(arch) != comparison.bits(comparison.reference)
    drawn = defaultdict(list)
    for cell in cells(comparison.ulps[arch], differ, reduction):
        kind = _kind(comparison.ulps[arch][cell.where])
        x, y = left + cell.column * size, top + cell.row * size
        tip = element("title", escape(_tip(comparison, arch, cell)))
        drawn[kind].append(element("rect", tip, x=x, y=y, width=size, height=size))
        if size >= _MARKED_CELL and kind in (ZERO_SIGN, NAN):
            drawn[kind].append(_mark(kind, x, y, size))
    for kind in sorted(drawn):
        yield element("g", "\n", "\n".join(drawn[kind]), "\n", class_=f"k{kind}")
    yield element("rect", x=left, y=top, width=width, height=height, class_="line")
    yield from _edges(reduction, left, top, size)


def _edges(reduction: Reduction, left: float, top: float, size: float) -> Iterator[str]:
    last_row, last_column = reduction.rows - 1, reduction.columns - 1
    bottom = top + size * (reduction.cell_rows - 0.5) + 4
    for number, y in {0: top + size / 2 + 4, last_row: bottom}.items():
        if number == 0 or bottom - top > 2 * _SMALL:
            yield from text_lines([str(number)], left - 6, y, _SMALL, 0, text_anchor="end", class_="quiet")
    right = left + size * reduction.cell_columns
    yield from text_lines(["column 0"], left, top + size * reduction.cell_rows + 14, _SMALL, 0, class_="quiet")
    if right - left > text_width(f"column 0  {last_column}", _SMALL):
        y = top + size * reduction.cell_rows + 14
        yield from text_lines([str(last_column)], right, y, _SMALL, 0, text_anchor="end", class_="quiet")


def _kind(ulps: int | np.uint64) -> int:
    return int(kinds_of(np.array([ulps], np.uint64), np.array([True]))[0])


def _tip(comparison: Comparison, arch: str, cell: Cell) -> str:
    reference = comparison.reference
    ulps = int(comparison.ulps[arch][cell.where])
    kind = _kind(ulps)
    distance = {ZERO_SIGN: "zeros of both signs", NAN: "NaN"}.get(kind, f"{ulps} ulp{'s' * (ulps != 1)}")
    bits = (f"{x} {comparison.hex_bits(x, cell.where)}" for x in (reference, arch))
    text = f"D{list(cell.where)}: {', '.join(bits)}: {distance}"
    if cell.elements > 1:
        text = f"{cell.differing} of {cell.elements} differ; the worst is {text}"
    return text


def _mark(kind: int, x: float, y: float, size: float) -> str:
    """Draw a cross for NaN, a ring for a zero of the other sign, so that colour is not the only mark."""
    inset, thick = size * 0.26, max(size / 12, 1)
    if kind == NAN:
        path = (
            f"M{x + inset:.6g} {y + inset:.6g}L{x + size - inset:.6g} {y + size - inset:.6g}"
            f"M{x + size - inset:.6g} {y + inset:.6g}L{x + inset:.6g} {y + size - inset:.6g}"
        )
        return element("path", d=path, class_="mark", stroke_width=thick, pointer_events="none")
    return element(
        "circle", cx=x + size / 2, cy=y + size / 2, r=size * 0.26, class_="mark", stroke_width=thick,
        pointer_events="none",
    )  # fmt: skip


def _legend(
    panels: list[_ChipPanel], kinds: list[int], left: float, top: float, start: float, step: float
) -> Iterator[str]:
    if not panels:
        return
    for i, kind in enumerate(kinds):
        right = left + start + (i + 1) * step
        yield element("rect", x=right - 16, y=top, width=16, height=16, class_=f"k{kind}")
        yield element("rect", x=right - 16, y=top, width=16, height=16, class_="line")
        if kind in (ZERO_SIGN, NAN):
            yield _mark(kind, right - 16, top, 16)
        yield from text_lines([KINDS[kind].label], right, top + 32, _SMALL, 0, text_anchor="end")
        for j, panel in enumerate(panels):
            count = [f"{panel.counts[kind]:,}"]
            yield from text_lines(count, right, top + 52 + 18 * j, _SMALL, 0, text_anchor="end", class_="quiet")
    for j, panel in enumerate(panels):
        yield from text_lines([panel.arch], left, top + 52 + 18 * j, _TEXT, 0)
