# SPDX-License-Identifier: MIT
"""What of a launch is looked at."""

from typing import NamedTuple


class Watch(NamedTuple):
    """What a `Recorder` notes of the bytes of a space that are watched ("" for none), or else of synchronisation.

    The address is as findings have it: of shared and local memory from the beginning of the owner's. ``block`` and
    ``thread`` are numbers in the grid and in the block, -1 for all: whose bytes these are, whose registers, and whose
    synchronisation is noted. ``register`` is one whose writes are noted, -1 for none; ``line`` one of the PTX whose
    instruction uses what nobody wrote: who comes to it is noted, 0 for none. ``lanes`` says whether it is noted which
    lanes of a warp stand at an instruction that they execute together.
    """

    space: str = ""
    address: int = 0
    size: int = 0
    block: int = -1
    thread: int = -1
    register: int = -1
    line: int = 0
    lanes: bool = False

    def covers(self, space: str) -> bool:
        """Whether bytes of a space are watched."""
        return self.size > 0 and self.space == space
