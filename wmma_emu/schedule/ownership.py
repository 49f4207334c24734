# SPDX-License-Identifier: MIT
"""Lanes, registers and elements of the operands of a part of a product, found in the tables of layouts."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wmma_emu.instructions import Instruction
from wmma_emu.layouts import LaneMap, granularity_of
from wmma_emu.layouts.quad_pairs import QUAD_PAIR_OF_LANE
from wmma_emu.schedule.spec import Ownership

Numbers = range | tuple[int, ...]


@lru_cache(maxsize=1 << 12)
def ownership_of(layout: LaneMap, rows: Numbers, cols: Numbers, lanes: Numbers | None = None) -> Ownership:
    """Return the owners of the elements in some rows and columns of an operand, among some or all lanes.

    Duplicates that are not read are ignored.

    Examples
    --------
    >>> from wmma_emu.layouts import fragment_layout
    >>> ownership_of(fragment_layout("matrix_b", 16, 16, 16, "f16", "col", "sm_75"), range(8), range(8, 16)).registers
    (2,)
    """
    coords = layout.coords_of_lanes[: layout.read_elements]
    found = _among(rows, layout.rows)[coords[..., 0]] & _among(cols, layout.cols)[coords[..., 1]]
    if lanes is not None:
        found &= _among(lanes, layout.num_lanes)
    elements = np.flatnonzero(np.any(found, axis=1)).tolist()
    registers = dict.fromkeys(element // layout.elements_per_register for element in elements)
    return Ownership(tuple(np.flatnonzero(np.any(found, axis=0)).tolist()), tuple(registers), tuple(elements))


def _among(numbers: Iterable[int], count: int) -> NDArray[np.bool_]:
    """Return for each number below ``count`` whether it is in ``numbers``."""
    chosen = np.zeros(count, np.bool_)
    chosen[list(numbers)] = True
    return chosen


def lanes_of_octet(octet: int) -> tuple[int, ...]:
    """Return the eight lanes of an octet: threadgroups ``octet`` and ``octet + 4``.

    Examples
    --------
    >>> lanes_of_octet(1)
    (4, 5, 6, 7, 20, 21, 22, 23)
    """
    return tuple(np.flatnonzero(octet == QUAD_PAIR_OF_LANE).tolist())


def origin_of_octet(layout: LaneMap, octet: int) -> tuple[int, int]:
    """Return the first row and column of the 8x8 block of D that an octet computes."""
    row, col = layout.coords[:, list(lanes_of_octet(octet))].min(axis=(0, 1))
    return int(row), int(col)


def rows_of_chunks(instruction: Instruction, ks: Iterable[int]) -> tuple[int, ...]:
    """Return the rows of B that packed elements of a sparse A can select, or the k of a dense A.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> rows_of_chunks(lookup("mma.sp.m16n8k16.f32.f16.f16.f32"), [2, 3])
    (4, 5, 6, 7)
    """
    if not instruction.is_sparse:
        return tuple(ks)
    chunk = granularity_of(instruction).chunk
    chunks = sorted({k // (chunk // 2) for k in ks})
    return tuple(chunk * number + i for number in chunks for i in range(chunk))
