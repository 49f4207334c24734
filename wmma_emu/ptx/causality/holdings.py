# SPDX-License-Identifier: MIT
"""What single threads know of others beyond what their warps do: pieces of knowledge that they hold."""

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.knowledge import Knowledge
from wmma_emu.ptx.causality.lane_order import LaneOrder

__all__ = ["At", "Clocks", "Holdings", "threads_in"]

_Mask = NDArray[np.bool_]
_Ids = NDArray[np.int64]

At = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Threads of the chunk: positions of their blocks, their warps, their lanes."""


def threads_in(mask: _Mask) -> At:
    """List the threads of a mask, (..., G, W, 32), by block, warp and lane."""
    g, w, lane = np.nonzero(mask)[-3:]
    return g, w, lane


class Clocks(Protocol):
    """What the facts of a thread are made of."""

    blocks: NDArray[np.int64]
    now: NDArray[np.int32]
    known: NDArray[np.int32]
    lane_order: LaneOrder | None


class Holdings:
    """The pieces of knowledge that the threads of a chunk hold, and those that they have only seen.

    What a strong read that does not acquire finds is *seen*: a fence, or a barrier of the block, acquires it.

    Attributes
    ----------
    held : int64 array (G, W, 32)
        Pieces of ``knowledge``; 0 is none.
    changes : int
        How often threads came to hold more.
    """

    def __init__(self, knowledge: Knowledge, clocks: Clocks) -> None:
        self.knowledge, self._clocks = knowledge, clocks
        shape = (*clocks.now.shape, 32)
        self.held = np.zeros(shape, np.int64)
        self._seen = np.zeros(shape, np.int64)
        self._learnt = np.zeros(shape, np.int64)
        self.changes = 0

    def facts(self, at: At, *, wide: bool = False) -> _Ids:
        """Note what threads know now, as facts."""
        g, w, lane = at
        clocks, knowledge = self._clocks, self.knowledge
        block = clocks.blocks[g]
        warps, back = np.unique(g * self.held.shape[1] + w, return_inverse=True)
        back = back.reshape(-1)
        of, at_warp = np.divmod(warps, self.held.shape[1])
        rows = knowledge.rows(clocks.blocks[of], clocks.known[of, at_warp])[back]
        lanes: _Ids | int = 0
        if clocks.lane_order is not None:
            lanes = knowledge.lanes(clocks.lane_order.of(g, w, lane))
        threads = (block * self.held.shape[1] + w) * 32 + lane
        return knowledge.facts(threads, clocks.now[g, w], rows, lanes, self.held[g, w, lane], wide=wide)

    def rows(self, g: NDArray[np.int64], times: NDArray[np.int32], held: _Ids | int = 0) -> _Ids:
        """Make pieces of what is known of the warps of some blocks of the chunk, (n, W), with pieces beside."""
        knowledge, blocks = self.knowledge, self._clocks.blocks[g]
        rows = knowledge.rows(blocks, times)
        first = blocks * self.held.shape[1] * 32
        return knowledge.pieces(knowledge.facts(first, np.zeros(len(g), np.int32), rows, held=held))

    def learn(self, at: At, pieces: _Ids) -> None:
        """Let threads hold a piece each, beside what they hold."""
        if (pieces != self._learnt[at]).any():
            self.changes += 1
            self.held[at] = self.knowledge.join(self.held[at], np.where(pieces == self._learnt[at], 0, pieces))
            self._learnt[at] = pieces

    def see(self, at: At, pieces: _Ids) -> None:
        """Note what threads found in a strong read that does not acquire."""
        if pieces.any():
            self._seen[at] = self.knowledge.join(self._seen[at], pieces)

    def acquire(self, at: At, *, wide: bool) -> None:
        """Let threads hold what they have seen, as far as the scopes of those who released it and theirs reach."""
        seen = self._seen[at]
        if not seen.any():
            return
        reached = self.knowledge.reaching(seen, self._clocks.blocks[at[0]], wide=wide)
        self.learn(at, reached)
        self._seen[at] = np.where(reached == seen, 0, seen)

    def told_by(self, who: _Mask) -> _Ids:
        """What the threads of a mask hold together, a piece for each block of the chunk, (G,)."""
        self.acquire(threads_in(who), wide=True)
        out = np.zeros(len(self.held), np.int64)
        held = np.where(who, self.held, 0)
        for g in np.flatnonzero(held.any(axis=(1, 2))).tolist():
            out[g] = self.knowledge.join_all(np.unique(held[g]).tolist())
        return out

    def meet_blocks(self, blocks: NDArray[np.int64]) -> None:
        """Let all threads of some blocks hold what each of them does; of their own block, all is known."""
        mask = np.zeros(self.held.shape, np.bool_)
        mask[blocks] = True
        if not (self.held.any() or self._seen.any()):
            return
        self.acquire(threads_in(mask), wide=True)
        own = self._clocks.blocks.reshape(-1, 1, 1)
        self.held[mask & self.knowledge.is_about(self.held, own)] = 0
        self.held[blocks] = self.told_by(mask)[blocks].reshape(-1, 1, 1)

    def meet_lanes(self, together: _Mask) -> None:
        """Let the lanes of a mask, of each warp, hold what each of them does."""
        held = np.where(together, self.held, 0)
        high = held.max(axis=-1)
        differ = high != np.where(together, self.held, np.iinfo(np.int64).max).min(axis=-1)
        for g, w in np.argwhere(differ & (high > 0)).tolist():
            self.held[g, w, together[g, w]] = self.knowledge.join_all(np.unique(held[g, w]).tolist())

    def know(self, at: At, threads: NDArray[np.int64], times: NDArray[np.int64]) -> _Mask:
        """Tell which accesses the threads know of: one each, of a thread of the launch at a time."""
        held = self.held[at]
        found = np.zeros(len(held), np.bool_)
        for piece in _some(held):
            mine = held == piece
            found[mine] = self.knowledge.flat(piece).knows(threads[mine], times[mine])
        return found


def _some(pieces: _Ids) -> Iterable[int]:
    return [x for x in np.unique(pieces).tolist() if x]
