# SPDX-License-Identifier: MIT
"""Volta's quad pairs, each of which multiplies the replicas of A and B in its own lanes."""

from functools import cache

import numpy as np

from wmma_emu.errors import FragmentMismatchError
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.quad_pairs import QUAD_PAIR_OF_LANE


@cache
def per_quad_pair(layout: LaneMap) -> LaneMap:
    """View a fragment as four matrices, one for each quad pair: the rows and columns that its own lanes hold.

    The machine code of a WMMA product on Volta is HMMA.884, which multiplies 8x8 blocks within quad pairs. So the
    products that a quad pair adds to its block of D come from its own lanes, regardless of replicas in other lanes.

    Examples
    --------
    >>> from wmma_emu.layouts import fragment_layout
    >>> a = fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_70")
    >>> a, per_quad_pair(a)
    (<LaneMap 16x16: 16 elements of 16 bits a lane in 8 registers, each held 2 times, inferred>,
     <LaneMap 4 x 8x16: 16 elements of 16 bits a lane in 8 registers, inferred>)
    """
    blocks = [layout.coords[:, QUAD_PAIR_OF_LANE == pair] for pair in range(4)]
    origins = np.stack([block.min(axis=(0, 1)) for block in blocks])
    coords = layout.coords - origins[QUAD_PAIR_OF_LANE]
    rows, cols = (int(x) for x in coords.max(axis=(0, 1)) + 1)
    return LaneMap(
        coords, rows, cols, layout.element_bits, layout.read_elements, layout.source, layout.status, QUAD_PAIR_OF_LANE
    )


def matrix_of_copies(layout: LaneMap, elements: Bits, name: str, arch: str) -> Bits:
    """Assemble the matrix from its lanes, if the replicas that the chip reads are equal.

    Raises
    ------
    FragmentMismatchError
        If they differ, so that no single matrix represents the fragment.
    """
    if layout.reads_copies and not layout.agree(elements).all():
        raise FragmentMismatchError(
            f"replicas of an element of {name} differ between lanes; on {arch} each belongs to a different block of D, "
            f"so that no single matrix represents them; change all replicas in the same way: locate(row, col) of the "
            f"lane "
            f"map lists them"
        )
    return layout.scatter(elements)
