# SPDX-License-Identifier: MIT
"""The places of matrix elements in registers, one a line: what `layout`, `where` and `what` write."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wmma_emu.cli.operand import Selection, span
from wmma_emu.cli.tables import Column, Record, write_records, write_table
from wmma_emu.cli.terminal import Terminal
from wmma_emu.layouts import LaneMap


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
    elements = range(first, last, size[0] * size[1])
    coords, matrices = layout.coords_of_lanes.tolist(), layout.matrix_of_lane.reshape(-1).tolist()
    held = ((lane, i, coords[i][lane]) for lane in lanes for i in elements)
    return [Place(lane, i, row, col, matrices[lane], size) for lane, i, (row, col) in held]


class Held(NamedTuple):
    """Places of one operand."""

    selection: Selection
    places: Sequence[Place]


def write_places(
    held: Sequence[Held], subject: Callable[[Selection], str], output: str, terminal: Terminal, named: bool = False
) -> None:
    """Write places of operands, for people or for programs; ``named`` are those of several, which each list names."""
    if output in ("csv", "json"):
        several = any(x.selection.layout.num_matrices > 1 for x in held)
        names = [{"operand": x.selection.name} if named else {} for x in held]
        records = [{**y, **z} for x, y in zip(held, names, strict=True) for z in _records(*x, several)]
        write_records(records, output, terminal)
        return
    for number, (selection, places) in enumerate(held):
        if number:
            terminal.line()
        if number and output == "table" and selection.repeats(held[number - 1].selection):
            terminal.line(f"{selection.name} is held as {held[number - 1].selection.name} is.")
            continue
        if output != "markdown":
            selection.write_head(subject(selection), terminal)
        elif named:
            terminal.line(f"{subject(selection)}:")
            terminal.line()
        layout = selection.layout
        several = layout.num_matrices > 1
        columns = [Column(x) for x in ("lane", "register", "bits", "element", "row", "col")]
        columns += [Column("matrix")] if several else []
        columns += [Column("read")] if layout.multiplicity > 1 else []
        cells = [_cells(selection, x, several)[: len(columns)] for x in places]
        write_table(columns, cells, output, terminal)


def _bits(selection: Selection, place: Place) -> tuple[int, int]:
    layout, (bits, shift) = selection.layout, selection.value
    low = place.element * layout.element_bits % layout.register_bits + shift
    return low, low + place.elements * bits - 1


def _register(layout: LaneMap, place: Place) -> int:
    return place.element * layout.element_bits // layout.register_bits


def _is_read(layout: LaneMap, place: Place) -> bool:
    return place.element < layout.read_elements


def _records(selection: Selection, places: Sequence[Place], several: bool) -> list[Record]:
    """Everything about places, for programs; what an element has in all lanes is found once."""
    layout = selection.layout
    firsts = {x.element: x for x in places}
    same = {i: (_register(layout, x), *_bits(selection, x), _is_read(layout, x)) for i, x in firsts.items()}
    records: list[Record] = []
    for lane, element, row, col, matrix, _ in places:
        register, low, high, is_read = same[element]
        record = {
            "lane": lane, "register": register, "bit_low": low, "bit_high": high, "element": element, "row": row,
            "col": col,
        }  # fmt: skip
        if several:
            record["matrix"] = matrix
        record["read"] = is_read
        records.append(record)
    return records


def _cells(selection: Selection, place: Place, several: bool) -> list[str]:
    layout = selection.layout
    low, high = _bits(selection, place)
    matrix = [str(place.matrix)] if several else []
    return [
        str(place.lane), str(_register(layout, place)), f"{high}:{low}" if high > low else str(low),
        f"x{span(place.element, place.elements)}", span(place.row, place.size[0]), span(place.col, place.size[1]),
        *matrix, "yes" if _is_read(layout, place) else "no",
    ]  # fmt: skip
