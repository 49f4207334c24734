# SPDX-License-Identifier: MIT
"""What of a launch is looked at."""

from typing import NamedTuple


class Watch(NamedTuple):
    """What a `Recorder` notes.

    Attributes
    ----------
    space : str
        "global", "shared" or "local" of the bytes that are watched; "" for none.
    address : int
        Of the first byte, as findings have it: of shared and local memory from the beginning of the owner's.
    size : int
        How many bytes.
    block : int
        Whose bytes they are, in shared and local memory, and whose synchronisation is noted without bytes: index of
        the block in its grid, -1 for all.
    thread : int
        Whose bytes they are in local memory, and whose registers: index of the thread in its block, -1 for all.
    register : int
        A register whose writes are noted, -1 for none.
    line : int
        Of the PTX, whose instruction uses what nobody wrote; who comes to it is noted. 0 for none.
    lanes : bool
        Whether it is noted which lanes of a warp stand at an instruction that they execute together.
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
