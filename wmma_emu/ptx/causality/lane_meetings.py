# SPDX-License-Identifier: MIT
"""Lanes that waited for each other in an instruction that orders execution, and does not order memory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES

_KEPT = 8
"""Meetings of each warp that are remembered."""


class LaneMeetings:
    """The last shuffles, votes, matches and reductions of each warp: their times, and the lanes that met.

    Examples
    --------
    >>> meetings = LaneMeetings((1, 1))
    >>> meetings.note(np.full((1, 1, LANES), 0b110, np.uint32), np.array([[5]], np.int32)).tolist()
    [[True]]
    >>> [(time.tolist(), lanes.tolist()) for time, lanes in meetings.since(*np.array([[0], [0], [1], [4]]))]
    [([5], [6])]
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._times = np.zeros((_KEPT, *shape), np.int64)
        self._lanes = np.zeros((_KEPT, *shape, LANES), np.uint32)
        self._counts = np.zeros(shape, np.int64)

    def note(self, together: NDArray[np.uint32], now: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Record with which lanes each lane met, 0 for lanes that did not, at times (G, W); return the warps."""
        full = np.broadcast_to(together, (*self._counts.shape, LANES))
        warps = full.any(axis=-1)
        g, w = np.nonzero(warps)
        slot = self._counts[g, w] % _KEPT
        self._times[slot, g, w], self._lanes[slot, g, w] = now[g, w], full[g, w]
        self._counts[g, w] += 1
        return np.asarray(warps)

    def since(
        self, g: NDArray[np.int64], w: NDArray[np.int64], lane: NDArray[np.int64], times: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
        """Yield the time and the lanes of each meeting of some lanes after some times; no lanes if there was none."""
        for slot in range(_KEPT):
            at, lanes = self._times[slot, g, w], self._lanes[slot, g, w, lane]
            is_after = at >= times
            if (is_after & (lanes != 0)).any():
                yield at, np.where(is_after, lanes, np.uint32(0))
