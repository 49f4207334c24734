# SPDX-License-Identifier: MIT
"""What the warps of the blocks that run know of each other: vector clocks, and what barriers hand on."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.lane_order import LaneOrder

__all__ = ["BlockOrder"]

_Mask = NDArray[np.bool_]

NUM_BARRIERS = 17
"""The sixteen barriers of a block, and that of its cluster."""


class BlockOrder:
    """Times of warps, and up to which time of which warp each warp knows all that was done.

    Attributes
    ----------
    warps : int
        Warps of a block.
    now : int32 array (G, W)
        Time of each warp, from 1 on: that of what its threads do now.
    known : int32 array (G, W, W)
        ``known[g, w, v]``: all that threads of warp v did up to this time precedes what any thread of warp w does now;
        of the warp itself (v = w): what its other lanes did.
    """

    def __init__(self, warps: int) -> None:
        self.warps = warps
        self.begin(np.zeros(0, np.int64))

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Let the threads of some blocks begin; nobody knows of anybody."""
        count, warps = len(blocks), self.warps
        self.blocks = np.asarray(blocks, np.int64)
        self.now = np.ones((count, warps), np.int32)
        self.known = np.zeros((count, warps, warps), np.int32)
        self._met = np.einsum("gww->gw", self.known)
        self._row = (np.arange(count * warps, dtype=np.int64) * warps).reshape(count, warps, 1)
        self._told = np.zeros((count, NUM_BARRIERS, warps), np.int32)
        self._lanes: LaneOrder | None = None
        self._stamps: NDArray[np.unsignedinteger] | None = None

    def tick(self, warps: _Mask | None = None) -> None:
        """Let the time of some warps go on, bool (G, W), or of all."""
        self.now += 1 if warps is None else warps
        self._stamps = None

    def tick_of(self, block: int, warp: int) -> None:
        """Let the time of one warp go on."""
        self.now[block, warp] += 1
        self._stamps = None

    def known_times(self, warps: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Look up ``known`` for the thread that stands there, of a warp of its block, (..., G, W, 32)."""
        return self.known.reshape(-1).take(self._row + warps).view(np.uint32)

    def meet_all(self) -> None:
        """All threads of all blocks wait for each other: ``bar.sync 0``."""
        self.known[:] = self.now[:, None, :]
        self.tick()

    def meet(self, number: int, blocks: NDArray[np.int64]) -> None:
        """All threads of some blocks waited for each other at a barrier, those that have exited being done."""
        self.known[blocks] = self.now[blocks][:, None, :]
        self._told[blocks, number] = 0
        self.now[blocks] += 1
        self._stamps = None

    def arrive(self, number: int, who: _Mask, live: _Mask) -> None:
        """Let threads arrive at a barrier of their blocks, with all that they know; what they do next is not told.

        Parameters
        ----------
        number : int
            Of the barrier.
        who : bool array (G, W, 32)
        live : bool array (G, W, 32)
            The threads that have not exited.
        """
        some = np.asarray(who.any(axis=2))
        whole = some & ~(live & ~who).any(axis=2)
        told = np.where(some[:, :, None], self.known, 0).max(axis=1)
        told = np.maximum(told, np.where(whole, self.now, 0))
        np.maximum(self._told[:, number], told, out=self._told[:, number])
        self.tick(some)

    def complete(self, number: int, blocks: NDArray[np.int64], who: _Mask, live: _Mask) -> None:
        """Let threads that waited at a barrier of some blocks know what was told there, and empty it.

        Parameters
        ----------
        number : int
        blocks : int array (n,)
            Positions of blocks in the chunk.
        who, live : bool arrays (G, W, 32)
        """
        some = np.asarray(who.any(axis=2))
        whole = some & ~(live & ~who).any(axis=2)
        mine = np.zeros(whole.shape, np.bool_)
        mine[blocks] = whole[blocks]
        np.maximum(self.known, np.where(mine[:, :, None], self._told[:, number, None, :], 0), out=self.known)
        self._told[blocks, number] = 0

    def meet_lanes(self, who: _Mask | None, masks: NDArray[np.uint32], live: _Mask) -> None:
        """Lanes of warps wait for each other: ``bar.warp.sync``.

        Parameters
        ----------
        who : bool array (G, W, 32), or None
            The lanes that execute it; None for all that are live.
        masks : uint32 array
            The membermask of each, broadcasts to (G, W, 32).
        live : bool array (G, W, 32)
        """
        if who is None and (masks == np.uint32(0xFFFFFFFF)).all():
            self._met[:] = self.now
            return self.tick()
        here = live if who is None else who & live
        lanes = np.arange(32, dtype=np.uint32)
        named = np.bitwise_and.reduce(np.where(here, masks, np.uint32(0xFFFFFFFF)), axis=-1, keepdims=True)
        all_named = ~(live & ((named >> lanes) & np.uint32(1) == 0)).any(axis=-1)
        some = np.asarray(here.any(axis=-1))
        whole = some & all_named & ~(live & ~here).any(axis=-1)
        np.copyto(self._met, self.now, where=whole)
        if (some & ~whole).any():
            if self._lanes is None:
                self._lanes = LaneOrder(self.now.shape)
            self._lanes.meet(here & ~whole[..., None], np.broadcast_to(masks, here.shape), self.now, self._met)
        return self.tick(some)

    @property
    def knows_lanes(self) -> bool:
        """Whether any lane knows what not all of its warp do."""
        return self._lanes is not None

    def lanes_know(
        self, g: NDArray[np.int64], w: NDArray[np.int64], lane: NDArray[np.int64],
        threads: NDArray[np.int64], times: NDArray[np.int64],
    ) -> _Mask:  # fmt: skip
        """Tell which accesses lanes know of: those of threads of the launch, at times."""
        found = np.zeros(len(g), np.bool_)
        if self._lanes is not None:
            same = threads >> 5 == self.blocks[g] * self.warps + w
            found |= same & (times <= self._lanes.known[g, w, lane, threads & 31])
        return found
