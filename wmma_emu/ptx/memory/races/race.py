# SPDX-License-Identifier: MIT
"""A race that was found, and of which kind it is."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.touch import Touch

RACE, NEAR, LANES_AT_ONCE, EQUAL = "race", "race within a warp", "lanes store to one place", "race of equal bytes"
UNUSED = "race of an unused value"
"""Kinds of findings."""

_Mask = NDArray[np.bool_]


class Race:
    """A race that was found: ``bad`` threads of an access, each of whose bytes another one has accessed.

    ``kind`` is that of the finding; ``verb`` says what the other did, "wrote" or "read", or "writes" in the same
    instruction; ``other`` gives the stamps of those that it is in a race with, for a place (granule, ..., G, W, lane).
    """

    def __init__(
        self, kind: str, touch: Touch, bad: _Mask, verb: str, write: bool,
        other: Callable[[tuple[int, ...]], list[int]],
    ) -> None:  # fmt: skip
        self.kind, self.touch, self.bad, self.verb, self.write, self.other = kind, touch, bad, verb, write, other
