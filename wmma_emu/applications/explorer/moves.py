# SPDX-License-Identifier: MIT
"""Matrix moves for the page: which lane gives the address of which row, and which moves load or store an operand.

A plan says how `ldmatrix` fills the registers of an operand from a tile in memory (or `stmatrix` empties them): for
each register, the place in the tile where its 8 x 8 matrix of 16-bit units begins. It is found by comparing the
operand's layout with the layout of a move, and holds for every lane and element or is not there.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from wmma_emu.applications.explorer.weights import coded_move, expression, weights_of
from wmma_emu.instructions import ARCHS
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.spec import LANES, Ints
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES, MatrixMove

_UNITS = 16
"""Bits of what `ldmatrix` moves as one: it does not look inside, so narrower elements go along in groups."""


class MovePlan(NamedTuple):
    """How a move of a family fills the registers of an operand, or empties them.

    ``stored`` is ``"row"`` or ``"col"``: rows or columns of the matrix lie one after the other in memory. ``origins``
    are row and column of the matrix where the 8 x 8 units of each register begin. A move has so many matrices; several
    moves follow each other where there are more registers. ``row`` and ``col`` say, in C, which element's address a
    lane gives in the first move.
    """

    stored: str
    trans: bool
    origins: tuple[tuple[int, int], ...]
    matrices: int
    row: str
    col: str


@cache
def move_plans_of(layout: LaneMap) -> tuple[MovePlan, ...]:
    """Find all ways to fill the registers of an operand with `ldmatrix` of 16-bit units, without `.trans` first.

    Examples
    --------
    >>> import wmma_emu as we
    >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32")
    >>> for plan in move_plans_of(ins.a.layout):
    ...     print(plan.stored, plan.trans, plan.origins, f"A[{plan.row}][{plan.col}]")
    row False ((0, 0), (8, 0), (0, 8), (8, 8)) A[lane % 16][lane / 16 * 8]
    col True ((0, 0), (8, 0), (0, 8), (8, 8)) A[lane / 8 % 2 * 8][lane / 16 * 8 + lane % 8]
    """
    if layout.element_bits > 32 or layout.reads_copies or layout.num_matrices > 1:
        return ()
    found = (_plan(layout, stored, trans) for trans in (False, True) for stored in ("row", "col"))
    return tuple(x for x in found if x is not None)


def _plan(layout: LaneMap, stored: str, trans: bool) -> MovePlan | None:
    packed = layout.elements_per_register
    if trans and layout.element_bits != _UNITS:
        return None
    coords = layout.coords_of_lanes[: layout.read_elements, :LANES]
    in_memory = coords if stored == "row" else coords[..., ::-1]
    registers = in_memory.reshape(-1, packed, LANES, 2)
    origins = registers[:, 0, 0]
    if not (registers - origins[:, None, None] == _pattern(packed, trans)).all():
        return None
    if (origins[:, 1] * layout.element_bits % 128).any():  # a row in memory is 16 bytes, and aligned to them
        return None
    count = next(x for x in (4, 2, 1) if len(origins) % x == 0)
    lane = np.arange(8 * count)
    address = origins[lane // 8] + np.stack((lane % 8, 0 * lane), axis=-1)
    texts = [expression(weights_of(address[:, axis]), "lane") for axis in (0, 1)]
    places = origins if stored == "row" else origins[:, ::-1]
    row, col = texts if stored == "row" else reversed(texts)
    return MovePlan(stored, trans, tuple((int(r), int(c)) for r, c in places), count, row, col)


def _pattern(packed: int, trans: bool) -> Ints:
    """Place in its matrix of each element of a register of each lane, in rows and elements of memory."""
    element, lane = np.indices((packed, LANES))
    along, across = packed * (lane % 4) + element, lane // 4
    return np.stack((along, across) if trans else (across, along), axis=-1)


def move_rows() -> list[list[object]]:
    """Write every move: mnemonic, weights of its fragment, rows of a matrix, bits of an element in memory, chips.

    `movmatrix` has two fragments: that of its operand follows as the last entry.
    """
    archs = list(ARCHS)
    rows: list[list[object]] = []
    for mnemonic, move in MATRIX_MOVES.items():
        known = [[archs.index(chip), *move.known_on(chip)] for chip in move.archs]
        source = coded_move(_before_transposing()) if move.family == "movmatrix" else None
        rows.append([mnemonic, coded_move(move), move.rows, move.source_bits, known, source])
    return rows


def _before_transposing() -> MatrixMove:
    """The matrix of `movmatrix` as it was before it was transposed: what `ldmatrix` without `.trans` leaves."""
    return next(x for x in MATRIX_MOVES.values() if (x.shape, x.count, x.trans, x.types) == ("m8n8", 1, False, "b16"))
