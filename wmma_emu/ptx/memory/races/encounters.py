# SPDX-License-Identifier: MIT
"""The accesses of one instruction to some bytes, by byte, thread and time."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.masks import begins_of
from wmma_emu.ptx.memory.resolved_access import are_in_conflict
from wmma_emu.ptx.program.program import PtxInstruction

Numbers = NDArray[np.int64]

_STAMP_BITS = 41
_PAIRS = 1 << 21
"""Pairs of accesses that are compared at a time."""


def each_once(numbers: Numbers) -> Numbers:
    """Sort numbers, each of them once.

    `np.unique` takes very long for numbers that differ in their high bits alone: it puts them into a hash table.

    Examples
    --------
    >>> each_once(np.array([5, 1, 5]))
    array([1, 5])
    """
    ordered: Numbers = np.sort(numbers)
    return np.asarray(ordered[begins_of(ordered)])


class Encounter:
    """What an access did to the bytes in question: an entry for each byte and thread.

    ``at`` is where it is in the access (an index among threads, and the byte), ``rank`` counts the bytes in question,
    ``local`` the threads of the chunk, ``stamps`` are the numbers of the accesses.
    """

    def __init__(
        self, at: tuple[Numbers, Numbers], rank: Numbers, local: Numbers, stamps: NDArray[np.uint64],
        order: CausalityOrder,
    ) -> None:  # fmt: skip
        self.at, self.rank, self.local, self.stamps = at, rank, local, stamps
        self.threads = order.threads_of(stamps)
        self.keys = rank << _STAMP_BITS | stamps.astype(np.int64)

    @property
    def is_numbered(self) -> bool:
        """Whether its keys tell bytes and times apart."""
        return not len(self.stamps) or not int(self.stamps.max()) >> _STAMP_BITS


class Accesses:
    """The loads, or the stores, of an instruction: of one thread, byte and time they count as one.

    Those of shared memory that precede all that comes in their block are forgotten.
    """

    def __init__(self, instruction: PtxInstruction, strength: int, *, shared: bool) -> None:
        self.instruction, self.strength, self.shared = instruction, strength, shared
        self._keys = np.zeros(0, np.int64)
        self._more: list[Numbers] = []

    def __len__(self) -> int:
        return len(self._keys) + sum(len(x) for x in self._more)

    def add(self, found: Encounter) -> None:
        """Note accesses."""
        self._more.append(found.keys)

    def settle(self, order: CausalityOrder) -> None:
        """Put what is noted in order, by byte and time."""
        if self._more:
            self._keys = each_once(np.concatenate((self._keys, *self._more)))
            self._more = []
        if not self.shared or not len(self._keys):
            return
        stamps = _stamps_of(self._keys)
        warps = order.threads_of(stamps) >> 5
        here = np.isin(warps // order.now.shape[1], order.blocks)
        self._keys, stamps, warps = self._keys[here], stamps[here], warps[here]
        g = np.argsort(order.blocks)[np.searchsorted(np.sort(order.blocks), warps // order.now.shape[1])]
        over = order.time(stamps).astype(np.int64) <= order.known.min(axis=1)[g, warps % order.now.shape[1]]
        self._keys = self._keys[~over]

    def racing(
        self, found: Encounter, strength: int, order: CausalityOrder, look: Callable[[], None]
    ) -> tuple[Numbers, Numbers, int]:  # fmt: skip
        """Find what is in a race with accesses that are made now, by threads of other warps.

        Gives the keys that are noted, the entries of ``found`` that they are in a race with, and how many pairs were
        compared.
        """
        self.settle(order)
        size = order.now.shape[1] * 32
        if self.shared or not order.are_apart:
            low, high = (np.searchsorted(self._keys, found.rank + x << _STAMP_BITS) for x in (0, 1))
            return self._compared(found, np.arange(len(found.rank)), (self._keys, low, high), strength, order, look)
        return self._apart(found, strength, order, look, size)

    def _apart(
        self, found: Encounter, strength: int, order: CausalityOrder, look: Callable[[], None], size: int
    ) -> tuple[Numbers, Numbers, int]:  # fmt: skip
        """Find them where nothing orders blocks: pairs of one block alone need be compared."""
        low, high = (np.searchsorted(self._keys, each_once(found.rank) + x << _STAMP_BITS) for x in (0, 1))
        ends = np.cumsum(high - low)
        at = np.arange(ends[-1]) + np.repeat(high - ends, high - low)
        keys = self._keys[at]
        ranks, blocks = keys >> _STAMP_BITS, order.threads_of(_stamps_of(keys)) // size
        mine = found.threads // size
        if are_in_conflict(self.strength, strength, elsewhere=True):
            who, noted = (
                _beside_others(*x) for x in ((found.rank, mine, ranks, blocks), (ranks, blocks, found.rank, mine))
            )
        else:
            who, noted = np.zeros(len(mine), np.bool_), np.zeros(len(keys), np.bool_)
        # What of one block is in a race with it: only where not all of both sides are in one already.
        undecided = each_once(ranks[~noted])
        index = np.flatnonzero(~who | np.isin(found.rank, undecided))
        grid = max(int(blocks.max(initial=0)), int(mine.max(initial=0))) + 1
        places = ranks * grid + blocks
        turn = np.argsort(places, kind="stable")
        near = [np.searchsorted(places[turn], (found.rank * grid + mine)[index], side=x) for x in ("left", "right")]
        more, others, count = self._compared(found, index, (keys[turn], near[0], near[1]), strength, order, look)
        return np.concatenate((keys[noted], more)), np.concatenate((np.flatnonzero(who), others)), count + len(keys)

    def _compared(
        self, found: Encounter, index: Numbers, noted_at: tuple[Numbers, Numbers, Numbers], strength: int,
        order: CausalityOrder, look: Callable[[], None],
    ) -> tuple[Numbers, Numbers, int]:  # fmt: skip
        keys, low, high = noted_at
        size = order.now.shape[1] * 32
        ends = np.cumsum(high - low)
        count = int(ends[-1]) if len(ends) else 0
        mine, other = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        in_one = are_in_conflict(self.strength, strength, elsewhere=False)
        in_two_blocks = are_in_conflict(self.strength, strength, elsewhere=not self.shared)
        for first in range(0, count, _PAIRS):
            look()
            pair = np.arange(first, min(first + _PAIRS, count))
            at = np.searchsorted(ends, pair, side="right")
            noted, which = pair - ends[at] + high[at], index[at]
            threads = order.threads_of(_stamps_of(keys[noted]))
            far = threads >> 5 != found.threads[which] >> 5
            noted, which, threads = noted[far], which[far], threads[far]
            elsewhere = threads // size != found.threads[which] // size
            bad = np.where(elsewhere, in_two_blocks, in_one) & order.unordered_for(
                _stamps_of(keys[noted]), found.local[which]
            )
            mine.append(keys[noted[bad]])
            other.append(which[bad])
        return np.concatenate(mine), np.concatenate(other), count


def _beside_others(ranks: Numbers, blocks: Numbers, other_ranks: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Say which accesses, of some bytes and blocks, meet others there that are of another block.

    Examples
    --------
    >>> ranks, blocks = np.array([0, 0, 1, 2]), np.array([5, 6, 5, 5])
    >>> _beside_others(ranks, blocks, np.array([0, 1, 1]), np.array([6, 5, 5]))
    array([ True, False, False, False])
    """
    count = max(int(ranks.max(initial=0)), int(other_ranks.max(initial=0))) + 1
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, np.int64)
    np.minimum.at(low, other_ranks, others)
    np.maximum.at(high, other_ranks, others)
    return np.asarray((high[ranks] >= 0) & ((low[ranks] != blocks) | (high[ranks] != blocks)))


def _stamps_of(keys: Numbers) -> NDArray[np.uint64]:
    return (keys & (1 << _STAMP_BITS) - 1).astype(np.uint64)
