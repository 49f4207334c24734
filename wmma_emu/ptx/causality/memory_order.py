# SPDX-License-Identifier: MIT
"""What strong accesses and fences order: releases to words of memory, and those who acquire from them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality.block_order import NUM_BARRIERS, BlockOrder
from wmma_emu.ptx.causality.fences import Fences
from wmma_emu.ptx.causality.gathered import Found
from wmma_emu.ptx.causality.links import Links
from wmma_emu.ptx.causality.ordering import Ordering
from wmma_emu.ptx.causality.threads import At, threads_in
from wmma_emu.ptx.causality.words import Operations, Words

MOST_KEPT = 1 << 22
"""Facts, links and pieces that are kept, of some 30 bytes each: a launch in which more is released forgets them, and
takes what came before as ordered."""

_WORD_BITS = 2
"""A word is four bytes: what is released there is found by whoever reads any of them."""


class MemoryOrder(BlockOrder):
    """The order that goes through memory.

    A release pattern is a releasing write, or a fence and a strong write behind it; what the thread knew at the
    first of them is kept at the word. An acquire pattern is an acquiring read, or a strong read and a fence behind it,
    or a barrier of the block (PTX ISA 9.1, Release and Acquire Patterns; the barrier is this project's leniency).

    ``is_released_to`` is whether the program can release to words at all: if not, strong accesses need not be told.
    """

    def __init__(self, grid_blocks: int, warps: int) -> None:
        self.is_released_to = True
        self._words: dict[str, Words] = {}
        super().__init__(grid_blocks, warps)

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Let the threads of some blocks begin; shared memory is new."""
        super().begin(blocks)
        self._fences: Fences | None = None
        self._told_fences: NDArray[np.int64] | None = None
        if self._words:
            self._words["shared"] = Words(self.knowledge)

    @property
    def words(self) -> dict[str, Words]:
        """Words of shared and of global memory."""
        if not self._words:
            self._words = {"shared": Words(self.knowledge), "global": Words(self.knowledge)}
        return self._words

    def fence(self, who: NDArray[np.bool_], ordering: Ordering) -> None:
        """Let threads execute a fence: ``fence``, ``membar``."""
        at = threads_in(who)
        if not len(at[0]) or not self.is_released_to:
            return
        if ordering.acquires and self._holdings is not None:
            self._holdings.acquire(at, wide=ordering.wide)
        if ordering.releases:
            if self._fences is None:
                self._fences = Fences(self.knowledge, (*self.now.shape, LANES))
            self._fences.execute(at, self.holdings.facts(at, wide=ordering.wide), wide=ordering.wide)
            self.tick(np.asarray(who.any(axis=-1)), learns=False)
            self._forget_if_much()

    def forget(self) -> None:
        """Take all that was done until now as known to everyone, and keep nothing else of what was handed on."""
        super().forget()
        self._fences, self._told_fences, self._words = None, None, {}

    def _forget_if_much(self) -> None:
        if self._knowledge is not None and self._knowledge.count > MOST_KEPT:
            self.forget()

    def before_write(self, who: NDArray[np.bool_]) -> None:
        """Let the time of threads go on before a strong write, so that it is alone at its own."""
        if self._fences is not None:
            self.tick(np.asarray(who.any(axis=-1)), learns=False)

    def meet_all(self) -> None:
        """All threads of all blocks wait for each other: ``bar.sync 0``."""
        super().meet_all()
        if self._fences is not None:
            self._fences.meet_blocks(np.arange(len(self.blocks)), all_of_them=True)

    def meet(self, number: int, blocks: NDArray[np.int64]) -> None:
        """All threads of some blocks waited for each other at a barrier, those that have exited being done."""
        super().meet(number, blocks)
        if self._told_fences is not None:
            self._told_fences[:, blocks, number] = 0
        if self._fences is not None:
            self._fences.meet_blocks(blocks, all_of_them=len(blocks) == len(self.blocks))

    def arrive(
        self, number: int, who: NDArray[np.bool_], live: NDArray[np.bool_], *, relaxed: bool = False
    ) -> None:  # fmt: skip
        """Let threads arrive at a barrier of their blocks, see `BlockOrder.arrive`."""
        super().arrive(number, who, live, relaxed=relaxed)
        if self._fences is not None:
            if self._told_fences is None:
                self._told_fences = np.zeros((2, len(self.blocks), NUM_BARRIERS + 1), np.int64)
            mine = self._told_fences[..., number]
            self._told_fences[..., number] = self.knowledge.join(mine, self._fences.told(who))

    def complete(
        self, number: int, blocks: NDArray[np.int64], who: NDArray[np.bool_], live: NDArray[np.bool_]
    ) -> None:  # fmt: skip
        """Let threads that waited at a barrier of some blocks know what was told there, and empty it."""
        super().complete(number, blocks, who, live)
        if self._told_fences is not None and self._told_fences[:, blocks, number].any():
            at = threads_in(who & np.isin(np.arange(len(self.blocks)), blocks).reshape(-1, 1, 1))
            if self._fences is not None:
                self._fences.hand(at, self._told_fences[:, at[0], number])
            self._told_fences[:, blocks, number] = 0

    def _meet_group(self, together: NDArray[np.bool_]) -> None:
        super()._meet_group(together)
        if self._fences is not None:
            self._fences.meet_lanes(together)

    def loaded(self, space: str, at: At, positions: NDArray[np.int64], size: int, ordering: Ordering) -> None:
        """Let threads find what was released where they read strongly.

        ``space`` is "shared" or "global"; each access begins at one of the positions, and is of ``size`` bytes.
        """
        if not self._words or not len(self._words[space]):
            return
        for first in range(0, max(size, 4), 4):
            words = (positions + first) >> _WORD_BITS
            self._found(at, self._words[space].read(words, self.blocks[at[0]], ordering.wide), ordering)

    def stored(self, space: str, at: At, positions: NDArray[np.int64], size: int, ordering: Ordering) -> None:
        """Let threads release what they know, or knew at a fence, where they wrote strongly; the last one stays."""
        if not len(positions) or (self._fences is None and not ordering.releases and not self._words):
            return
        for done in self._operations(at, positions, size, ordering):
            self.words[space].write(done)
        self.tick(_of_warps(at, self.now.shape), learns=False)
        self._forget_if_much()

    def updated(self, space: str, at: At, positions: NDArray[np.int64], size: int, ordering: Ordering) -> None:
        """Let threads, in this order, find what was released and release themselves, by atomic operations."""
        if not len(positions) or (self._fences is None and not ordering.releases and not self._words):
            return
        for done in self._operations(at, positions, size, ordering):
            found = self.words[space].update(done, reads=ordering.reads)
            if ordering.reads:
                self._found(at, found, ordering)
        self.tick(_of_warps(at, self.now.shape), learns=False)
        self._forget_if_much()

    def told_at_fences(self, who: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """What threads knew at their last fences, a piece for each block, (G,); None where there was none."""
        return None if self._fences is None else self._fences.told(who)[0]

    def see_told(self, who: NDArray[np.bool_], told: NDArray[np.int32], pieces: NDArray[np.int64]) -> None:
        """Let threads acquire at their next fence what was told in their blocks."""
        at = threads_in(who)
        if len(at[0]):
            g = np.unique(at[0])
            found = np.zeros(len(self.blocks), np.int64)
            found[g] = self.holdings.rows(g, told[g], pieces[g])
            self.holdings.see(at, (found[at[0]], 0 * at[0]))

    def _given(self, at: At, threads: NDArray[np.int64], ordering: Ordering) -> Links:
        """The facts that strong writes release: of the write itself, the first, and of the fences before it."""
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
        self, at: At, positions: NDArray[np.int64], size: int, ordering: Ordering
    ) -> Iterator[Operations]:  # fmt: skip
        blocks = self.blocks[at[0]]
        threads = (blocks * self.warps + at[1]) * LANES + at[2]
        links = self._given(at, threads, ordering)
        for first in range(0, max(size, 4), 4):
            words = (positions + first) >> _WORD_BITS
            yield Operations(words, blocks, threads, links, ordering.releases, ordering.wide)

    def _found(self, at: At, found: Found, ordering: Ordering) -> None:
        pieces, sequences = found
        if not pieces.any():
            return
        if ordering.acquires:
            reached = self.knowledge.reaching(pieces, self.blocks[at[0]], wide=ordering.wide)
            self.holdings.learn(at, (reached, np.where(reached == pieces, sequences, 0)))
        else:
            self.holdings.see(at, found)


def _of_warps(at: At, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    out = np.zeros(shape, np.bool_)
    out[at[0], at[1]] = True
    return out
