# SPDX-License-Identifier: MIT
"""What strong accesses and fences order: releases to words of memory, and those who acquire from them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.block_order import BlockOrder
from wmma_emu.ptx.causality.holdings import At, threads_in
from wmma_emu.ptx.causality.knowledge import Links
from wmma_emu.ptx.causality.ordering import Ordering
from wmma_emu.ptx.causality.words import Operations, Words

__all__ = ["MemoryOrder"]

_NEAR, _FAR = 0, 1
"""Fences of any scope, and those whose scope reaches beyond the block."""

_WORD_BITS = 2
"""A word is four bytes: what is released there is found by whoever reads any of them."""


class MemoryOrder(BlockOrder):
    """The order that goes through memory.

    A release pattern is a releasing write, or a fence and a strong write behind it; what the thread knew at the
    first of them is kept at the word. An acquire pattern is an acquiring read, or a strong read and a fence behind it,
    or a barrier of the block (PTX ISA 9.1, Release and Acquire Patterns; the barrier is this project's leniency).

    Attributes
    ----------
    is_released_to : bool
        Whether the program can release to words at all. If not, strong accesses need not be told.
    """

    def __init__(self, grid_blocks: int, warps: int) -> None:
        self.is_released_to = True
        self._words: dict[str, Words] = {}
        super().__init__(grid_blocks, warps)

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Let the threads of some blocks begin; shared memory is new."""
        super().begin(blocks)
        self._fenced: NDArray[np.int64] | None = None
        if self._words:
            self._words["shared"] = Words(self.knowledge)

    @property
    def words(self) -> dict[str, Words]:
        """Words of shared and of global memory."""
        if not self._words:
            self._words = {"shared": Words(self.knowledge), "global": Words(self.knowledge)}
        return self._words

    def fence(self, who: NDArray[np.bool_], ordering: Ordering) -> None:
        """Let threads execute a fence: ``fence``, ``membar``.

        Parameters
        ----------
        who : bool array (G, W, 32)
        ordering : Ordering
        """
        at = threads_in(who)
        if not len(at[0]) or not self.is_released_to:
            return
        if ordering.acquires and self._holdings is not None:
            self._holdings.acquire(at, wide=ordering.wide)
        if ordering.releases:
            facts = self.holdings.facts(at, wide=ordering.wide)
            if self._fenced is None:
                self._fenced = np.zeros((2, *who.shape), np.int64)
            self._fenced[_NEAR][at] = facts
            if ordering.wide:
                self._fenced[_FAR][at] = facts
            self.tick(np.asarray(who.any(axis=-1)))

    def before_write(self, who: NDArray[np.bool_]) -> None:
        """Let the time of threads go on before a strong write, so that it is alone at its own."""
        if self._fenced is not None:
            self.tick(np.asarray(who.any(axis=-1)))

    def loaded(self, space: str, at: At, positions: NDArray[np.int64], size: int, ordering: Ordering) -> None:
        """Let threads find what was released where they read strongly.

        Parameters
        ----------
        space : str
            "shared" or "global".
        at : At
            The threads.
        positions : int64 array (n,)
            First byte of each access.
        size : int
            Bytes of an access.
        ordering : Ordering
        """
        if not self._words or not len(self._words[space]):
            return
        for first in range(0, max(size, 4), 4):
            words = (positions + first) >> _WORD_BITS
            self._found(at, self._words[space].read(words, self.blocks[at[0]], ordering.wide), ordering)

    def stored(self, space: str, at: At, positions: NDArray[np.int64], size: int, ordering: Ordering) -> None:
        """Let threads release what they know, or knew at a fence, where they wrote strongly; the last one stays."""
        if not len(positions) or (self._fenced is None and not ordering.releases and not self._words):
            return
        for done in self._operations(at, positions, size, ordering):
            self.words[space].write(done)
        self.tick(_of_warps(at, self.now.shape))

    def updated(self, space: str, at: At, positions: NDArray[np.int64], size: int, ordering: Ordering) -> None:
        """Let threads, in this order, find what was released and release themselves, by atomic operations."""
        if not len(positions) or (self._fenced is None and not ordering.releases and not self._words):
            return
        for done in self._operations(at, positions, size, ordering):
            found = self.words[space].update(done, reads=ordering.reads)
            if ordering.reads:
                self._found(at, found, ordering)
        self.tick(_of_warps(at, self.now.shape))

    def told_at_fences(self, who: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """What threads knew at their last fences, a piece for each block, (G,); None where there was none."""
        if self._fenced is None:
            return None
        at = threads_in(who)
        pieces = self.knowledge.pieces(self._fenced[_NEAR][at])
        told = np.zeros(len(self.blocks), np.int64)
        for g in np.unique(at[0]).tolist():
            told[g] = self.knowledge.join_all(pieces[at[0] == g].tolist())
        return told

    def see_told(self, who: NDArray[np.bool_], told: NDArray[np.int32], pieces: NDArray[np.int64]) -> None:
        """Let threads acquire at their next fence what was told in their blocks."""
        at = threads_in(who)
        if len(at[0]):
            g = np.unique(at[0])
            found = np.zeros(len(self.blocks), np.int64)
            found[g] = self.holdings.rows(g, told[g], pieces[g])
            self.holdings.see(at, found[at[0]])

    def _given(self, at: At, ordering: Ordering) -> Links:
        """The facts that strong writes release, two at most: of the write itself, and of the fences before it."""
        facts = np.zeros((len(at[0]), 2), np.int64)
        accesses = np.zeros_like(facts)
        if ordering.releases:
            facts[:, 0] = self.holdings.facts(at, wide=ordering.wide)
        if self._fenced is not None and not (ordering.releases and ordering.wide):
            near, facts[:, 1] = self._fenced[_NEAR][at], self._fenced[_FAR][at]
            accesses[:, 1] = self.now[at[0], at[1]]
            if not ordering.releases:
                facts[:, 0] = np.where(near == facts[:, 1], 0, near)
                accesses[:, 0] = accesses[:, 1]
        return Links(facts, accesses)

    def _operations(
        self, at: At, positions: NDArray[np.int64], size: int, ordering: Ordering
    ) -> Iterator[Operations]:  # fmt: skip
        """Take strong writes apart into words."""
        links, blocks = self._given(at, ordering), self.blocks[at[0]]
        threads = (blocks * self.warps + at[1]) * 32 + at[2]
        for first in range(0, max(size, 4), 4):
            words = (positions + first) >> _WORD_BITS
            yield Operations(words, blocks, threads, links, ordering.releases, ordering.wide)

    def _found(self, at: At, pieces: NDArray[np.int64], ordering: Ordering) -> None:
        if not pieces.any():
            return
        if ordering.acquires:
            pieces = self.knowledge.reaching(pieces, self.blocks[at[0]], wide=ordering.wide)
            self.holdings.learn(at, pieces)
        else:
            self.holdings.see(at, pieces)


def _of_warps(at: At, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Mark the warps of some threads."""
    out = np.zeros(shape, np.bool_)
    out[at[0], at[1]] = True
    return out
