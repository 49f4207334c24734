# SPDX-License-Identifier: MIT
"""A picture of an operand in text: which lane holds which part of the matrix, in which elements."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wmma_emu.cli.operand import span
from wmma_emu.cli.places import cell_size
from wmma_emu.cli.terminal import Line, Styled
from wmma_emu.layouts import LaneMap, Location
from wmma_emu.layouts.spec import LANES

__all__ = ["describe_cells", "grid_lines", "shortened"]

_WIDTH_OF_FILES = 100
_MOST_COLUMNS = 32
_COLUMNS_OF_MANY = 16
_GAP = "   "


class _Panel(NamedTuple):
    """A part of the picture that is not torn apart: lines of one length."""

    lines: list[Line]
    width: int


def describe_cells(layout: LaneMap) -> str:
    """Say how a cell reads, by the first one.

    Examples
    --------
    >>> import wmma_emu as we
    >>> print(describe_cells(we.instruction("m16n8k16.f32.f16.f16.f32").a.layout))
    T0 x0-1: lane 0, elements 0 to 1, which share a register: 2 neighbouring columns
    """
    rows, cols = cell_size(layout)
    lanes = [str(x.lane) for x in _held(layout, 0, 0, 0)]
    text = f"{_cell(layout, 0, 0, 0)}: lane{'s' * (len(lanes) > 1)} {', '.join(lanes)}, element"
    if rows * cols == 1:
        return f"{text} 0"
    axis = f"{rows} neighbouring rows" if rows > 1 else f"{cols} neighbouring columns"
    return f"{text}s 0 to {rows * cols - 1}, which share a register: {axis}"


def shortened(layout: LaneMap) -> tuple[LaneMap, list[tuple[str, str]]]:
    """Of four warps' matrix return the part that is worth a picture, and the rules by which the rest follows.

    The warps' rows look alike; so do, of an accumulator, every eight columns.

    Examples
    --------
    >>> import wmma_emu as we
    >>> picture, rules = shortened(we.instruction("wgmma.m64n256k16.f32.f16.f16").d.layout)
    >>> (picture.rows, picture.cols), rules[1]
    ((16, 16), ('more columns', '8 further on: the same lanes, x + 4'))
    """
    if layout.num_lanes == LANES:
        return layout, []
    coords, rows = layout.coords[:, 0], layout.rows * LANES // layout.num_lanes
    rules = [("more rows", f"{rows} further down: the next warp, T + {LANES}")]
    cols = layout.cols
    per_tile = len(coords) * 8 // cols
    beside = np.array((0, 8))
    if cols > _MOST_COLUMNS and np.array_equal(coords[per_tile:], coords[:-per_tile] + beside):
        rules.append(("more columns", f"8 further on: the same lanes, x + {per_tile}"))
        cols = _COLUMNS_OF_MANY
        coords = coords[: per_tile * cols // 8]
    return LaneMap(coords, rows, cols, layout.element_bits, len(coords), layout.source, layout.status), rules


def grid_lines(layout: LaneMap, width: int | None) -> Iterator[Line]:
    """Draw the matrix: a cell for every register that the instruction reads.

    What is wider than the terminal is split into panels of columns below each other; independent products
    stand side by side as far as they fit.
    """
    room = width or _WIDTH_OF_FILES
    panels = [x for matrix in range(layout.num_matrices) for x in _panels(layout, matrix, room)]
    while panels:
        count = max(1, next((i for i in range(len(panels), 0, -1) if _total(panels[:i]) <= room), 1))
        yield from _side_by_side(panels[:count])
        panels = panels[count:]
        if panels:
            yield ()


def _total(panels: list[_Panel]) -> int:
    return sum(x.width for x in panels) + len(_GAP) * (len(panels) - 1)


def _side_by_side(panels: list[_Panel]) -> Iterator[Line]:
    for lines in zip(*(x.lines for x in panels), strict=True):
        *before, last = lines
        padded = [piece for line in before for piece in (*line, Styled(_GAP))]
        yield (*padded, *last[:-1], Styled(last[-1].text.rstrip(), last[-1].style))


def _panels(layout: LaneMap, matrix: int, room: int) -> list[_Panel]:
    """Draw one matrix, in as many panels as the width asks for, of nearly equal sizes."""
    rows, cols = cell_size(layout)
    heads = [span(c, cols) for c in range(0, layout.cols, cols)]
    labels = [span(r, rows) for r in range(0, layout.rows, rows)]
    cells = [[_cell(layout, r, c, matrix) for c in range(0, layout.cols, cols)] for r in range(0, layout.rows, rows)]
    label_width = max(map(len, labels))
    width = max(len(x) for line in [heads, *cells] for x in line)
    most = max(1, (room - label_width - 1) // (width + 1))
    count = -(-len(heads) // most)
    size = -(-len(heads) // count)
    title = _lanes_of(layout, matrix) if layout.num_matrices > 1 else ""
    return [
        _panel(title, heads[i : i + size], labels, [x[i : i + size] for x in cells], label_width, width)
        for i in range(0, len(heads), size)
    ]


def _panel(
    title: str, heads: list[str], labels: list[str], cells: list[list[str]], label_width: int, width: int
) -> _Panel:
    total = max(label_width + (width + 1) * len(heads) + 1, len(title))
    lines: list[Line] = [(Styled(f"{title:<{total}}", "heading"),)] if title else []
    ruler = " " * label_width + "".join(f" {x:<{width}}" for x in heads)
    lines.append((Styled(f"{ruler:<{total}}", "heading"),))
    for label, row in zip(labels, cells, strict=True):
        text = "".join(f"|{x:<{width}}" for x in row) + "|"
        lines.append((Styled(f"{label:>{label_width}}", "label"), Styled(f"{text:<{total - label_width}}")))
    return _Panel(lines, total)


def _held(layout: LaneMap, row: int, col: int, matrix: int) -> list[Location]:
    """Find the places of an element that the instruction reads."""
    return [x for x in layout.locate(row, col, matrix) if x.element < layout.read_elements]


def _cell(layout: LaneMap, row: int, col: int, matrix: int) -> str:
    """Name the lanes that hold a register's worth of elements, and the elements: the same in all of them."""
    held = _held(layout, row, col, matrix)
    lanes = ",".join(str(x.lane) for x in held)
    return f"T{lanes} x{span(held[0].element, layout.elements_per_register)}"


def _lanes_of(layout: LaneMap, matrix: int) -> str:
    """Name a matrix and its lanes, as in ``matrix 0: T0-3 T16-19``."""
    lanes = [int(x) for x in (layout.matrix_of_lane == matrix).nonzero()[0]]
    starts = [x for x in lanes if x - 1 not in lanes]
    runs = [span(x, next(n for n in range(1, len(lanes) + 1) if x + n not in lanes)) for x in starts]
    return f"matrix {matrix}: " + " ".join(f"T{x}" for x in runs)
