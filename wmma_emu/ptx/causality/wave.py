# SPDX-License-Identifier: MIT
"""The vector clocks of the warps of a wave, and the knowledge of single lanes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.holdings import Holdings
from wmma_emu.ptx.causality.knowledge import Knowledge
from wmma_emu.ptx.causality.lane_order import LaneOrder
from wmma_emu.ptx.causality.threads import ThreadIndices

_Mask = NDArray[np.bool_]

_LAST = np.int32(2**31 - 1)


class Wave:
    """The blocks that run: times of their warps, and the time up to which each warp knows all accesses of another.

    ``now`` is the time of each warp, (G, W), which starts at 1: the time of what its threads do now. ``known[g, w,
    v]``: all accesses of threads of warp v up to this time happen before what any thread of warp w does now; for the
    warp itself (v = w): all accesses of its other lanes. ``lane_order`` has the additional knowledge of single lanes
    about their warp; it is made on first use.
    """

    def __init__(self, grid_blocks: int, warps: int) -> None:
        self.warps = warps
        self._grid_blocks = grid_blocks
        self._is_begun = np.zeros(grid_blocks, np.bool_)
        self._knowledge: Knowledge | None = None
        self._holdings: Holdings | None = None
        self._learnt = 0
        self._past: NDArray[np.int32] | None = None
        self.begin(np.zeros(0, np.int64))

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Start the threads of some blocks, without any knowledge of other threads."""
        count, warps = len(blocks), self.warps
        self._learnt = self.changes + 1
        self.blocks = np.asarray(blocks, np.int64)
        self._is_begun[self.blocks] = True
        self.now = np.ones((count, warps), np.int32)
        self.known = np.zeros((count, warps, warps), np.int32)
        self._met = np.einsum("gww->gw", self.known)
        self._row = (np.arange(count * warps, dtype=np.int64) * warps).reshape(count, warps, 1)
        self.lane_order: LaneOrder | None = None
        self._holdings = None
        self._pieces: list[NDArray[np.int64]] = []
        self._stamps: NDArray[Any] | None = None

    def tick(self, warps: _Mask | None = None, *, learns: bool = True) -> None:
        """Advance the time of some warps, bool (G, W), or of all; ``learns`` is whether they acquire knowledge."""
        self.now += 1 if warps is None else warps
        self._learnt += learns
        self._stamps = None

    def known_times(self, warps: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return ``known`` of a warp of its block for the thread at each index, (..., G, W, 32)."""
        return self.known.reshape(-1).take(self._row + warps).view(np.uint32)

    @property
    def changes(self) -> int:
        """A number that grows whenever a thread of the wave may have acquired knowledge."""
        held = 0 if self._holdings is None else self._holdings.changes
        return self._learnt + held

    def know_others(self, threads: NDArray[np.int64]) -> _Mask:
        """Return which threads of the wave, counted from 0, may know of accesses of other blocks."""
        if self._past is not None:
            return np.ones(len(threads), np.bool_)
        if self._holdings is None:
            return np.zeros(len(threads), np.bool_)
        return self._holdings.hold_any(threads)

    @property
    def knowledge(self) -> Knowledge:
        """The knowledge of this launch in addition to the clocks of blocks."""
        if self._knowledge is None:
            self._knowledge = Knowledge(self._grid_blocks, self.warps)
        return self._knowledge

    @property
    def holdings(self) -> Holdings:
        """The knowledge of single threads of the wave."""
        if self._holdings is None:
            self._holdings = Holdings(self.knowledge, self)
        return self._holdings

    @property
    def holdings_so_far(self) -> Holdings | None:
        """The knowledge of single threads, None if there is none yet."""
        return self._holdings

    def no_pieces(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return an array for pieces of ``knowledge``, which is cleared when the knowledge is discarded."""
        self._pieces.append(np.zeros(shape, np.int64))
        return self._pieces[-1]

    def forget(self) -> None:
        """Treat everything until now as known to all threads, and discard all other knowledge."""
        if self._past is None:
            self._past = np.zeros((self._grid_blocks, self.warps), np.int32)
        self._past[self._is_begun] = _LAST
        self._past[self.blocks] = self.now
        self._learnt = self.changes + 1
        self._knowledge = self._holdings = None
        for pieces in self._pieces:
            pieces[:] = 0
        self.tick()

    @property
    def knows_lanes(self) -> bool:
        """Whether any lane may know of accesses of which not all lanes of its warp know."""
        return self.lane_order is not None or self._holdings is not None or self._past is not None

    def lanes_know(self, at: ThreadIndices, threads: NDArray[np.int64], times: NDArray[np.int64]) -> _Mask:
        """Return which accesses lanes know, given by thread of the launch and time."""
        found = np.zeros(len(threads), np.bool_)
        if self._past is not None:
            found |= times <= self._past.reshape(-1)[threads >> 5]
        if self.lane_order is not None:
            g, w, lane = at
            same = threads >> 5 == self.blocks[g] * self.warps + w
            found |= same & (times <= self.lane_order.known[lane, threads & 31, g, w])
        if self._holdings is not None:
            found |= self._holdings.know(at, threads, times)
        return found
