# SPDX-License-Identifier: MIT
"""A picture of a tile of several warps: a cell for adjacent elements of a lane, in the colour of its warp."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wmma_emu.errors import ArgumentValueError, ShapeError, shorten
from wmma_emu.layouts.spec import LANES, within
from wmma_emu.layouts.tiled import TiledLayout
from wmma_emu.suggestions import listed
from wmma_emu.viz.operands.held_cells import span
from wmma_emu.viz.operands.operand_frame import (
    LANE,
    MARGIN,
    PART,
    RULER,
    Box,
    drawn_cell,
    framed,
    label,
    marks,
    room_of,
)
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import checked_title
from wmma_emu.viz.svg import element as svg_element

MOST_TILE_CELLS = 4096
"""The most cells of a tile that is drawn."""

_HUES, _SHADES = 8, 4
"""The colours of warps: a hue for each of eight warps, with a shade for each of four neighbouring lanes."""

_HEIGHT, _PADDING, _LEGEND = 32, 8, 74


class _Cell(NamedTuple):
    """A cell: its first element, and the warps and lane that hold it."""

    row: int
    col: int
    warps: tuple[int, ...]
    lane: int
    value: int


def draw_tile(
    tile: TiledLayout,
    *,
    warp: int | None = None,
    lane: int | None = None,
    element: tuple[int, int] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw the warp, lane and register that hold each element of a tile.

    Parameters
    ----------
    tile : TiledLayout
        A result of `wmma_emu.layouts.tiled.tiled_layout`.
    warp, lane : int, optional
        Highlight the elements of a warp, of this lane in every warp, or of both.
    element : (row, column), optional
        Highlight one element instead.
    title : str, optional

    Returns
    -------
    Picture
        Every cell is a group of the class ``cell`` with row, column, warps, lane and value as ``data-`` attributes.

    Raises
    ------
    OutOfBoundsError, FragmentMismatchError
        If the tile does not have the warp, lane or element, or has more than 4,096 cells.

    Examples
    --------
    >>> from wmma_emu.layouts.tiled import tiled_layout
    >>> draw_tile(tiled_layout("m16n8k16.f32.f16.f16.f32", "d", (2, 2), (32, 32, 16)), element=(17, 9))
    <Picture: D[17, 9] is in warp 3, lane 4, register d1>
    """
    heading = checked_title(title)
    if not isinstance(tile, TiledLayout):
        raise ShapeError(f"{shorten(tile)} is not a tile; wmma_emu.layouts.tiled.tiled_layout makes one")
    size = _run(tile)
    cells = _cells(tile, size)
    if len(cells) > MOST_TILE_CELLS:
        raise ArgumentValueError(
            f"this tile has {len(cells)} cells; at most {MOST_TILE_CELLS} can be drawn; draw a smaller tile"
        )
    lit, sentence = _lit(tile, cells, size, warp, lane, element)
    who, what = room_of(map(_who, cells), LANE, bold=True), room_of((_what(tile, x, size) for x in cells), PART)
    width = float(round(max(who, what) + _PADDING))
    panel = _TilePanel(tile, size, cells, lit, width)

    def parts(y: float) -> tuple[list[str], float]:
        body = list(_legend(tile, MARGIN, y + 4))
        return body + list(panel.draw(MARGIN, y + 26)), y + 26 + 16 + _HEIGHT * tile.shape[0] / size[0]

    heading = heading or sentence or _name(tile)
    return framed(heading, _head(tile, heading), [f"Known from: {tile.atom.source}"], panel.left + panel.wide, parts)


def _run(tile: TiledLayout) -> tuple[int, int]:
    """Return the rows and columns of adjacent elements that a lane holds consecutively."""
    for count in (8, 4, 2):
        if tile.num_values % count:
            continue
        runs = tile.coords.reshape(-1, count, *tile.coords.shape[1:])
        for size in ((1, count), (count, 1)):
            steps = np.arange(count)[:, None, None, None] * (np.array(size) > 1)
            if (runs == runs[:, :1] + steps).all() and not (runs[:, 0] % size).any():
                return size
    return 1, 1


def _cells(tile: TiledLayout, size: tuple[int, int]) -> list[_Cell]:
    count = size[0] * size[1]
    holders: defaultdict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    firsts = tile.coords[::count]
    for number, warp, lane in np.ndindex(firsts.shape[:-1]):
        row, col = firsts[number, warp, lane].tolist()
        holders[row, col].append((number * count, lane, warp))
    cells = []
    for (row, col), held in sorted(holders.items()):
        value, lane, _ = min(held)
        cells.append(_Cell(row, col, tuple(sorted(w for v, own, w in held if (v, own) == (value, lane))), lane, value))
    return cells


def _lit(
    tile: TiledLayout, cells: list[_Cell], size: tuple[int, int], warp: int | None, lane: int | None,
    element: tuple[int, int] | None,
) -> tuple[set[_Cell] | None, str]:  # fmt: skip
    """Return the highlighted cells, or None, and a sentence about them."""
    letter = tile.operand.upper()
    if element is not None:
        places = tile.locate(*element)
        found = {x for x in cells if x.row <= element[0] < x.row + size[0] and x.col <= element[1] < x.col + size[1]}
        first = places[0]
        warps = sorted({x.warp for x in places})
        who = f"warp{'s' * (len(warps) > 1)} {listed(warps)}, lane {first.lane}"
        return found, f"{letter}[{element[0]}, {element[1]}] is in {who}, register {tile.operand}{first.register}"
    if warp is None and lane is None:
        return None, ""
    number = None if warp is None else within("warp", warp, tile.num_warps)
    own = None if lane is None else within("lane", lane, LANES)
    found = {x for x in cells if (number is None or number in x.warps) and own in (None, x.lane)}
    who = "every warp" if number is None else f"warp {number}"
    return found, f"What {who} holds of {letter}" if own is None else f"What lane {own} of {who} holds of {letter}"


def _name(tile: TiledLayout) -> str:
    rows, cols = tile.shape
    return f"{tile.operand.upper()} of {tile.instruction.short_mnemonic} over {tile.num_warps} warps: {rows} × {cols}"


def _head(tile: TiledLayout, heading: str) -> list[str]:
    m, n, k = (tile.warps.mode(i).size for i in range(3))
    whom = "warpgroups" if tile.instruction.is_warpgroup else "warps"
    grid = f"{m} × {n} {whom} (along m and n)" if k == 1 else f"{m} × {n} × {k} {whom} (along m, n and k)"
    lines = [_name(tile)] if heading != _name(tile) else []
    lines.append(f"{grid}; a lane holds {tile.num_values} elements in {tile.num_registers} registers")
    try:
        lines.append(f"CuTe, (thread, value): {tile.cute}")
    except ArgumentValueError:
        lines.append("CuTe has no sizes and strides for it, with these permutations")
    lines.append(f"W0 T1 {tile.operand}0: warp 0, lane 1, register {tile.operand}0; thick lines part the instructions")
    return lines


def _who(cell: _Cell) -> str:
    return f"W{','.join(map(str, cell.warps))} T{cell.lane}"


def _what(tile: TiledLayout, cell: _Cell, size: tuple[int, int]) -> str:
    packed, count = tile.atom.elements_per_register, size[0] * size[1]
    first = cell.value // packed
    text = f"{tile.operand}{span(first, max(1, count // packed))}"
    return text if packed <= count else f"{text} x{span(cell.value, count)}"


def _colour(warp: int, lane: int) -> int:
    return warp % _HUES * _SHADES + lane % _SHADES


def _legend(tile: TiledLayout, x: float, y: float) -> Iterator[str]:
    for warp in range(min(tile.num_warps, _HUES)):
        box = Box(x + warp * _LEGEND, y, 13, 13)
        yield svg_element("g", box.rect(), class_=f"cell l{_colour(warp, 1)}")
        more = ", ..." if warp + _HUES < tile.num_warps else ""
        yield label(f"warp {warp}{more}", box.x + 18, y + 10.5, "start", "quiet")


class _TilePanel(NamedTuple):
    tile: TiledLayout
    size: tuple[int, int]
    cells: list[_Cell]
    lit: set[_Cell] | None
    width: float

    @property
    def left(self) -> float:
        """The width of the ruler of rows."""
        return room_of([str(self.tile.shape[0]), "m↓ n→"], RULER) // 1 + 8

    @property
    def wide(self) -> float:
        """The width of all cells."""
        return self.width * self.tile.shape[1] / self.size[1]

    def draw(self, x: float, y: float) -> Iterator[str]:
        """Draw rulers, cells, and lines between instructions."""
        left, top = x + self.left, y + 16
        yield from self._rulers(left, top)
        for cell in self.cells:
            yield self._cell(cell, left, top)
        rows, cols = self.tile.shape
        across = [left + self.width * i / self.size[1] for i in range(0, cols + 1, self.tile.atom.cols)]
        down = [top + _HEIGHT * i / self.size[0] for i in range(0, rows + 1, self.tile.atom.rows)]
        path = "".join(f"M{i:.6g} {top:.6g}v{_HEIGHT * rows / self.size[0]:.6g}" for i in across)
        path += "".join(f"M{left:.6g} {i:.6g}h{self.wide:.6g}" for i in down)
        yield svg_element("path", d=path, class_="tile", pointer_events="none")

    def _cell(self, cell: _Cell, left: float, top: float) -> str:
        rows, cols = self.size
        box = Box(left + cell.col / cols * self.width, top + cell.row / rows * _HEIGHT, self.width, _HEIGHT)
        middle, centre = box.x + box.width / 2, box.y + box.height / 2
        state = "" if self.lit is None else "on" if cell in self.lit else "off"
        outline = marks(box, 0, 1, 1, across=True) if state == "on" else []
        what = _what(self.tile, cell, self.size)
        texts = [label(_who(cell), middle, centre - 2.5, "t"), label(what, middle, centre + 10)]
        row, col = span(cell.row, rows), span(cell.col, cols)
        tip = f"{self.tile.operand.upper()}[{row}, {col}]: {_who(cell)} {what}"
        colours = [_colour(warp, cell.lane) for warp in cell.warps]
        data: dict[str, str | int] = {
            "data_row": cell.row, "data_col": cell.col, "data_warp": " ".join(map(str, cell.warps)),
            "data_lane": cell.lane, "data_value": cell.value,
        }  # fmt: skip
        return drawn_cell(box, colours, state, tip, [*outline, *texts], **data)

    def _rulers(self, left: float, top: float) -> Iterator[str]:
        axes = "kn" if self.tile.operand == "b" else "mk" if self.tile.operand == "a" else "mn"
        yield label(f"{axes[0]}↓ {axes[1]}→", left - 5, top - 5, "end", "quiet")
        (rows, cols), (high, broad) = self.tile.shape, self.size
        for i in range(0, cols, broad):
            yield label(span(i, broad), left + (i / broad + 0.5) * self.width, top - 5, "quiet")
        for i in range(0, rows, high):
            yield label(span(i, high), left - 5, top + (i / high + 0.5) * _HEIGHT + 3, "end", "quiet")
