# SPDX-License-Identifier: MIT
"""What barriers of blocks and of warps order."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.lane_order import LaneOrder
from wmma_emu.ptx.causality.threads import threads_in
from wmma_emu.ptx.causality.wave import Wave

_Mask = NDArray[np.bool_]

NUM_BARRIERS = 16
"""PTX ISA, barrier: a block has sixteen."""

OF_CLUSTER = NUM_BARRIERS
"""The number that the barrier of a cluster, of one block, has among them."""


class BlockOrder(Wave):
    """The order that barriers make, and whatever else threads of a block arrive at and wait for."""

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Let the threads of some blocks begin; nobody has arrived anywhere."""
        super().begin(blocks)
        self._told = np.zeros((len(blocks), NUM_BARRIERS + 1, self.warps), np.int32)
        self._told_pieces: NDArray[np.int64] | None = None

    def meet_all(self) -> None:
        """All threads of all blocks wait for each other: ``bar.sync 0``."""
        self.known[:] = self.now[:, None, :]
        self.tick()
        if self._holdings is not None:
            self._holdings.meet_blocks(np.arange(len(self.blocks)))

    def meet(self, number: int, blocks: NDArray[np.int64]) -> None:
        """All threads of some blocks waited for each other at a barrier, those that have exited being done."""
        if not len(blocks):
            return
        self.known[blocks] = self.now[blocks][:, None, :]
        self.now[blocks] += 1
        self._learnt += 1
        self._stamps = None
        self._told[blocks, number] = 0
        if self._told_pieces is not None:
            self._told_pieces[blocks, number] = 0
        if self._holdings is not None:
            self._holdings.meet_blocks(blocks)

    def arrive(self, number: int, who: _Mask, live: _Mask, *, relaxed: bool = False) -> None:
        """Let threads arrive at a barrier of their blocks, with all that they know; what they do next is not told.

        ``relaxed`` threads hand on only what they knew at a fence.
        """
        told, pieces = self.tell(who, live, relaxed=relaxed)
        np.maximum(self._told[:, number], told, out=self._told[:, number])
        if pieces is not None:
            if self._told_pieces is None:
                self._told_pieces = self.no_pieces(self._told.shape[:2])
            self._told_pieces[:, number] = self.knowledge.join(self._told_pieces[:, number], pieces)

    def tell(
        self, who: _Mask, live: _Mask, *, relaxed: bool = False
    ) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
        """What threads hand on that arrive somewhere in their block; their times go on.

        Times of the warps of each block, (G, W); and pieces of ``knowledge`` that go beyond these, (G,), or None where
        nothing does.
        """
        if relaxed:
            return np.zeros_like(self.now), self.told_at_fences(who)
        some, whole = _warps_of(who, live)
        told = np.where(some[:, :, None], self.known, 0).max(axis=1)
        told = np.maximum(told, np.where(whole, self.now, 0))
        alone = who & (some & ~whole)[..., None]
        pieces = None
        if self._holdings is not None or alone.any():
            pieces = self._told_beside(who, alone)
        self.tick(some)
        return told, pieces

    def told_at_fences(self, who: _Mask) -> NDArray[np.int64] | None:
        """What threads knew at their last fences; there are none here."""
        return None

    def _told_beside(self, who: _Mask, alone: _Mask) -> NDArray[np.int64]:
        """What threads hold, a piece for each block, and what those did that come without lanes of their warp."""
        holdings = self.holdings
        told = holdings.told_by(who)
        at = threads_in(alone)
        if len(at[0]):
            g, pieces = self.knowledge.of_groups(holdings.facts(at), at[0])
            told[g] = self.knowledge.join(told[g], pieces)
        return told

    def complete(self, number: int, blocks: NDArray[np.int64], who: _Mask, live: _Mask) -> None:
        """Let threads that waited at a barrier of some blocks know what was told there, and empty it."""
        if not len(blocks):
            return
        told = np.zeros_like(self._told[:, number])
        told[blocks] = self._told[blocks, number]
        pieces = None
        if self._told_pieces is not None:
            pieces = np.zeros(len(self.blocks), np.int64)
            pieces[blocks] = self._told_pieces[blocks, number]
            self._told_pieces[blocks, number] = 0
        mine = np.zeros(who.shape, np.bool_)
        mine[blocks] = who[blocks]
        self._told[blocks, number] = 0
        self.learn(mine, live, told, pieces)

    def learn(self, who: _Mask, live: _Mask, told: NDArray[np.int32], pieces: NDArray[np.int64] | None) -> None:
        """Let threads know what was told in their blocks.

        ``told`` are times of the block's warps, (G, W), ``pieces`` are of ``knowledge``, beside these, (G,).
        """
        some, whole = _warps_of(who, live)
        self._learnt += 1
        np.maximum(self.known, np.where(whole[:, :, None], told[:, None, :], 0), out=self.known)
        alone = who & (some & ~whole)[..., None]
        at = threads_in(alone)
        if len(at[0]):
            g = np.unique(at[0])
            rows = np.zeros(len(self.blocks), np.int64)
            rows[g] = self.holdings.rows(g, told[g])
            self.holdings.learn(at, (rows[at[0]], 0 * at[0]))
        if pieces is not None and pieces.any():
            at = threads_in(who & (pieces != 0).reshape(-1, 1, 1))
            self.holdings.learn(at, (pieces[at[0]], 0 * at[0]))

    def meet_lanes(self, who: _Mask | None, masks: NDArray[np.uint32], live: _Mask) -> None:
        """Lanes of warps wait for each other: ``bar.warp.sync``.

        ``who`` executes it, None for all that are ``live``; ``masks`` are the membermasks.
        """
        if who is None and (masks == np.uint32(0xFFFFFFFF)).all():
            self._met[:] = self.now
            self._meet_group(live)
            return self.tick()
        here = live if who is None else who & live
        lanes = np.arange(32, dtype=np.uint32)
        named = np.bitwise_and.reduce(np.where(here, masks, np.uint32(0xFFFFFFFF)), axis=-1, keepdims=True)
        all_named = ~(live & ((named >> lanes) & np.uint32(1) == 0)).any(axis=-1)
        some, whole = _warps_of(here, live)
        whole = whole & all_named
        np.copyto(self._met, self.now, where=whole)
        self._meet_group(here & whole[..., None])
        if (some & ~whole).any():
            self._meet_some(here & ~whole[..., None], np.broadcast_to(masks, here.shape))
        return self.tick(some)

    def _meet_some(self, who: _Mask, masks: NDArray[np.uint32]) -> None:
        """Lanes wait for those of their warp that give the same membermask."""
        if self.lane_order is None:
            self.lane_order = LaneOrder(self.now.shape)
        for mask in np.unique(masks[who]).tolist():
            together = who & (masks == mask) & ((mask >> np.arange(32)) & 1 == 1)
            self.lane_order.meet(together, self.now, self._met)
            self._meet_group(together)

    def _meet_group(self, together: _Mask) -> None:
        if self._holdings is not None:
            self._holdings.meet_lanes(together)


def _warps_of(who: _Mask, live: _Mask) -> tuple[_Mask, _Mask]:
    some: _Mask = np.asarray(who.any(axis=2))
    return some, some & ~(live & ~who).any(axis=2)
