# SPDX-License-Identifier: MIT
"""The places of matrix elements in registers, one a line: what `layout`, `where` and `what` write."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wmma_emu.cli.operand import Selection, span
from wmma_emu.cli.tables import Column, Record, csv_text, json_text, markdown_text, table_lines
from wmma_emu.cli.terminal import Terminal
from wmma_emu.layouts import LaneMap

__all__ = ["FORMATS", "Place", "cell_size", "place_of", "places_of_lanes", "write_places"]

FORMATS = ("table", "csv", "json", "markdown")


class Place(NamedTuple):
    """Neighbouring elements, mostly one, in a register of a lane: the first of them, and how many."""

    lane: int
    element: int
    row: int
    col: int
    matrix: int
    size: tuple[int, int] = (1, 1)

    @property
    def elements(self) -> int:
        """How many elements."""
        return self.size[0] * self.size[1]


def cell_size(layout: LaneMap) -> tuple[int, int]:
    """Return how many rows and columns a register covers: elements that share one are neighbours.

    Examples
    --------
    >>> import wmma_emu as we
    >>> ins = we.instruction("m16n8k32.s32.s8.s8.s32")
    >>> cell_size(ins.a.layout), cell_size(ins.b.layout), cell_size(ins.d.layout)
    ((1, 4), (4, 1), (1, 1))
    """
    count = layout.elements_per_register
    if count == 1:
        return 1, 1
    (row, _), (next_row, _) = layout.coords_of_lanes[:2, 0]
    return (1, count) if row == next_row else (count, 1)


def place_of(layout: LaneMap, lane: int, element: int, size: tuple[int, int] = (1, 1)) -> Place:
    """Say which matrix element a lane's element is."""
    row, col = layout.coords_of_lanes[element, lane].tolist()
    return Place(lane, element, row, col, int(layout.matrix_of_lane.flat[lane]), size)


def places_of_lanes(
    layout: LaneMap, lanes: Iterable[int], register: int | None = None, size: tuple[int, int] = (1, 1)
) -> list[Place]:
    """List what lanes hold, in all their registers or in one."""
    packed = layout.elements_per_register
    first, last = (0, layout.num_elements) if register is None else (register * packed, (register + 1) * packed)
    step = size[0] * size[1]
    return [place_of(layout, lane, i, size) for lane in lanes for i in range(first, last, step)]


def write_places(
    selection: Selection, subject: str, places: Sequence[Place], output: str | None, terminal: Terminal
) -> None:
    """Write places for people or for programs."""
    layout = selection.layout
    if output in ("csv", "json"):
        records = [_record(layout, x) for x in places]
        terminal.raw(json_text(records) if output == "json" else csv_text(records, list(records[0])))
        return
    columns = [Column(x) for x in ("lane", "register", "bits", "element", "row", "col")]
    columns += [Column("matrix")] if layout.num_matrices > 1 else []
    columns += [Column("read")] if layout.multiplicity > 1 else []
    cells = [_cells(layout, x)[: len(columns)] for x in places]
    if output == "markdown":
        terminal.raw(markdown_text(columns, cells))
        return
    selection.write_head(subject, terminal)
    terminal.lines(table_lines(columns, cells, terminal.width))


def _bits(layout: LaneMap, place: Place) -> tuple[int, int]:
    """Return the lowest and the highest bit in the register."""
    low = layout.bit_of(place.element)
    return low, low + place.elements * layout.element_bits - 1


def _is_read(layout: LaneMap, place: Place) -> bool:
    return place.element < layout.read_elements


def _record(layout: LaneMap, place: Place) -> Record:
    """Everything about a place, for programs."""
    low, high = _bits(layout, place)
    matrix = {"matrix": place.matrix} if layout.num_matrices > 1 else {}
    return {
        "lane": place.lane, "register": layout.register_of(place.element), "bit_low": low, "bit_high": high,
        "element": place.element, "row": place.row, "col": place.col, **matrix, "read": _is_read(layout, place),
    }  # fmt: skip


def _cells(layout: LaneMap, place: Place) -> list[str]:
    """Render a place for people."""
    low, high = _bits(layout, place)
    several = [str(place.matrix)] if layout.num_matrices > 1 else []
    return [
        str(place.lane), str(layout.register_of(place.element)), f"{high}:{low}" if high > low else str(low),
        f"x{span(place.element, place.elements)}", span(place.row, place.size[0]), span(place.col, place.size[1]),
        *several, "yes" if _is_read(layout, place) else "no",
    ]  # fmt: skip
