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
    """Sort numbers and remove duplicates.

    `np.unique` is slow for numbers that differ only in their high bits, since it hashes them.

    Examples
    --------
    >>> each_once(np.array([5, 1, 5]))
    array([1, 5])
    """
    ordered: Numbers = np.sort(numbers)
    return np.asarray(ordered[begins_of(ordered)])


class ByteAccesses:
    """One access to the watched bytes: an entry for each byte and thread.

    ``at`` is the index of the thread in the access, and the byte; ``rank`` is the index of the byte among the watched
    bytes; ``local`` are the threads of the wave, ``stamps`` the numbers of the accesses.
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
        """Whether the keys distinguish bytes and times."""
        return not len(self.stamps) or not int(self.stamps.max()) >> _STAMP_BITS


class KnownAccesses:
    """The loads, or the stores, of an instruction: one entry for each thread, byte and time.

    Accesses to shared memory that happen before everything that follows in their block are discarded.
    """

    def __init__(self, instruction: PtxInstruction, strength: int, *, shared: bool) -> None:
        self.instruction, self.strength, self.shared = instruction, strength, shared
        self._keys = np.zeros(0, np.int64)
        self._more: list[Numbers] = []

    def __len__(self) -> int:
        return len(self._keys) + sum(len(x) for x in self._more)

    def add(self, found: ByteAccesses) -> None:
        """Record accesses."""
        self._more.append(found.keys)

    def settle(self, order: CausalityOrder) -> None:
        """Sort the recorded accesses by byte and time, and discard those that are settled."""
        if self._more:
            self._keys = each_once(np.concatenate((self._keys, *self._more)))
            self._more = []
        if not self.shared or not len(self._keys):
            return
        stamps = _stamps_of(self._keys)
        warps = order.threads_of(stamps) >> 5
        in_wave = np.isin(warps // order.now.shape[1], order.blocks)
        self._keys, stamps, warps = self._keys[in_wave], stamps[in_wave], warps[in_wave]
        g = np.argsort(order.blocks)[np.searchsorted(np.sort(order.blocks), warps // order.now.shape[1])]
        over = order.time(stamps).astype(np.int64) <= order.known.min(axis=1)[g, warps % order.now.shape[1]]
        self._keys = self._keys[~over]

    def racing(
        self, found: ByteAccesses, strength: int, order: CausalityOrder, check_time: Callable[[], None]
    ) -> tuple[Numbers, Numbers, int]:  # fmt: skip
        """Find races with accesses that are made now by threads of other warps.

        Return the recorded keys, the entries of ``found`` with which they race, and the number of pairs that were
        compared.
        """
        self.settle(order)
        size = order.now.shape[1] * 32
        if self.shared or not order.are_blocks_unordered:
            low, high = (np.searchsorted(self._keys, found.rank + x << _STAMP_BITS) for x in (0, 1))
            return self._compared(
                found, np.arange(len(found.rank)), (self._keys, low, high), strength, order, check_time
            )
        return self._racing_between_blocks(found, strength, order, check_time, size)

    def _racing_between_blocks(
        self, found: ByteAccesses, strength: int, order: CausalityOrder, check_time: Callable[[], None], size: int
    ) -> tuple[Numbers, Numbers, int]:  # fmt: skip
        """Find races if blocks are unordered: only pairs within one block need to be compared."""
        low, high = (np.searchsorted(self._keys, each_once(found.rank) + x << _STAMP_BITS) for x in (0, 1))
        ends = np.cumsum(high - low)
        at = np.arange(ends[-1]) + np.repeat(high - ends, high - low)
        keys = self._keys[at]
        ranks, blocks = keys >> _STAMP_BITS, order.threads_of(_stamps_of(keys)) // size
        own = found.threads // size
        if are_in_conflict(self.strength, strength, elsewhere=True):
            raced, recorded = (
                _meet_other_blocks(*x) for x in ((found.rank, own, ranks, blocks), (ranks, blocks, found.rank, own))
            )
        else:
            raced, recorded = np.zeros(len(own), np.bool_), np.zeros(len(keys), np.bool_)
        # Compare pairs of one block only where not all accesses of both sides are known to race already.
        undecided = each_once(ranks[~recorded])
        index = np.flatnonzero(~raced | np.isin(found.rank, undecided))
        grid = max(int(blocks.max(initial=0)), int(own.max(initial=0))) + 1
        cells = ranks * grid + blocks
        turn = np.argsort(cells, kind="stable")
        near = [np.searchsorted(cells[turn], (found.rank * grid + own)[index], side=x) for x in ("left", "right")]
        more, others, count = self._compared(found, index, (keys[turn], near[0], near[1]), strength, order, check_time)
        return (
            np.concatenate((keys[recorded], more)),
            np.concatenate((np.flatnonzero(raced), others)),
            count + len(keys),
        )

    def _compared(
        self, found: ByteAccesses, index: Numbers, noted_at: tuple[Numbers, Numbers, Numbers], strength: int,
        order: CausalityOrder, check_time: Callable[[], None],
    ) -> tuple[Numbers, Numbers, int]:  # fmt: skip
        keys, low, high = noted_at
        size = order.now.shape[1] * 32
        ends = np.cumsum(high - low)
        count = int(ends[-1]) if len(ends) else 0
        own, other = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        in_one = are_in_conflict(self.strength, strength, elsewhere=False)
        in_two_blocks = are_in_conflict(self.strength, strength, elsewhere=not self.shared)
        for first in range(0, count, _PAIRS):
            check_time()
            pair = np.arange(first, min(first + _PAIRS, count))
            at = np.searchsorted(ends, pair, side="right")
            recorded, which = pair - ends[at] + high[at], index[at]
            threads = order.threads_of(_stamps_of(keys[recorded]))
            far = threads >> 5 != found.threads[which] >> 5
            recorded, which, threads = recorded[far], which[far], threads[far]
            elsewhere = threads // size != found.threads[which] // size
            bad = np.where(elsewhere, in_two_blocks, in_one) & order.unordered_for(
                _stamps_of(keys[recorded]), found.local[which]
            )
            own.append(keys[recorded[bad]])
            other.append(which[bad])
        return np.concatenate(own), np.concatenate(other), count


def _meet_other_blocks(ranks: Numbers, blocks: Numbers, other_ranks: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Return which accesses share a byte with an access of another block on the other side.

    Examples
    --------
    >>> ranks, blocks = np.array([0, 0, 1, 2]), np.array([5, 6, 5, 5])
    >>> _meet_other_blocks(ranks, blocks, np.array([0, 1, 1]), np.array([6, 5, 5]))
    array([ True, False, False, False])
    """
    count = max(int(ranks.max(initial=0)), int(other_ranks.max(initial=0))) + 1
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, np.int64)
    np.minimum.at(low, other_ranks, others)
    np.maximum.at(high, other_ranks, others)
    return np.asarray((high[ranks] >= 0) & ((low[ranks] != blocks) | (high[ranks] != blocks)))


def _stamps_of(keys: Numbers) -> NDArray[np.uint64]:
    return (keys & (1 << _STAMP_BITS) - 1).astype(np.uint64)
