# SPDX-License-Identifier: MIT
"""A schedule as a picture, with a panel for each machine instruction in order, and as HTML, with tables."""

from collections.abc import Iterator, Sequence
from html import escape

from wmma_emu.errors import ArgumentError, OutOfBoundsError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.palette import INK, lane_colour
from wmma_emu.schedule import MachineStep, Schedule
from wmma_emu.schedule.text import (
    OCTET_HEADINGS,
    accumulates,
    numbers,
    octet_rows,
    remarks,
    runs_of_k,
    step_headings,
    step_rows,
    threadgroup_rows,
    threadgroups_named,
)
from wmma_emu.viz.picture import Picture, scrolled
from wmma_emu.viz.schedules.schedule_blocks import turns_of
from wmma_emu.viz.schedules.schedule_panel import Geometry, panel
from wmma_emu.viz.svg import document, element, heading, text_lines, text_width

_NAME = "wmma-emu-schedule"
_STYLES = (
    f".{_NAME} .on {{ fill: {INK}; }}\n.{_NAME} .block {{ stroke: #57606a; stroke-width: 0.75; }}\n"
    f".{_NAME} .thin {{ stroke: none; }}\n.{_NAME} .empty {{ fill: #f3f4f6; }}",
    f".{_NAME} .on {{ fill: {INK}; }}\n.{_NAME} .empty {{ fill: #161b22; }}",
)
"""The light and the dark style rules."""

_MARGIN, _GUTTER = 24, 28
_TITLE, _TEXT, _SMALL = 16, 12, 11
_ROOM_ABOVE, _ROOM_BELOW = 36, 8
_RULER = 24
_TURNS = 18
_LEGEND = 126
_SIDE_OF_K, _NARROWEST = 208, 640
_LARGE, _LARGE_WITH_COPIES, _WIDEST = 24, 32, 1080


def draw_schedule(schedule: Schedule, *, step: int | None = None) -> Picture:
    """Draw the block of D that each machine instruction computes, and the blocks of A and B that it reads.

    In each panel, B is above D and A is at its left, so that a block of D is in the rows of its block of A and in the
    columns of its block of B. On Volta a block of D has the colour and the name of the threadgroup that computes it,
    and a block of A or B has the colours and names of the threadgroups that hold it.

    Parameters
    ----------
    schedule : Schedule
    step : int, optional
        Draw one machine instruction alone, large, with the lane and the register of every element. Its number is
        `MachineStep.number`, from 0; on Volta it counts through all sets, 0 to 15.

    Raises
    ------
    OutOfBoundsError
        If the schedule has no step of this number.
    FragmentMismatchError
        If ``schedule`` is not a `Schedule`.

    Examples
    --------
    >>> import wmma_emu as we
    >>> draw_schedule(we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70").schedule, step=5)
    <Picture: wmma.mma.m16n16k16.f32.f32 on sm_70 (Volta), machine instruction 5 of 0 to 15>
    """
    if not isinstance(schedule, Schedule):
        raise ArgumentError(
            f"expected a Schedule, such as ins.schedule of we.instruction(...), not {shorten(schedule)}"
        )
    chosen = schedule.steps if step is None else (schedule.steps[_checked(step, len(schedule.steps))],)
    entry, chip = schedule.instruction, schedule.arch
    title = f"{entry.short_mnemonic} on {chip} ({chip.generation})"
    if schedule.lowering != "native":
        title += f", {schedule.lowering}"
    if step is not None:
        title += f", machine instruction {chosen[0].number} of 0 to {len(schedule.steps) - 1}"
    geometry = _geometry(schedule, chosen)
    columns = len(schedule.sets[0]) if schedule.sets and len(chosen) > 1 else min(len(chosen), 4)
    heads = [_head(schedule, x) for x in chosen]
    column = max(geometry.width, *(max(text_width(line, _SMALL) for line in head) for head in heads))
    width = max(columns * column + (columns - 1) * _GUTTER, _NARROWEST) + 2 * _MARGIN

    body, y = heading(title, _notes(schedule), _MARGIN, _MARGIN + _TITLE, width - 2 * _MARGIN, _TITLE, 22)
    if schedule.sets:
        rows = 1 if width >= 2 * _MARGIN + 8 * _LEGEND else 2
        body += _legend(_MARGIN, y + 2, 8 // rows)
        y += 6 + 20 * rows
    for first in range(0, len(chosen), columns):
        for i, shown in enumerate(chosen[first : first + columns]):
            x = _MARGIN + i * (column + _GUTTER)
            body += text_lines(heads[first + i][:1], x, y + 14, _TEXT, 0, font_weight="600")
            body += text_lines(heads[first + i][1:], x, y + 29, _SMALL, 14, class_="quiet")
            top = y + _ROOM_ABOVE + 14 * (len(heads[first + i]) - 2)
            body += panel(schedule, shown, geometry, x, top)
        y = top + geometry.height + _ROOM_BELOW + _GUTTER / 2
    description = "; ".join(map(_described, chosen))
    svg = document(_NAME, round(width), round(y + _MARGIN / 2), title, description, *_STYLES, body)
    return Picture(title, svg)


def _checked(step: int, count: int) -> int:
    number = integer_of(step)
    if number is None or not 0 <= number < count:
        raise OutOfBoundsError(f"the machine instruction is {shorten(step)}; legal numbers are 0 to {count - 1}")
    return number


def _geometry(schedule: Schedule, chosen: Sequence[MachineStep]) -> Geometry:
    """Return the size of a panel: large for one panel, else so that four panels fit next to each other."""
    entry = schedule.instruction
    if len(chosen) > 1:
        cell = (7.0 if schedule.sets else 6.0) if max(entry.m, entry.n) <= 32 else 4.0
        return Geometry(cell, min(cell, _SIDE_OF_K / entry.terms), entry.m, entry.n, entry.terms, 0)
    largest = _LARGE_WITH_COPIES if schedule.sets else _LARGE
    cell = min(largest, _WIDEST / (entry.n + min(entry.terms, 32)))
    step = min(cell, _WIDEST / 2 / entry.terms)
    turns = _TURNS if len(turns_of(chosen[0])) > 1 else 0
    return Geometry(cell, step, entry.m, entry.n, entry.terms, _RULER, turns)


def _head(schedule: Schedule, step: MachineStep) -> list[str]:
    where = "" if step.set is None else f"set {step.set}, step {step.step}, "
    added, written = accumulates(schedule, step)
    shared = step.parts[0].b is None
    b = "shared memory" if shared else f"b {numbers(step.registers('b'))}"
    return [
        f"{step.number}  {step.opcode}",
        f"{where}k {runs_of_k(step.ks)}",
        f"a {numbers(step.registers('a'))}, {b}; {added} to {written}" if step.start != "zero" else
        f"a {numbers(step.registers('a'))}, {b}; to {written}",
    ]  # fmt: skip


def _notes(schedule: Schedule) -> Iterator[str]:
    yield f"B above, A at the left, D between them: {schedule.machine}"
    for label, text in remarks(schedule):
        if label != "known from":
            yield f"{label}: {text}"
    if any(part.matrix for part in schedule.steps[0].parts):
        yield "Only one of four products is drawn, that of octet 0; the others have the same form."
    if schedule.sets:
        yield (
            "Colours: a block of D has the colour of the threadgroup (TG) that computes it; blocks of A and B are "
            "held by the "
            "threadgroups whose colours they have, in stripes if several threadgroups hold a copy."
        )
    if len(schedule.sets) > 1:
        yield "Octets whose blocks of D share rows or columns each hold a copy of the common A or B."
    if schedule.instruction.is_sparse:
        yield "A is packed: k counts its elements, in B too; metadata selects the rows of B that they multiply."


def _legend(left: float, top: float, in_row: int) -> Iterator[str]:
    for threadgroup in range(8):
        x, y = left + _LEGEND * (threadgroup % in_row), top + 20 * (threadgroup // in_row)
        yield element("rect", x=x, y=y, width=14, height=14, fill=lane_colour(4 * threadgroup + 2), class_="block")
        label = f"{threadgroups_named(threadgroup)}: lanes {4 * threadgroup}-{4 * threadgroup + 3}"
        yield from text_lines([label], x + 18, y + 11, 10.5, 0)


def _described(step: MachineStep) -> str:
    parts = (
        f"{'' if part.threadgroup is None else f'{threadgroups_named(part.threadgroup)} '}rows {numbers(part.rows)} "
        f"columns {numbers(part.cols)}"
        for part in step.parts
    )
    return f"{step.number} {step.opcode}: k {runs_of_k(step.ks)}: {', '.join(parts)}"


_TABLE_STYLE = (
    "border-collapse:collapse;font-size:0.85rem;margin:0.5rem 0;text-align:left;font-variant-numeric:tabular-nums"
)
_CELL_STYLE = "padding:0.15rem 0.7rem 0.15rem 0;white-space:nowrap"


def html(schedule: Schedule) -> str:
    """Write a schedule as HTML: the picture, the tables of its text, and further facts."""
    entry, chip = schedule.instruction, schedule.arch
    pieces = [draw_schedule(schedule)._repr_html_()]
    if schedule.sets:
        pieces.append(_table("Octets", OCTET_HEADINGS, octet_rows(schedule)))
    pieces.append(_table("Machine instructions", step_headings(schedule), step_rows(schedule)))
    if schedule.sets:
        headings = ("step", *map(threadgroups_named, range(8)))
        pieces.append(_table("Rows x columns of D of each threadgroup, in every set", headings,
                             threadgroup_rows(schedule)))  # fmt: skip
    said = "".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in remarks(schedule))
    name = escape(f"{entry.mnemonic} on {chip} ({chip.generation})")
    return f'<section aria-label="Schedule of {name}">{"".join(pieces)}<dl>{said}</dl></section>'


def _table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col" style="{_CELL_STYLE}">{escape(x)}</th>' for x in headings)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{_CELL_STYLE}">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    table = (
        f'<table style="{_TABLE_STYLE}"><caption style="text-align:left">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    )
    return scrolled(table, caption, "div")
