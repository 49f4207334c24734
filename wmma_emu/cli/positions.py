# SPDX-License-Identifier: MIT
"""The positions of matrix elements in registers, one per line, as `layout`, `where` and `what` write them."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wmma_emu.cli.operand import Selection, span
from wmma_emu.cli.tables import Column, Record, write_records, write_table
from wmma_emu.cli.terminal import Terminal
from wmma_emu.layouts import LaneMap


class ElementPosition(NamedTuple):
    """The position of one element, or of a block of adjacent elements, in a register of a lane."""

    lane: int
    element: int
    row: int
    col: int
    matrix: int
    size: tuple[int, int] = (1, 1)

    @property
    def elements(self) -> int:
        """The number of elements."""
        return self.size[0] * self.size[1]


def position_of(layout: LaneMap, lane: int, element: int, size: tuple[int, int] = (1, 1)) -> ElementPosition:
    """Return the position of a lane's element in the matrix."""
    row, col = layout.coords_of_lanes[element, lane].tolist()
    return ElementPosition(lane, element, row, col, int(layout.matrix_of_lane.flat[lane]), size)


def positions_of_lanes(
    layout: LaneMap, lanes: Iterable[int], register: int | None = None, size: tuple[int, int] = (1, 1)
) -> list[ElementPosition]:
    """List the elements of lanes, in all their registers or in one."""
    packed = layout.elements_per_register
    first, last = (0, layout.num_elements) if register is None else (register * packed, (register + 1) * packed)
    elements = range(first, last, size[0] * size[1])
    coords, matrices = layout.coords_of_lanes.tolist(), layout.matrix_of_lane.reshape(-1).tolist()
    held = ((lane, i, coords[i][lane]) for lane in lanes for i in elements)
    return [ElementPosition(lane, i, row, col, matrices[lane], size) for lane, i, (row, col) in held]


class OperandPositions(NamedTuple):
    """The listed positions of one operand."""

    selection: Selection
    positions: Sequence[ElementPosition]


def write_positions(
    held: Sequence[OperandPositions],
    subject: Callable[[Selection], str],
    output: str,
    terminal: Terminal,
    named: bool = False,
) -> None:
    """Write positions for people or for programs; ``named``: several operands, so every list names its operand."""
    if output in ("csv", "json"):
        several = any(x.selection.layout.num_matrices > 1 for x in held)
        names = [{"operand": x.selection.name} if named else {} for x in held]
        records = [{**y, **z} for x, y in zip(held, names, strict=True) for z in _records(*x, several)]
        write_records(records, output, terminal)
        return
    for number, (selection, positions) in enumerate(held):
        if number:
            terminal.line()
        if number and output == "table" and selection.repeats(held[number - 1].selection):
            terminal.line(f"{selection.name} has the same layout as {held[number - 1].selection.name}.")
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
        cells = [_cells(selection, x, several)[: len(columns)] for x in positions]
        write_table(columns, cells, output, terminal)


def _bits(selection: Selection, position: ElementPosition) -> tuple[int, int]:
    layout, (bits, shift) = selection.layout, selection.value
    low = position.element * layout.element_bits % layout.register_bits + shift
    return low, low + position.elements * bits - 1


def _register(layout: LaneMap, position: ElementPosition) -> int:
    return position.element * layout.element_bits // layout.register_bits


def _is_read(layout: LaneMap, position: ElementPosition) -> bool:
    return position.element < layout.read_elements


def _records(selection: Selection, positions: Sequence[ElementPosition], several: bool) -> list[Record]:
    """Return the records for programs; register and bits are computed once per element, as all lanes share them."""
    layout = selection.layout
    firsts = {x.element: x for x in positions}
    same = {i: (_register(layout, x), *_bits(selection, x), _is_read(layout, x)) for i, x in firsts.items()}
    records: list[Record] = []
    for lane, element, row, col, matrix, _ in positions:
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


def _cells(selection: Selection, position: ElementPosition, several: bool) -> list[str]:
    layout = selection.layout
    low, high = _bits(selection, position)
    matrix = [str(position.matrix)] if several else []
    return [
        str(position.lane), str(_register(layout, position)), f"{high}:{low}" if high > low else str(low),
        f"x{span(position.element, position.elements)}", span(position.row, position.size[0]),
        span(position.col, position.size[1]),
        *matrix, "yes" if _is_read(layout, position) else "no",
    ]  # fmt: skip
