# SPDX-License-Identifier: MIT
"""A picture of a `wgmma` operand in shared memory: chunks of 16 bytes, placed by the descriptor and its swizzle."""

from collections.abc import Iterator, Mapping

from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.banks import BANK_BYTES, BANK_FACTS, BANKS, bank_of
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, LINES, STEPS, SWIZZLES, Major
from wmma_emu.palette import lane_colour
from wmma_emu.viz.memory.memory_style import MARGIN, SMALL, cell, finished, head, label
from wmma_emu.viz.memory.shared_plan import ChunkCell, SharedPlan, shared_plan
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import checked_title, element, text_width
from wmma_emu.warp import SharedOperand

_ROW_BYTES = BANKS * BANK_BYTES
_CHUNKS = _ROW_BYTES // CHUNK_BYTES
_ROW = 30
_GAP_ROW = 22
_LABEL = 76
_MARKS = 190


def draw_shared_operand(
    descriptor: "MatrixDescriptor | SharedOperand | int",
    rows: int,
    k: int,
    fmt: Format | str,
    major: Major | None = None,
    *,
    memory_rows: int = 32,
    title: str | None = None,
) -> Picture:
    """Draw the addresses at which `wgmma` reads an operand of shared memory, in rows of 128 bytes, the 32 banks.

    A cell is a chunk of 16 bytes, which no swizzle splits; its colour is the number of the chunk within its line, so
    that a swizzle appears as permuted columns.

    Parameters
    ----------
    descriptor : MatrixDescriptor, SharedOperand, or int
        The matrix descriptor, or its 64 bits. A `SharedOperand` includes its major axis.
    rows, k : int
        Rows of A, or columns of B; elements of each along k.
    fmt : Format or str
    major : {"k", "mn"}, optional
        The contiguous axis; k by default.
    memory_rows : int
        The most rows of 128 bytes to draw; rows without an element do not count.
    title : str, optional

    Returns
    -------
    Picture
        Groups of class ``cell`` have address, bank, row and k as data attributes.

    Raises
    ------
    AlignmentError, FragmentMismatchError, OutOfBoundsError, UnsupportedInstructionError
        As `wmma_emu.layouts.shared_memory.addresses` and `MatrixDescriptor` raise.

    Examples
    --------
    >>> draw_shared_operand(MatrixDescriptor(0, 16, 1024, swizzle=128), 64, 64, "f16")
    <Picture: 64 x 64 f16 in shared memory, k contiguous, 128-byte swizzle>
    """
    named = checked_title(title)
    plan = shared_plan(descriptor, rows, k, fmt, major)
    most = integer_of(memory_rows)
    if most is None or most < 1:
        raise ArgumentValueError(f"memory_rows is {shorten(memory_rows)}; pass at least 1 row of 128 bytes")
    swizzle = f"{plan.descriptor.swizzle}-byte swizzle" if plan.descriptor.swizzle else "no swizzle"
    along = "k contiguous" if plan.major == "k" else "rows contiguous"
    text = named or f"{plan.rows} x {plan.k} {plan.format} in shared memory, {along}, {swizzle}"
    unit = max(text_width(line, SMALL) for chunk in plan.chunks for line in _names(chunk)) + 10
    unit = max(unit, 70)
    width = MARGIN + _LABEL + _CHUNKS * unit + _MARKS + MARGIN
    notes = list(_notes(plan))
    body, y = head(text, notes, width)
    y += 42
    left = MARGIN + _LABEL
    body += _rulers(left, y, unit)
    by_row: dict[int, dict[int, list[ChunkCell]]] = {}
    for chunk in plan.chunks:
        row, place = divmod(chunk.address // CHUNK_BYTES, _CHUNKS)
        by_row.setdefault(row, {}).setdefault(place, []).append(chunk)
    marks = _marks(plan)
    before = None
    for row in sorted(by_row)[:most]:
        if before is not None and row > before + 1:
            empty = (row - before - 1) * _ROW_BYTES
            body.append(label(f"{empty} bytes without an element", left + 6, y + 15))
            y += _GAP_ROW
        body += _row(plan, row, by_row[row], (left, y, unit), marks)
        y += _ROW
        before = row
    left_out = len(by_row) - min(most, len(by_row))
    if left_out:
        body.append(label(f"{left_out} more row{'s' * (left_out > 1)} of {_ROW_BYTES} bytes", left + 6, y + 15))
        y += _GAP_ROW
    return Picture(text, finished(width, y + MARGIN, text, " ".join(notes), body))


def _names(chunk: ChunkCell) -> tuple[str, str]:
    return _span("row", chunk.row, chunk.last_row), _span("k", chunk.k, chunk.last_k)


def _span(name: str, first: int, last: int) -> str:
    return f"{name} {first}" if first == last else f"{name} {first}–{last}"


def _notes(plan: SharedPlan) -> Iterator[str]:
    d = plan.descriptor
    swizzle = SWIZZLES[d.swizzle]
    yield (
        f"Descriptor {d.encode():#018x}: start {d.start}, leading dimension byte offset (LBO) {d.leading}, stride "
        f"dimension byte offset (SBO) {d.stride}, swizzle {d.swizzle or 'none'}, base offset {d.base_offset}."
    )
    steps = STEPS[plan.major, bool(d.swizzle)]
    lines, along = ("rows", "k") if plan.major == "k" else ("k", "rows")
    names = {"leading": "LBO", "stride": "SBO"}
    used = f"{names[steps.across_lines]} leads to the next {LINES} {'of ' * (lines == 'k')}{lines}"
    if _continues(plan):
        used += f", {names[steps.along_lines]} to the continuation of {along} after {swizzle.line_bytes} bytes"
    else:
        used += f"; {names[steps.along_lines]} is not used"
    yield f"{used} ({steps.status})."
    if d.swizzle:
        bits = "bit 7 is" if swizzle.bits == 1 else f"bits {6 + swizzle.bits} to 7 are"
        onto = "bit 4" if swizzle.bits == 1 else f"bits {3 + swizzle.bits} to 4"
        less = f", less the base offset {d.base_offset}," if d.base_offset else ""
        yield f"In each address, {bits}{less} XORed onto {onto}: the pattern repeats every {swizzle.atom_bytes} bytes."
    most = plan.conflict_of_chunks
    how = "each bank holds one word" if most == 1 else f"one bank holds up to {most} words"
    yield (
        f"For the same chunk of {LINES} neighbouring {'rows' if plan.major == 'k' else 'k'}, 128 bytes, {how} "
        f"(banks: {BANK_FACTS['banks'].status}). Colour: the number of the chunk within its "
        f"{'row' if plan.major == 'k' else 'line of rows'}, modulo {_CHUNKS}."
    )


def _continues(plan: SharedPlan) -> bool:
    """Return whether lines are longer than the lines of an atom."""
    along = (plan.k if plan.major == "k" else plan.rows) * plan.format.bits // 8
    return along > SWIZZLES[plan.descriptor.swizzle].line_bytes


def _marks(plan: SharedPlan) -> Mapping[int, list[str]]:
    """Return, for rows of memory, the offset of the descriptor that begins there."""
    d = plan.descriptor
    steps = STEPS[plan.major, bool(d.swizzle)]
    across = (plan.rows if plan.major == "k" else plan.k) > LINES
    used = {steps.across_lines: across, steps.along_lines: _continues(plan)}
    found: dict[int, list[str]] = {d.start // _ROW_BYTES: [f"start {d.start}"]}
    for field, name in (("leading", "LBO"), ("stride", "SBO")):
        if used[field]:  # type: ignore[index]
            address = d.start + getattr(d, field)
            found.setdefault(address // _ROW_BYTES, []).append(f"start + {name} = {address}")
    return found


def _rulers(left: float, y: float, unit: float) -> Iterator[str]:
    yield label("address", left - 10, y - 6, anchor="end")
    for i in range(_CHUNKS):
        x = left + (i + 0.5) * unit
        first = i * CHUNK_BYTES // BANK_BYTES
        yield label(f"+{i * CHUNK_BYTES}", x, y - 6, anchor="middle")
        yield label(f"banks {first}–{first + CHUNK_BYTES // BANK_BYTES - 1}", x, y - 20, anchor="middle", size=9.5)


def _row(
    plan: SharedPlan,
    row: int,
    chunks: Mapping[int, list[ChunkCell]],
    box: tuple[float, float, float],
    marks: Mapping[int, list[str]],
) -> Iterator[str]:
    left, y, unit = box
    yield label(str(row * _ROW_BYTES), left - 10, y + _ROW / 2 + 4, anchor="end", kind="")
    for place in range(_CHUNKS):
        x = left + place * unit
        if place not in chunks:
            yield element("rect", x=x, y=y, width=unit, height=_ROW, class_="empty")
            continue
        chunk, *others = chunks[place]
        data = {
            "address": chunk.address, "bank": int(bank_of(chunk.address)), "row": chunk.row, "k": chunk.k,
            "last-row": chunk.last_row, "last-k": chunk.last_k, "chunk": chunk.number, "line": chunk.line,
            "others": len(others),
        }  # fmt: skip
        lines = list(_names(chunk))
        tip = f"address {chunk.address}: {', '.join(lines)}"
        if others:
            lines[1] += f" +{len(others)}"
            tip += "".join(f"; also {', '.join(_names(other))}" for other in others)
        first = chunk.address == plan.descriptor.start
        yield cell(
            x, y, unit, _ROW, lane_colour(4 * (chunk.number % _CHUNKS) + 1), lines, data, tip=tip,
            kind="cell marked" if first else "cell",
        )  # fmt: skip
    said = "; ".join(marks.get(row, ()))
    if said:
        yield label(f"← {said}", left + _CHUNKS * unit + 6, y + _ROW / 2 + 4, size=9.5)
