# SPDX-License-Identifier: MIT
"""The order that barriers of blocks and of warps establish."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import WARPS
from wmma_emu.ptx.causality.lane_order import LaneOrder
from wmma_emu.ptx.causality.threads import threads_in
from wmma_emu.ptx.causality.wave import Wave

_Mask = NDArray[np.bool_]

NUM_BARRIERS = 16
"""The number of barriers of a block (PTX ISA, barrier)."""

OF_CLUSTER = NUM_BARRIERS
"""The number that stands for the barrier of a cluster, which consists of one block."""


class BlockOrder(Wave):
    """The order that barriers establish, and other operations at which threads of a block arrive and wait."""

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Start the threads of some blocks; no thread has arrived anywhere."""
        super().begin(blocks)
        self._released = np.zeros((len(blocks), NUM_BARRIERS + 1, self.warps), np.int32)
        self._pieces_released: NDArray[np.int64] | None = None

    def meet_all(self) -> None:
        """Order all threads of all blocks by a barrier: ``bar.sync 0``."""
        self.known[:] = self.now[:, None, :]
        self.tick()
        if self._holdings is not None:
            self._holdings.meet_blocks(np.arange(len(self.blocks)))

    def meet(self, number: int, blocks: NDArray[np.int64]) -> None:
        """Order all threads of some blocks by a barrier; threads that have exited do not matter."""
        if not len(blocks):
            return
        self.known[blocks] = self.now[blocks][:, None, :]
        self.now[blocks] += 1
        self._learnt += 1
        self._stamps = None
        self._released[blocks, number] = 0
        if self._pieces_released is not None:
            self._pieces_released[blocks, number] = 0
        if self._holdings is not None:
            self._holdings.meet_blocks(blocks)

    def meet_warpgroups(self, warps: _Mask | None) -> None:
        """Order the warps of each warpgroup that execute a product together, (G, W), None for all.

        The product, which is one operation of four warps, reads shared memory for all of them: it happens before what
        any of the four does later. This is lenient: other accesses of the four warps before it are ordered, too.
        """
        groups = self.warps // WARPS
        executes = np.ones(self.now.shape, np.bool_) if warps is None else warps
        for k in range(groups):
            members = slice(WARPS * k, WARPS * (k + 1))
            together = np.asarray(executes[:, members].all(axis=1))
            met = np.where(together[:, None], self.now[:, members], 0)
            known = self.known[:, members, members]
            known[:] = np.maximum(known, met[:, None, :])
        self.tick(warps)

    def arrive(self, number: int, participants: _Mask, live: _Mask, *, relaxed: bool = False) -> None:
        """Let threads arrive at a barrier of their blocks, and release their earlier accesses there.

        ``relaxed`` threads release only what they knew at a fence.
        """
        released, pieces = self.release(participants, live, relaxed=relaxed)
        np.maximum(self._released[:, number], released, out=self._released[:, number])
        if pieces is not None:
            if self._pieces_released is None:
                self._pieces_released = self.no_pieces(self._released.shape[:2])
            self._pieces_released[:, number] = self.knowledge.join(self._pieces_released[:, number], pieces)

    def release(
        self, participants: _Mask, live: _Mask, *, relaxed: bool = False
    ) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
        """Return what threads release when they arrive somewhere in their block, and advance their times.

        These are times of the warps of each block, (G, W), and pieces of ``knowledge`` in addition to them, (G,), or
        None if there are none.
        """
        if relaxed:
            return np.zeros_like(self.now), self.released_at_fences(participants)
        some, whole = _warps_of(participants, live)
        released = np.where(some[:, :, None], self.known, 0).max(axis=1)
        released = np.maximum(released, np.where(whole, self.now, 0))
        alone = participants & (some & ~whole)[..., None]
        pieces = None
        if self._holdings is not None or alone.any():
            pieces = self._released_pieces(participants, alone)
        self.tick(some)
        return released, pieces

    def released_at_fences(self, participants: _Mask) -> NDArray[np.int64] | None:
        """Return what threads knew at their last fences; this class has no fences."""
        return None

    def _released_pieces(self, participants: _Mask, alone: _Mask) -> NDArray[np.int64]:
        """Return the pieces that threads hold, one for each block.

        They include the accesses of threads that arrive without other lanes of their warp.
        """
        holdings = self.holdings
        released = holdings.held_by(participants)
        at = threads_in(alone)
        if len(at[0]):
            g, pieces = self.knowledge.of_groups(holdings.facts(at), at[0])
            released[g] = self.knowledge.join(released[g], pieces)
        return released

    def complete(self, number: int, blocks: NDArray[np.int64], participants: _Mask, live: _Mask) -> None:
        """Let threads that waited at a barrier of some blocks acquire what was released there, and empty it."""
        if not len(blocks):
            return
        released = np.zeros_like(self._released[:, number])
        released[blocks] = self._released[blocks, number]
        pieces = None
        if self._pieces_released is not None:
            pieces = np.zeros(len(self.blocks), np.int64)
            pieces[blocks] = self._pieces_released[blocks, number]
            self._pieces_released[blocks, number] = 0
        selected = np.zeros(participants.shape, np.bool_)
        selected[blocks] = participants[blocks]
        self._released[blocks, number] = 0
        self.learn(selected, live, released, pieces)

    def learn(
        self, participants: _Mask, live: _Mask, released: NDArray[np.int32], pieces: NDArray[np.int64] | None
    ) -> None:
        """Let threads acquire what was released in their blocks.

        ``released`` are times of the block's warps, (G, W), ``pieces`` are pieces of ``knowledge`` in addition to them,
        (G,).
        """
        some, whole = _warps_of(participants, live)
        self._learnt += 1
        np.maximum(self.known, np.where(whole[:, :, None], released[:, None, :], 0), out=self.known)
        alone = participants & (some & ~whole)[..., None]
        at = threads_in(alone)
        if len(at[0]):
            g = np.unique(at[0])
            rows = np.zeros(len(self.blocks), np.int64)
            rows[g] = self.holdings.rows(g, released[g])
            self.holdings.learn(at, (rows[at[0]], 0 * at[0]))
        if pieces is not None and pieces.any():
            at = threads_in(participants & (pieces != 0).reshape(-1, 1, 1))
            self.holdings.learn(at, (pieces[at[0]], 0 * at[0]))

    def meet_lanes(self, participants: _Mask | None, masks: NDArray[np.uint32], live: _Mask) -> None:
        """Order lanes of warps that wait for each other: ``bar.warp.sync``.

        ``participants`` execute it, None for all ``live`` threads; ``masks`` are the membermasks.
        """
        if participants is None and (masks == np.uint32(0xFFFFFFFF)).all():
            self._met[:] = self.now
            self._meet_group(live)
            return self.tick()
        present = live if participants is None else participants & live
        lanes = np.arange(32, dtype=np.uint32)
        named = np.bitwise_and.reduce(np.where(present, masks, np.uint32(0xFFFFFFFF)), axis=-1, keepdims=True)
        are_all_named = ~(live & ((named >> lanes) & np.uint32(1) == 0)).any(axis=-1)
        some, whole = _warps_of(present, live)
        whole = whole & are_all_named
        np.copyto(self._met, self.now, where=whole)
        self._meet_group(present & whole[..., None])
        if (some & ~whole).any():
            self._meet_some(present & ~whole[..., None], np.broadcast_to(masks, present.shape))
        return self.tick(some)

    def _meet_some(self, participants: _Mask, masks: NDArray[np.uint32]) -> None:
        """Order lanes of a warp that give the same membermask."""
        if self.lane_order is None:
            self.lane_order = LaneOrder(self.now.shape)
        for mask in np.unique(masks[participants]).tolist():
            together = participants & (masks == mask) & ((mask >> np.arange(32)) & 1 == 1)
            self.lane_order.meet(together, self.now, self._met)
            self._meet_group(together)

    def _meet_group(self, together: _Mask) -> None:
        if self._holdings is not None:
            self._holdings.meet_lanes(together)


def _warps_of(participants: _Mask, live: _Mask) -> tuple[_Mask, _Mask]:
    some: _Mask = np.asarray(participants.any(axis=2))
    return some, some & ~(live & ~participants).any(axis=2)
