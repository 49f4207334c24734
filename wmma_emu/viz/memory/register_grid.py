# SPDX-License-Identifier: MIT
"""The registers of 32 lanes as eight rows of four, which for b16 is the shape of the matrix itself."""

from collections.abc import Iterator, Sequence

from wmma_emu.layouts.spec import LANES, Ints
from wmma_emu.palette import lane_colour
from wmma_emu.viz.memory.ldmatrix_plan import MatrixMovePlan
from wmma_emu.viz.memory.memory_style import cell, emphasis, label
from wmma_emu.viz.svg import element

GRID_HEAD = 42
"""The space above the first row, for the headings of columns."""

_PART = {2: 36, 4: 32}
_ROW = 28
_NAME = 12


def grid_width(plan: MatrixMovePlan) -> float:
    """Return the width of the registers of four lanes."""
    return 4.0 * plan.elements_per_register * _PART[plan.elements_per_register]


def register_grid(
    elements: Ints,
    left: float,
    tops: Sequence[float],
    *,
    matrix: int,
    lane: int | None,
    kind: str = "held",
) -> Iterator[str]:
    """Draw the registers that hold one matrix, one below the other, lanes 4 r to 4 r + 3 in row r.

    ``elements`` are ``elements`` or ``held`` of a `MatrixMovePlan`; rows begin at ``tops``, eight for every register;
    ``lane`` is highlighted; ``kind`` is the class of the cells.

    Examples
    --------
    >>> from wmma_emu.viz.memory.ldmatrix_plan import ldmatrix_plan
    >>> plan = ldmatrix_plan("ldmatrix.m8n8.x2.b16")
    >>> drawn = register_grid(plan.elements, 0, [28 * row for row in range(8)], matrix=1, lane=None)
    >>> sum('class="held"' in x for x in drawn)
    64
    """
    registers = [r for r in range(elements.shape[0]) if elements[r, 0, 0, 0] == matrix]
    for i, register in enumerate(registers):
        rows = tops[8 * i : 8 * i + 8]
        way = {"held": f"register {register} of each lane", "given": "register 0 of each lane, afterwards"}[kind]
        yield label(way, left, rows[0] - 20)
        parts = elements.shape[1]
        width = _PART[parts]
        for part in range(4 * parts):
            low = part % parts * (32 // parts)
            name = f"{low}–{low + 32 // parts - 1}"
            yield label(name, left + (part + 0.5) * width, rows[0] - 6, anchor="middle", size=8.5)
        for holder in range(LANES):
            x = left + holder % 4 * parts * width
            top = rows[holder // 4]
            yield from _lane(elements[register, :, holder], (x, top, width), (holder, register), kind, lane)


def _lane(
    elements: Ints, box: tuple[float, float, float], who: tuple[int, int], kind: str, lit: int | None
) -> Iterator[str]:
    x, y, width = box
    lane, register = who
    parts = len(elements)
    fill = lane_colour(lane)
    yield cell(
        x, y, width * parts, _NAME, fill, [f"T{lane}"], {"lane": lane, "register": register},
        kind=emphasis("holder", lit, [lane]), sizes=(9,),
    )  # fmt: skip
    for part, (matrix, row, col) in enumerate(elements.tolist()):
        bit = part * 32 // parts
        data = {"lane": lane, "register": register, "bit": bit, "matrix": matrix, "row": row, "col": col}
        tip = (
            f"lane {lane}, register {register}, bits {bit} to {bit + 32 // parts - 1}: matrix {matrix}, row {row}, "
            f"element {col}"
        )
        yield cell(
            x + part * width, y + _NAME, width, _ROW - _NAME, fill, [f"{row},{col}"], data, tip=tip,
            kind=emphasis(kind, lit, [lane]),
            sizes=(9.5,),
        )  # fmt: skip
    yield element("rect", x=x, y=y, width=width * parts, height=_ROW, class_="edge")
