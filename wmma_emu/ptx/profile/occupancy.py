# SPDX-License-Identifier: MIT
"""How many blocks of a launch a multiprocessor holds, and what limits them."""

from math import prod
from typing import NamedTuple

from wmma_emu.chips import ARCHS
from wmma_emu.instructions.launches import Dim3
from wmma_emu.instructions.residency import residency_of
from wmma_emu.layouts.spec import LANES


class Occupancy(NamedTuple):
    """The blocks that a multiprocessor holds, if there are enough registers: only ptxas can tell.

    ``limit`` is the scarcest resource: "threads", "shared memory" or "blocks". ``share`` is the part
    of the multiprocessor's threads that the blocks have.
    """

    blocks: int
    limit: str
    share: float

    def __str__(self) -> str:
        return (
            f"{self.blocks} block{'s' * (self.blocks != 1)} on a multiprocessor, {self.share:.0%} of its threads, "
            f"limited by {self.limit} (registers are not counted)"
        )


def occupancy_of(chip: str, block: tuple[int, int, int], shared_bytes: int) -> Occupancy:
    """Return the occupancy of a launch on a chip.

    Examples
    --------
    >>> print(occupancy_of("sm_90", (256, 1, 1), 48 * 1024))
    4 blocks on a multiprocessor, 50% of its threads, limited by shared memory (registers are not counted)
    """
    known = residency_of(ARCHS[chip])
    threads = -(-prod(block) // LANES) * LANES
    shared = known.allocated(shared_bytes) + known.reserved_bytes
    limits = {
        "threads": known.threads // threads,
        "shared memory": known.shared_kib * 1024 // shared if shared else known.blocks,
        "blocks": known.blocks,
    }
    blocks = known.blocks_per_multiprocessor(Dim3(*block), shared_bytes)
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(blocks, limit, blocks * threads / known.threads)
