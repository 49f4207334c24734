# SPDX-License-Identifier: MIT
"""How many blocks of a launch a multiprocessor holds, and what limits them."""

from math import prod
from typing import NamedTuple

from wmma_emu.chips import ARCHS
from wmma_emu.instructions.launches import Dim3
from wmma_emu.instructions.residency import residency_of
from wmma_emu.layouts.spec import LANES


class Occupancy(NamedTuple):
    """The blocks that a multiprocessor holds.

    ``limit`` is the scarcest resource: "threads", "shared memory", "blocks" or "registers". ``share`` is the part
    of the multiprocessor's threads that the blocks have. ``registers`` is the number of a thread, 0 if it is not known:
    then only the other resources limit the blocks.
    """

    blocks: int
    limit: str
    share: float
    registers: int = 0

    def __str__(self) -> str:
        known = f"{self.registers} registers of a thread" if self.registers else "registers are not known"
        return (
            f"{self.blocks} block{'s' * (self.blocks != 1)} on a multiprocessor, {self.share:.0%} of its threads, "
            f"limited by {self.limit} ({known})"
        )


def occupancy_of(chip: str, block: tuple[int, int, int], shared_bytes: int, registers: int = 0) -> Occupancy:
    """Return the occupancy of a launch on a chip.

    Examples
    --------
    >>> print(occupancy_of("sm_90", (256, 1, 1), 48 * 1024, 64))
    4 blocks on a multiprocessor, 50% of its threads, limited by shared memory (64 registers of a thread)
    >>> print(occupancy_of("sm_90", (256, 1, 1), 0, 168))
    1 block on a multiprocessor, 12% of its threads, limited by registers (168 registers of a thread)
    """
    known = residency_of(ARCHS[chip])
    limits = known.limits(Dim3(*block), shared_bytes, registers)
    limit = min(limits, key=lambda name: limits[name])
    threads = -(-prod(block) // LANES) * LANES
    return Occupancy(limits[limit], limit, limits[limit] * threads / known.threads, registers)
