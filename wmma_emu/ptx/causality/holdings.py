# SPDX-License-Identifier: MIT
"""Knowledge of single threads beyond that of their warps: pieces of knowledge that they hold."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.gathered import FoundPieces, GatheredPieces
from wmma_emu.ptx.causality.knowledge import Knowledge
from wmma_emu.ptx.causality.lane_order import LaneOrder
from wmma_emu.ptx.causality.threads import ThreadIndices, threads_in

_Mask = NDArray[np.bool_]
_Ids = NDArray[np.int64]


class Clocks(Protocol):
    """The vector clocks from which the facts of a thread are made."""

    blocks: NDArray[np.int64]
    now: NDArray[np.int32]
    known: NDArray[np.int32]
    lane_order: LaneOrder | None


class Holdings:
    """The pieces of knowledge that the threads of a wave hold, and those that they have only seen.

    A piece that a strong read finds without acquiring is *seen*: a fence, or a barrier of the block, acquires it.
    """

    def __init__(self, knowledge: Knowledge, clocks: Clocks) -> None:
        self.knowledge, self._clocks = knowledge, clocks
        self._shape = (*clocks.now.shape, 32)
        self._held = GatheredPieces(knowledge, self._shape)
        self._seen = GatheredPieces(knowledge, self._shape)

    @property
    def changes(self) -> int:
        """The number of times that threads acquired knowledge."""
        return self._held.changes

    def hold_any(self, threads: NDArray[np.int64]) -> _Mask:
        """Return which threads, counted through the wave, hold any piece."""
        return self._held.have_any(threads)

    def facts(self, at: ThreadIndices, *, wide: bool = False) -> _Ids:
        """Record what threads know now, as facts."""
        g, w, lane = at
        clocks, knowledge = self._clocks, self.knowledge
        block = clocks.blocks[g]
        warps, back = np.unique(g * self._shape[1] + w, return_inverse=True)
        back = back.reshape(-1)
        of, at_warp = np.divmod(warps, self._shape[1])
        rows = knowledge.rows(clocks.blocks[of], clocks.known[of, at_warp])[back]
        lanes: _Ids | int = 0
        if clocks.lane_order is not None:
            lanes = knowledge.lanes(clocks.lane_order.of(g, w, lane))
        threads = (block * self._shape[1] + w) * 32 + lane
        return knowledge.facts(threads, clocks.now[g, w], rows, lanes, self._held.of(at), wide=wide)

    def rows(self, g: NDArray[np.int64], times: NDArray[np.int32], held: _Ids | int = 0) -> _Ids:
        """Make pieces of the known times of the warps of some blocks of the wave, (n, W), with the pieces ``held``."""
        knowledge, blocks = self.knowledge, self._clocks.blocks[g]
        rows = knowledge.rows(blocks, times)
        first = blocks * self._shape[1] * 32
        return knowledge.pieces(knowledge.facts(first, np.zeros(len(g), np.int32), rows, held=held))

    def learn(self, at: ThreadIndices, found: FoundPieces) -> None:
        """Let threads hold another piece each."""
        self._held.add(at, found)

    def see(self, at: ThreadIndices, found: FoundPieces) -> None:
        """Record the pieces that threads found in a strong read that does not acquire."""
        self._seen.add(at, found)

    def acquire(self, at: ThreadIndices, *, wide: bool) -> None:
        """Let threads hold the pieces that they have seen, if the scopes of release and acquire include each other."""
        if self._seen.is_empty:
            return
        pieces, (last, sequences) = self._seen.parts(at)
        blocks = self._clocks.blocks[at[0]]
        reachable = self.knowledge.reaching(pieces, blocks, wide=wide)
        self.learn(at, (reachable, 0 * sequences))
        last_reachable = self.knowledge.reaching(last, blocks, wide=wide)
        self.learn(at, (last_reachable, np.where(last_reachable == last, sequences, 0)))

    def held_by(self, participants: _Mask) -> _Ids:
        """Return what the threads of a mask hold together, a piece for each block of the wave, (G,)."""
        at = threads_in(participants)
        self.acquire(at, wide=True)
        held = np.zeros(self._shape, np.int64)
        held[at] = self._held.of(at)
        return self._joined(held.reshape(len(held), -1))

    def meet_blocks(self, blocks: NDArray[np.int64]) -> None:
        """Let all threads of some blocks hold what each of them does; accesses of the same block are all known."""
        if self._held.is_empty and self._seen.is_empty:
            return
        mask = np.zeros(self._shape, np.bool_)
        mask[blocks] = True
        at = threads_in(mask)
        self.acquire(at, wide=True)
        held = np.zeros(self._shape, np.int64)
        held[at] = self._held.of(at)
        held[self.knowledge.is_about(held, self._clocks.blocks.reshape(-1, 1, 1))] = 0
        self._held.put(at, self._joined(held.reshape(len(held), -1))[at[0]])
        self._seen.put(at, 0 * at[0])

    def meet_lanes(self, together: _Mask) -> None:
        """Let the lanes of a mask, of each warp, hold what each of them does."""
        if self._held.is_empty:
            return
        at = threads_in(together)
        held = np.zeros(self._shape, np.int64)
        held[at] = self._held.of(at)
        least = np.where(together, held, np.iinfo(np.int64).max).min(axis=-1)
        differ = together & (held.max(axis=-1) != least)[..., None] & together.any(axis=-1, keepdims=True)
        if differ.any():
            joined = self._joined(held.reshape(-1, 32)).reshape(*self._shape[:2], 1)
            at = threads_in(differ)
            self._held.put(at, np.broadcast_to(joined, self._shape)[at])

    def _joined(self, held: _Ids) -> _Ids:
        most: _Ids = held.max(axis=1)
        several = ((held != 0) & (held != most[:, None])).any(axis=1)
        for i in np.flatnonzero(several).tolist():
            most[i] = self.knowledge.join_all(np.unique(held[i]).tolist())
        return most

    def know(self, at: ThreadIndices, threads: NDArray[np.int64], times: NDArray[np.int64]) -> _Mask:
        """Return which accesses the threads know: one each, of a thread of the launch at a time."""
        if self._held.is_empty:
            return np.zeros(len(threads), np.bool_)
        return self.pieces_contain(self._held.of(at), threads, times)

    def of(self, at: ThreadIndices) -> _Ids:
        """Return the pieces that threads hold, 0 for none."""
        return np.zeros(len(at[0]), np.int64) if self._held.is_empty else self._held.of(at)

    def pieces_contain(self, held: _Ids, threads: NDArray[np.int64], times: NDArray[np.int64]) -> _Mask:
        """Return which accesses are known in the piece that is given for each."""
        found = np.zeros(len(threads), np.bool_)
        for piece in np.unique(held).tolist():
            if piece:
                selected = held == piece
                found[selected] = self.knowledge.flat(piece).knows(threads[selected], times[selected])
        return found
