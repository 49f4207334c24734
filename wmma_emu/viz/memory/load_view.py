# SPDX-License-Identifier: MIT
"""`load_matrix_sync` as a picture: the tile in memory, its padding, and the lane that holds each element."""

from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.layouts.banks import BANK_FACTS, SEGMENT_BYTES
from wmma_emu.palette import lane_colour
from wmma_emu.viz.memory.load_plan import LoadPlan, load_plan
from wmma_emu.viz.memory.memory_style import (
    MARGIN,
    SMALL,
    banded,
    cell,
    checked_lane,
    emphasis,
    finished,
    fitted,
    head,
    label,
)
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import checked_title, element, text_width
from wmma_emu.wmma.fragments import Fragment
from wmma_emu.wmma.names import MemoryOrder

_LINE = 13
_PADDING = 150
"""The drawn width of padding of any size; its label gives the size."""

_LEAST = 620
"""The least width, for the sentences."""


class _Run(NamedTuple):
    """Neighbours in memory drawn as one cell: one element, or packed elements that one lane holds consecutively."""

    line: int
    along: int
    elements: int
    holders: list[tuple[int, tuple[int, ...]]]


class _Page(NamedTuple):
    """The lines, their elements and padding, and the positions and sizes of numbers and cells."""

    lines: int
    extent: int
    padding: int
    ends: tuple[float, float]
    left: float
    unit: float
    height: float


def draw_load_matrix_sync(
    fragment: Fragment,
    ldm: int,
    layout: MemoryOrder | None = None,
    *,
    start: int = 0,
    lane: int | None = None,
    title: str | None = None,
) -> Picture:
    """Draw a fragment's tile in the order of memory, with the lanes that hold each element after the load.

    A line of the picture is contiguous: a row, or in column-major memory a column. Padding follows it. A heavy stroke
    marks the start of each 32-byte segment.

    Parameters
    ----------
    fragment : Fragment
        Its type counts, not what it holds.
    ldm : int
        Elements from one row to the next (column-major: from one column to the next).
    layout : {mem_row_major, mem_col_major}
        Of an accumulator; a multiplicand has its own.
    start : int
        Elements from the start of the memory to the tile.
    lane : int, optional
        Light what one lane holds.
    title : str, optional

    Returns
    -------
    Picture
        Groups of class ``cell`` carry row, column, address and holders as data attributes.

    Raises
    ------
    AlignmentError, FragmentMismatchError, OutOfBoundsError
        As of `load_matrix_sync`; for a lane beyond 31.

    Notes
    -----
    Which lane reads which bytes is the compiler's affair: lanes may exchange elements before they are where they
    belong. The picture shows where they are then.

    Examples
    --------
    >>> from wmma_emu import wmma
    >>> a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    >>> draw_load_matrix_sync(a, 24)
    <Picture: load_matrix_sync of fragment<matrix_a, 16, 16, 16, half, row_major> on sm_90, ldm = 24>
    """
    named = checked_title(title)
    plan = load_plan(fragment, ldm, layout, start=start)
    lit = checked_lane(lane)
    text = named or f"load_matrix_sync of {plan.cpp_type} on {plan.arch}, ldm = {plan.ldm}"
    runs, page = _runs(plan), _page(plan)
    notes = list(_notes(plan))
    width = max(page.left + page.extent * page.unit + (_PADDING if page.padding else 0) + MARGIN, _LEAST)
    body, y = head(text, notes, width)
    y += 40
    body += _rulers(plan, page, y)
    for run in runs:
        body.append(_cell(plan, run, page, y, lit))
    for line in range(page.lines):
        body += _line(plan, page, line, y + line * page.height)
    height = y + page.lines * page.height + MARGIN
    return Picture(text, finished(width, height, text, " ".join(notes), body))


def _page(plan: LoadPlan) -> _Page:
    """Measure the labels that must fit: the longest list of lanes, the largest address."""
    rows, cols = plan.positions.shape
    lines, extent = (rows, cols) if plan.order == "row" else (cols, rows)
    runs = _runs(plan)
    widest = max(text_width(name, SMALL) for run in runs for name in _names(run)) + 10
    unit = max(widest / runs[0].elements, text_width(str(extent - 1), SMALL) / runs[0].elements + 2)
    height = max(len(run.holders) for run in runs) * _LINE + 8
    last = int(plan.positions.max())
    name = text_width(f"{_axes(plan)[0]} {lines - 1}", SMALL) + 14
    element_room = max(text_width(str(last), SMALL), text_width("element", SMALL)) + 12
    byte_room = max(text_width(str(last * plan.format.bits // 8), SMALL), text_width("byte", SMALL)) + 12
    ends = (MARGIN + name + element_room, MARGIN + name + element_room + byte_room)
    return _Page(lines, extent, plan.ldm - extent, ends, ends[1] + 8, unit, height)


def _axes(plan: LoadPlan) -> tuple[str, str]:
    return ("row", "column") if plan.order == "row" else ("column", "row")


def _runs(plan: LoadPlan) -> list[_Run]:
    rows, cols = plan.positions.shape
    lines, extent = (rows, cols) if plan.order == "row" else (cols, rows)
    together = plan.lane_map.elements_per_register if plan.format.bits < 8 else 1
    return [
        _Run(line, along, together, plan.holders(*_place(plan, line, along)))
        for line in range(lines)
        for along in range(0, extent, together)
    ]


def _place(plan: LoadPlan, line: int, along: int) -> tuple[int, int]:
    return (line, along) if plan.order == "row" else (along, line)


def _names(run: _Run) -> list[str]:
    return [
        f"T{lane} x" + ",".join(str(i) if run.elements == 1 else f"{i}–{i + run.elements - 1}" for i in elements)
        for lane, elements in run.holders
    ]


def _notes(plan: LoadPlan) -> Iterator[str]:
    line, bits = _axes(plan)[0], plan.format.bits
    size = f"{bits // 8} byte{'s' * (bits > 8)}" if bits >= 8 else f"{bits} bit{'s' * (bits > 1)}"
    yield (
        f"Each line is a {line} in memory, {plan.ldm} elements of {size} from one to the next. In an "
        "element: T, the lane that holds it after the load, and x, its index in the fragment."
    )
    segments, least = len(plan.segments), -(-plan.tile_bytes // SEGMENT_BYTES)
    fact = BANK_FACTS["segment_bytes"]
    yield (
        f"The tile's {plan.tile_bytes} bytes span {segments} segments of {SEGMENT_BYTES} bytes, and need at least "
        f"{least} "
        f"({fact.status}); a heavy stroke marks the start of each."
    )
    lane = plan.lane_map
    if lane.read_elements < lane.num_elements:
        yield (
            f"A lane holds {lane.num_elements} elements; those from x[{lane.read_elements}] are copies that no product "
            "reads, and are not drawn."
        )
    elif lane.multiplicity > 1:
        yield f"Each element is held {lane.multiplicity} times, and the product reads every copy."
    yield f"Lanes: {lane.status}, {lane.source}."


def _rulers(plan: LoadPlan, page: _Page, y: float) -> Iterator[str]:
    line, along = _axes(plan)
    yield label(line, MARGIN, y - 6)
    for name, end in zip(("element", "byte"), page.ends, strict=True):
        yield label(name, end, y - 6, anchor="end")
    yield label(along, page.left, y - 21)
    step = plan.lane_map.elements_per_register if plan.format.bits < 8 else 1
    for i in range(0, page.extent, step):
        name = str(i) if step == 1 else f"{i}–{i + step - 1}"
        yield label(name, page.left + (i + step / 2) * page.unit, y - 6, anchor="middle")


def _cell(plan: LoadPlan, run: _Run, page: _Page, y: float, lit: int | None) -> str:
    row, col = _place(plan, run.line, run.along)
    bit = int(plan.bit_addresses[row, col])
    lanes = [lane for lane, _ in run.holders]
    data = {
        "row": row, "col": col, "elements": run.elements, "position": int(plan.positions[row, col]),
        "address": bit // 8, "segment": bit // 8 // SEGMENT_BYTES, "lane": lanes[0], "index": run.holders[0][1][0],
        "holders": " ".join(f"{lane}:{i}" for lane, elements in run.holders for i in elements),
    }  # fmt: skip
    who = "; ".join(f"lane {lane}, x[{elements[0]}]" for lane, elements in run.holders)
    more = f" and the {run.elements - 1} after it" if run.elements > 1 else ""
    box = (page.left + run.along * page.unit, y + run.line * page.height, page.unit * run.elements, page.height)
    names = _names(run)
    tip = f"row {row}, column {col}{more}, byte {bit // 8}: {who}"
    if len(lanes) == 1:
        kind = emphasis("cell", lit, lanes)
        return cell(*box, lane_colour(lanes[0]), names, data, tip=tip, kind=kind, sizes=(SMALL,))
    bands = [(lane_colour(lane), name, emphasis("band", lit, [lane])) for lane, name in zip(lanes, names, strict=True)]
    return banded(box, bands, data, tip=tip)


def _line(plan: LoadPlan, page: _Page, line: int, y: float) -> Iterator[str]:
    row, col = _place(plan, line, 0)
    base = y + page.height / 2 + 4
    yield label(f"{_axes(plan)[0]} {line}", MARGIN, base, kind="")
    first = int(plan.positions[row, col])
    bits = plan.format.bits
    for value, end in zip((first, first * bits // 8), page.ends, strict=True):
        yield label(str(value), end, base, anchor="end", kind="")
    for i in range(page.extent):
        if (first + i) * bits % (8 * SEGMENT_BYTES) == 0:
            x = page.left + i * page.unit - 2
            yield element("rect", x=x, y=y, width=4, height=page.height, class_="cut")
    if page.padding and line < page.lines - 1:
        x = page.left + page.extent * page.unit
        text = f"padding: {page.padding} elements"
        yield element("rect", x=x, y=y, width=_PADDING, height=page.height, class_="empty")
        size = fitted(text, _PADDING - 8, SMALL)
        yield label(text, x + _PADDING / 2, base, anchor="middle", size=size)
