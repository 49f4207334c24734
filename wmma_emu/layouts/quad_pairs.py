# SPDX-License-Identifier: MIT
"""Volta's fragments: four quad pairs of lanes, each of which computes a separate 8x8x4 product.

Quad pair q consists of lanes 4q to 4q+3 and 16+4q to 16+4q+3. The functions take element numbers and lanes, and
broadcast them against each other.
"""

from typing import NamedTuple

import numpy as np

from wmma_emu.layouts.spec import LANES, Ints

QUAD_PAIR_OF_LANE: Ints = np.arange(LANES) % 16 // 4
"""The quad pair of every lane."""


def multiplicand(element: Ints, lane: Ints, along_k: bool) -> tuple[Ints, Ints]:
    """Return m (for A) or n (for B), and k, of an element of A or B.

    With ``along_k`` the matrix is stored with k contiguous (A row, B col), so a lane's four elements differ
    in k; otherwise they differ in m or n.
    """
    upper = lane // 16 * 4
    thread = lane % 4
    if along_k:
        return thread + upper + 0 * element, element + 0 * lane
    return element + upper, thread + 0 * element


def accumulator(element: Ints, lane: Ints, element_bits: int) -> tuple[Ints, Ints]:
    """Return row and column of an element of C or D: whole rows in f16, 2x2 blocks in f32."""
    upper = lane // 16 * 4
    if element_bits == 16:
        return lane % 4 + upper + 0 * element, element + 0 * lane
    return (lane & 1) + (element & 2) + upper, (element & 4) + (lane & 2) + (element & 1)


class Octets(NamedTuple):
    """The division of a WMMA product among Volta's quad pairs: 8x8 blocks, ``down`` of them from top to bottom.

    Examples
    --------
    >>> Octets(down=2).coords("accumulator", 16, along_k=False)[0, [0, 4, 8, 12]].tolist()
    [[0, 0], [8, 0], [0, 8], [8, 8]]
    """

    down: int

    def coords(self, use: str, bits: int, along_k: bool) -> Ints:
        """Return row and column of every element: `m8n8k4` layouts, k in steps of four, at the block's origin."""
        lane = np.arange(LANES)
        row_origin = 8 * (QUAD_PAIR_OF_LANE % self.down)
        col_origin = 8 * (QUAD_PAIR_OF_LANE // self.down)
        if use == "accumulator":
            row, col = accumulator(np.arange(8)[:, None], lane, bits)
            return np.stack((row + row_origin, col + col_origin), axis=-1)
        element = np.arange(16)[:, None]
        outer, k = multiplicand(element % 4, lane, along_k)
        k = k + element // 4 * 4
        if use == "matrix_a":
            return np.stack((outer + row_origin, k), axis=-1)
        return np.stack((k, outer + col_origin), axis=-1)
