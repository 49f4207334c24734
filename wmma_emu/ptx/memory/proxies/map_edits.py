# SPDX-License-Identifier: MIT
"""Fences of the proxy that reads tensor maps: which threads acquired a map after its last change."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder, ThreadIndices


class _Acquired(NamedTuple):
    """Threads that acquired a map whose last writes had some stamps."""

    writes: NDArray[np.uint64]
    stamps: NDArray[np.uint64]


class AcquiredMaps:
    """The acquires of tensor maps: for each position of a map the threads that executed one since it changed."""

    def __init__(self, order: CausalityOrder, *, follows: bool) -> None:
        self._order, self._follows = order, follows
        self._acquired: dict[int, list[_Acquired]] = {}

    def acquire(self, position: int, writes: NDArray[np.uint64], at: ThreadIndices) -> None:
        """Let threads acquire the map at a position of global memory, whose pieces have last writes with stamps."""
        stamps = self._order.stamps(None).astype(np.uint64)[at]
        known = [x for x in self._acquired.get(position, ()) if np.array_equal(x.writes, writes)]
        self._acquired[position] = [*known, _Acquired(writes, stamps)]

    def is_acquired(self, position: int, writes: NDArray[np.uint64], thread: int) -> bool:
        """Return whether a thread of the wave knows of an acquire after the last writes of the map."""
        for x in self._acquired.get(position, ()):
            if np.array_equal(x.writes, writes):
                if not self._follows:
                    return True
                if not self._order.unordered_for(x.stamps, np.full(len(x.stamps), thread)).all():
                    return True
        return False
