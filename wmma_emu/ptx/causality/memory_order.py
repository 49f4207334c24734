# SPDX-License-Identifier: MIT
"""The order that strong accesses and fences establish: releases to words of memory, and acquires from them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality.block_order import NUM_BARRIERS, BlockOrder
from wmma_emu.ptx.causality.fences import Fences
from wmma_emu.ptx.causality.gathered import FoundPieces
from wmma_emu.ptx.causality.links import Links
from wmma_emu.ptx.causality.ordering import Ordering
from wmma_emu.ptx.causality.released_words import Operations, ReleasedWords
from wmma_emu.ptx.causality.threads import ThreadIndices, threads_in

MOST_KEPT = 1 << 22
"""The largest number of facts, links and pieces that are kept, of about 30 bytes each.

A launch that releases more discards them, and treats everything before as ordered.
"""

_WORD_BITS = 2
"""A word is four bytes: a read of any byte finds all releases to the word."""


class MemoryOrder(BlockOrder):
    """The order that goes through memory.

    A release pattern is a releasing write, or a fence followed by a strong write; what the thread knew at the first of
    them is stored with the word. An acquire pattern is an acquiring read, or a strong read followed by a fence, or by a
    barrier of the block (PTX ISA 9.1, Release and Acquire Patterns; the barrier is this project's leniency).

    ``uses_memory_order`` is whether the program can release to words at all: if not, strong accesses need not be
    reported.
    """

    def __init__(self, grid_blocks: int, warps: int) -> None:
        self.uses_memory_order = True
        self._words: dict[str, ReleasedWords] = {}
        super().__init__(grid_blocks, warps)

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Start the threads of some blocks; their shared memory is new."""
        super().begin(blocks)
        self._fences: Fences | None = None
        self._fences_released: NDArray[np.int64] | None = None
        if self._words:
            self._words["shared"] = ReleasedWords(self.knowledge)

    @property
    def words(self) -> dict[str, ReleasedWords]:
        """Words of shared and of global memory."""
        if not self._words:
            self._words = {"shared": ReleasedWords(self.knowledge), "global": ReleasedWords(self.knowledge)}
        return self._words

    def fence(self, participants: NDArray[np.bool_], ordering: Ordering) -> None:
        """Let threads execute a fence: ``fence``, ``membar``."""
        at = threads_in(participants)
        if not len(at[0]) or not self.uses_memory_order:
            return
        if ordering.acquires and self._holdings is not None:
            self._holdings.acquire(at, wide=ordering.wide)
        if ordering.releases:
            if self._fences is None:
                self._fences = Fences(self.knowledge, (*self.now.shape, LANES))
            self._fences.execute(at, self.holdings.facts(at, wide=ordering.wide), wide=ordering.wide)
            self.tick(np.asarray(participants.any(axis=-1)), learns=False)
            self._forget_if_much()

    def forget(self) -> None:
        """Treat everything until now as known to all threads, and discard all other knowledge."""
        super().forget()
        self._fences, self._fences_released, self._words = None, None, {}

    def _forget_if_much(self) -> None:
        if self._knowledge is not None and self._knowledge.count > MOST_KEPT:
            self.forget()

    def before_write(self, participants: NDArray[np.bool_]) -> None:
        """Advance the time of threads before a strong write, so that the write is the only access at its time."""
        if self._fences is not None:
            self.tick(np.asarray(participants.any(axis=-1)), learns=False)

    def meet_all(self) -> None:
        """Order all threads of all blocks by a barrier: ``bar.sync 0``."""
        super().meet_all()
        if self._fences is not None:
            self._fences.meet_blocks(np.arange(len(self.blocks)), all_of_them=True)

    def meet(self, number: int, blocks: NDArray[np.int64]) -> None:
        """Order all threads of some blocks by a barrier; threads that have exited do not matter."""
        super().meet(number, blocks)
        if self._fences_released is not None:
            self._fences_released[:, blocks, number] = 0
        if self._fences is not None:
            self._fences.meet_blocks(blocks, all_of_them=len(blocks) == len(self.blocks))

    def arrive(
        self, number: int, participants: NDArray[np.bool_], live: NDArray[np.bool_], *, relaxed: bool = False
    ) -> None:  # fmt: skip
        """Let threads arrive at a barrier of their blocks, see `BlockOrder.arrive`."""
        super().arrive(number, participants, live, relaxed=relaxed)
        if self._fences is not None:
            if self._fences_released is None:
                self._fences_released = np.zeros((2, len(self.blocks), NUM_BARRIERS + 1), np.int64)
            before = self._fences_released[..., number]
            self._fences_released[..., number] = self.knowledge.join(before, self._fences.released(participants))

    def complete(
        self, number: int, blocks: NDArray[np.int64], participants: NDArray[np.bool_], live: NDArray[np.bool_]
    ) -> None:  # fmt: skip
        """Let threads that waited at a barrier of some blocks acquire what was released there, and empty it."""
        super().complete(number, blocks, participants, live)
        if self._fences_released is not None and self._fences_released[:, blocks, number].any():
            at = threads_in(participants & np.isin(np.arange(len(self.blocks)), blocks).reshape(-1, 1, 1))
            if self._fences is not None:
                self._fences.hand(at, self._fences_released[:, at[0], number])
            self._fences_released[:, blocks, number] = 0

    def _meet_group(self, together: NDArray[np.bool_]) -> None:
        super()._meet_group(together)
        if self._fences is not None:
            self._fences.meet_lanes(together)

    def loaded(
        self, space: str, at: ThreadIndices, positions: NDArray[np.int64], size: int, ordering: Ordering
    ) -> None:
        """Let threads find the releases to the words that they read strongly.

        ``space`` is "shared" or "global"; each access begins at one of the positions, and has ``size`` bytes.
        """
        if not self._words or not len(self._words[space]):
            return
        for first in range(0, max(size, 4), 4):
            words = (positions + first) >> _WORD_BITS
            self._found(at, self._words[space].read(words, self.blocks[at[0]], ordering.wide), ordering)

    def stored(
        self, space: str, at: ThreadIndices, positions: NDArray[np.int64], size: int, ordering: Ordering
    ) -> None:
        """Let threads release to the words that they write strongly; the last release remains.

        They release what they know, or knew at a fence.
        """
        if not len(positions) or (self._fences is None and not ordering.releases and not self._words):
            return
        for done in self._operations(at, positions, size, ordering):
            self.words[space].write(done)
        self.tick(_of_warps(at, self.now.shape), learns=False)
        self._forget_if_much()

    def updated(
        self, space: str, at: ThreadIndices, positions: NDArray[np.int64], size: int, ordering: Ordering
    ) -> None:
        """Let threads, in this order, find earlier releases and release themselves, by atomic operations."""
        if not len(positions) or (self._fences is None and not ordering.releases and not self._words):
            return
        for done in self._operations(at, positions, size, ordering):
            found = self.words[space].update(done, reads=ordering.reads)
            if ordering.reads:
                self._found(at, found, ordering)
        self.tick(_of_warps(at, self.now.shape), learns=False)
        self._forget_if_much()

    def released_at_fences(self, participants: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Return what threads knew at their last fences, a piece for each block, (G,); None if there was no fence."""
        return None if self._fences is None else self._fences.released(participants)[0]

    def see_released(
        self, participants: NDArray[np.bool_], released: NDArray[np.int32], pieces: NDArray[np.int64]
    ) -> None:
        """Let threads acquire at their next fence what was released in their blocks."""
        at = threads_in(participants)
        if len(at[0]):
            g = np.unique(at[0])
            found = np.zeros(len(self.blocks), np.int64)
            found[g] = self.holdings.rows(g, released[g], pieces[g])
            self.holdings.see(at, (found[at[0]], 0 * at[0]))

    def _given(self, at: ThreadIndices, threads: NDArray[np.int64], ordering: Ordering) -> Links:
        """Return the facts that strong writes release.

        The first is the fact of the write itself, the others belong to fences before it.
        """
        own = np.zeros((len(threads), 1), np.int64)
        if ordering.releases:
            own[:, 0] = self.holdings.facts(at, wide=ordering.wide)
        if self._fences is None or (ordering.releases and ordering.wide):
            return Links(own, 0 * own)
        fenced = self._fences.links(at, threads, self.now[at[0], at[1]])
        if not ordering.releases:
            return fenced
        return Links(np.hstack((own, fenced.facts)), np.hstack((0 * own, fenced.accesses)))

    def _operations(
        self, at: ThreadIndices, positions: NDArray[np.int64], size: int, ordering: Ordering
    ) -> Iterator[Operations]:  # fmt: skip
        blocks = self.blocks[at[0]]
        threads = (blocks * self.warps + at[1]) * LANES + at[2]
        links = self._given(at, threads, ordering)
        for first in range(0, max(size, 4), 4):
            words = (positions + first) >> _WORD_BITS
            yield Operations(words, blocks, threads, links, ordering.releases, ordering.wide)

    def _found(self, at: ThreadIndices, found: FoundPieces, ordering: Ordering) -> None:
        pieces, sequences = found
        if not pieces.any():
            return
        if ordering.acquires:
            reachable = self.knowledge.reaching(pieces, self.blocks[at[0]], wide=ordering.wide)
            self.holdings.learn(at, (reachable, np.where(reachable == pieces, sequences, 0)))
        else:
            self.holdings.see(at, found)


def _of_warps(at: ThreadIndices, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    out = np.zeros(shape, np.bool_)
    out[at[0], at[1]] = True
    return out
