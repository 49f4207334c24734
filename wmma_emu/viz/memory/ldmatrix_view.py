# SPDX-License-Identifier: MIT
"""ldmatrix, stmatrix and movmatrix as a picture: rows and the lanes that give their addresses, banks, registers."""

from collections.abc import Iterator
from typing import NamedTuple

from numpy.typing import ArrayLike

from wmma_emu.errors import OptionError
from wmma_emu.instructions import Arch
from wmma_emu.layouts.banks import BANK_FACTS, PHASE_ROWS, bank_of, phase_fact, words_of_banks
from wmma_emu.layouts.spec import LANES, Ints
from wmma_emu.palette import lane_colour
from wmma_emu.viz.memory.bank_strip import STRIP, bank_strip, phase_text
from wmma_emu.viz.memory.ldmatrix_plan import MatrixMovePlan, checked_rows, ldmatrix_plan, plain_addresses
from wmma_emu.viz.memory.memory_style import MARGIN, SMALL, TEXT, cell, checked_lane, emphasis, finished, head, label
from wmma_emu.viz.memory.register_grid import GRID_HEAD, grid_width, register_grid
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import checked_title, text_width
from wmma_emu.warp.matrix_rows import EVERY_LANE_NEEDS_AN_ADDRESS, ROW_BYTES

_ROW = 28
_LANE, _ADDRESS = 40, 20
"""The width of a lane, and the gap next to an address."""
_GAP = 26
_BELOW = 66
"""The space below eight rows, for the sentence on their phase and the ruler of the next."""


class _View(NamedTuple):
    """A plan and its inverse, its rows' addresses, the highlighted lane, and the left edges of the columns."""

    plan: MatrixMovePlan
    holders: Ints
    rows: Ints
    lane: int | None
    cells: float
    strip: float
    registers: float
    width: float


def draw_ldmatrix(
    instruction: str,
    addresses: ArrayLike | None = None,
    *,
    pitch: int | None = None,
    arch: "str | Arch | None" = None,
    lane: int | None = None,
    title: str | None = None,
) -> Picture:
    """Draw the addresses and registers of ldmatrix, stmatrix or movmatrix.

    Left: rows of shared memory, each with the lane that gives its address and, in every element, the lane and the part
    of the register that it is loaded into (stmatrix: stored from). Middle: the banks of the rows of each phase, with
    counts. Right: the registers of all lanes.

    Parameters
    ----------
    instruction : str
        The PTX mnemonic; ``.sync.aligned`` and ``.shared`` may be left out.
    addresses : int array, shape (32,), optional
        The address of each lane, in bytes; by default `plain_addresses`.
    pitch : int, optional
        Bytes from row to row of the plain tile; not together with addresses.
    arch : str or Arch, optional
        The chip; by default the default chip, or the first that supports the form.
    lane : int, optional
        Highlight one lane: its elements, and the row whose address it gives.
    title : str, optional

    Returns
    -------
    Picture
        Groups of class ``cell`` (elements in memory), ``held`` (elements in registers), ``row`` (lane of an address),
        ``bank`` and ``count`` have their contents as data attributes.

    Raises
    ------
    AlignmentError, OutOfBoundsError, FragmentMismatchError
        If the instruction would reject the addresses, the pitch makes rows overlap, or the lane is above 31.
    UnsupportedInstructionError
        If no chip supports the form, if addresses and pitch are both given, or for addresses of movmatrix.

    Examples
    --------
    >>> draw_ldmatrix("ldmatrix.m8n8.x4.b16", pitch=128)
    <Picture: ldmatrix.sync.aligned.m8n8.x4.shared.b16: rows 128 bytes apart, 8-way bank conflicts>
    >>> draw_ldmatrix("ldmatrix.m8n8.x4.b16", pitch=144).title
    'ldmatrix.sync.aligned.m8n8.x4.shared.b16: rows 144 bytes apart, no bank conflict'
    """
    named = checked_title(title)
    plan = ldmatrix_plan(instruction, arch)
    lit = checked_lane(lane)
    if plan.family == "movmatrix":
        if addresses is not None or pitch is not None:
            raise OptionError(
                f"{plan.mnemonic} has no addresses: it moves registers to registers; omit addresses and pitch"
            )
        return _draw_movmatrix(plan, lit, named or plan.mnemonic)
    if addresses is not None and pitch is not None:
        raise OptionError("pitch describes a plain tile, which addresses replace; pass only one of them")
    given = plain_addresses(instruction, pitch) if addresses is None else addresses
    rows = checked_rows(plan, given)
    view = _view(plan, rows, lit)
    words = words_of_banks(rows.reshape(-1, PHASE_ROWS), ROW_BYTES)
    text = named or _title(plan, rows, words, plain=addresses is None)
    body, y = head(text, _notes(plan), view.width)
    y += 10
    for matrix in range(plan.matrices):
        body += _matrix(view, matrix, words, y)
        y += _height(plan)
    description = " ".join([*_notes(plan), *(phase_text(i, row) for i, row in enumerate(words))])
    return Picture(text, finished(view.width, y + MARGIN / 2, text, description, body))


def _view(plan: MatrixMovePlan, rows: Ints, lane: int | None) -> _View:
    cells = MARGIN + _LANE + max(text_width(x, SMALL) for x in ("address", str(rows.max()))) + _ADDRESS
    strip = cells + plan.row_elements * _cell_width(plan) + _GAP
    registers = strip + STRIP + _GAP
    return _View(plan, plan.holders, rows, lane, cells, strip, registers, registers + grid_width(plan) + MARGIN)


def _cell_width(plan: MatrixMovePlan) -> int:
    return 40 if plan.element_bits == 16 else 35


def _height(plan: MatrixMovePlan) -> float:
    return GRID_HEAD + plan.rows * _ROW + _BELOW * (plan.rows // PHASE_ROWS)


def _title(plan: MatrixMovePlan, rows: Ints, words: Ints, plain: bool) -> str:
    worst = int(words.max())
    conflicts = "no bank conflict" if worst == 1 else f"{worst}-way bank conflicts"
    where = f"rows {rows[0, 1] - rows[0, 0]} bytes apart, " if plain else ""
    return f"{plan.mnemonic}: {where}{conflicts}"


def _notes(plan: MatrixMovePlan) -> Iterator[str]:
    one, many = ("goes to", "go to") if plan.family == "ldmatrix" else ("comes from", "come from")
    yield (
        "Left: rows of 16 bytes in shared memory, each with the lane that gives its address; in each element, lane "
        f"and part of the register that it {one}. Middle: the banks of these rows, T again the lane that gives the "
        f"address. Right: the registers that the rows {many}; in each part row, element."
    )
    if plan.family == "ldmatrix" and plan.arch in EVERY_LANE_NEEDS_AN_ADDRESS and plan.lanes_with_address < LANES:
        yield (
            f"The addresses of lanes {plan.lanes_with_address} to {LANES - 1} are not read, but on {plan.arch} the "
            "addresses of all lanes must be valid."
        )
    yield f"Lanes and registers: {plan.status}, {plan.source}."
    phases = phase_fact(plan.shape, plan.arch)
    yield (
        f"Rows of {PHASE_ROWS} neighbouring lanes are one phase, and only they conflict ({phases.status}); banks: "
        f"{BANK_FACTS['banks'].status}."
    )


def _matrix(view: _View, matrix: int, words: Ints, y: float) -> Iterator[str]:
    plan = view.plan
    lanes = plan.address_lanes[matrix]
    yield label(f"matrix {matrix}", MARGIN, y + 14, size=TEXT, kind="")
    top = y + GRID_HEAD
    yield label("lane", MARGIN + 4, top - 6)
    yield label("address", view.cells - 8, top - 6, anchor="end")
    width = _cell_width(plan)
    for i in range(plan.row_elements):
        yield label(str(i), view.cells + (i + 0.5) * width, top - 6, anchor="middle")
    yield label(f"element of the row, {plan.source_bits} bits each", view.cells, top - 20)
    tops = _row_tops(plan, top)
    yield from register_grid(plan.elements, view.registers, tops, matrix=matrix, lane=view.lane)
    for row in range(plan.rows):
        yield from _row(view, matrix, row, int(lanes[row]), tops[row])
    for part in range(plan.rows // PHASE_ROWS):
        phase = matrix * (plan.rows // PHASE_ROWS) + part
        rows = slice(part * PHASE_ROWS, (part + 1) * PHASE_ROWS)
        starts = view.rows[matrix, rows].tolist()
        yield from bank_strip(phase, starts, words[phase], view.strip, tops[rows], with_name=part == 0)


def _row_tops(plan: MatrixMovePlan, top: float) -> list[float]:
    """Return the y of each row; space below every eight rows is for the sentence on their phase."""
    return [top + row * _ROW + _BELOW * (row // PHASE_ROWS) for row in range(plan.rows)]


def _row(view: _View, matrix: int, row: int, lane: int, y: float) -> Iterator[str]:
    plan, address = view.plan, int(view.rows[matrix, row])
    data = {"matrix": matrix, "row": row, "lane": lane, "address": address, "phase": lane // PHASE_ROWS}
    tip = f"lane {lane} gives the address {address} ({address:#x}) of row {row} of matrix {matrix}"
    kind = "row lit" if lane == view.lane else "row"
    yield cell(MARGIN, y, _LANE, _ROW, lane_colour(lane), [f"T{lane}"], data, tip=tip, kind=kind, sizes=(11,))
    yield label(str(address), view.cells - 8, y + _ROW / 2 + 4, anchor="end", kind="")
    width = _cell_width(plan)
    for i in range(plan.row_elements):
        holder, register, part = view.holders[matrix, row, i].tolist()
        bit = part * plan.element_bits
        first_bit = 8 * address + i * plan.source_bits
        data = {
            "matrix": matrix, "row": row, "col": i, "address": first_bit // 8, "address-bit": first_bit % 8,
            "lane": holder, "register": register, "bit": bit, "bank": int(bank_of(first_bit // 8)),
        }  # fmt: skip
        bits = f"bits {bit} to {bit + plan.element_bits - 1}"
        tip = f"matrix {matrix}, row {row}, element {i}: lane {holder}, register {register}, {bits}"
        yield cell(
            view.cells + i * width, y, width, _ROW, lane_colour(holder),
            [f"T{holder}", f"r{register}.{_part_name(plan, part)}"], data, tip=tip,
            kind=emphasis("cell", view.lane, [holder]),
        )  # fmt: skip


def _part_name(plan: MatrixMovePlan, part: int) -> str:
    return ("lo", "hi")[part] if plan.elements_per_register == 2 else f"b{part}"


def _draw_movmatrix(plan: MatrixMovePlan, lane: int | None, title: str) -> Picture:
    width = 2 * MARGIN + 2 * grid_width(plan) + 2 * _GAP
    notes = (
        "Left: what the lanes hold before, row and column of the matrix. Right: what they are given, its transpose.",
        f"Registers: {plan.status}, {plan.source}.",
    )
    body, y = head(title, notes, width)
    tops = _row_tops(plan, y + 10 + GRID_HEAD)
    for elements, left, name in (
        (plan.held, MARGIN, "held"), (plan.elements, MARGIN + grid_width(plan) + 2 * _GAP, "given"),
    ):  # fmt: skip
        body += register_grid(elements, left, tops, matrix=0, lane=lane, kind=name)
    return Picture(title, finished(width, tops[-1] + _ROW + MARGIN, title, " ".join(notes), body))
