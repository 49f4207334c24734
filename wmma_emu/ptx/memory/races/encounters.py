# SPDX-License-Identifier: MIT
"""The accesses of one instruction to some bytes: of each byte and thread the last one, which stands for all of them."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.races.touch import BLOCK, VOLATILE, WEAK, Order
from wmma_emu.ptx.program.program import Instruction

__all__ = ["Accesses", "Encounter", "are_in_conflict"]

Numbers = NDArray[np.int64]

_THREAD_BITS = 31
_PAIRS = 1 << 21
"""Pairs of accesses that are compared at a time."""


class Encounter:
    """What an access did to the bytes in question: an entry for each byte and thread.

    ``at`` is where it is in the access (an index among threads, and the byte), ``rank`` counts the bytes in question,
    ``local`` the threads of the chunk, ``stamps`` are the numbers of the accesses.
    """

    def __init__(
        self, at: tuple[Numbers, Numbers], rank: Numbers, local: Numbers, stamps: NDArray[np.uint64], order: Order
    ) -> None:  # fmt: skip
        self.at, self.rank, self.local, self.stamps = at, rank, local, stamps
        self.threads = order.threads_of(stamps)
        self.keys = rank << _THREAD_BITS | self.threads


class Accesses:
    """The loads, or the stores, of an instruction.

    If the last access of a thread to a byte is ordered before another one, all those before it are; if it is not,
    the instruction's accesses to that byte by that thread count as in a race.
    """

    def __init__(self, instruction: Instruction, strength: int) -> None:
        self.instruction, self.strength = instruction, strength
        self._keys, self._stamps = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        self._more: list[Encounter] = []

    def __len__(self) -> int:
        return len(self._keys) + sum(len(x.keys) for x in self._more)

    def add(self, found: Encounter) -> None:
        """Note accesses."""
        self._more.append(found)
        if sum(len(x.keys) for x in self._more) > max(len(self._keys), _PAIRS):
            self._settle()

    def _settle(self) -> None:
        """Put what is noted in order, by byte and thread."""
        if not self._more:
            return
        keys = np.concatenate((self._keys, *(x.keys for x in self._more)))
        stamps = np.concatenate((self._stamps, *(x.stamps for x in self._more)))
        order = np.lexsort((stamps, keys))
        keys, stamps = keys[order], stamps[order]
        last = np.append(keys[1:] != keys[:-1], True)
        self._keys, self._stamps, self._more = keys[last], stamps[last], []

    def racing(self, found: Encounter, strength: int, order: Order, *, shared: bool) -> tuple[Numbers, Numbers, int]:
        """Find what is in a race with accesses that are made now, by threads of other warps.

        Returns
        -------
        keys, who : int arrays
            Bytes and threads of what is noted, and the entries of ``found`` that it is in a race with.
        count : int
            How many pairs were compared.
        """
        self._settle()
        low, high = (np.searchsorted(self._keys, found.rank + x << _THREAD_BITS) for x in (0, 1))
        ends = np.cumsum(high - low)
        count = int(ends[-1]) if len(ends) else 0
        mine, other = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for first in range(0, count, _PAIRS):
            pair = np.arange(first, min(first + _PAIRS, count))
            which = np.searchsorted(ends, pair, side="right")
            noted = pair - ends[which] + high[which]
            threads = self._keys[noted] & (1 << _THREAD_BITS) - 1
            far = threads >> 5 != found.threads[which] >> 5
            noted, which, threads = noted[far], which[far], threads[far]
            size = order.now.shape[1] * 32
            elsewhere = threads // size != found.threads[which] // size
            bad = are_in_conflict(self.strength, strength, elsewhere, shared=shared)
            bad &= order.unordered_for(self._stamps[noted], found.local[which])
            mine.append(self._keys[noted[bad]])
            other.append(which[bad])
        return np.concatenate(mine), np.concatenate(other), count


def are_in_conflict(one: int, other: int, elsewhere: NDArray[np.bool_], *, shared: bool) -> NDArray[np.bool_]:
    """Say which accesses of two strengths are in conflict, where they are of different blocks: see `Comparison`.

    Examples
    --------
    >>> far = np.array([False, True])
    >>> [are_in_conflict(x, BLOCK, far, shared=False).tolist() for x in (WEAK, VOLATILE, BLOCK)]
    [[True, True], [False, True], [False, True]]
    """
    if WEAK in (one, other) or one == other == VOLATILE:
        return np.ones(elsewhere.shape, np.bool_)
    if shared or BLOCK not in (one, other):
        return np.zeros(elsewhere.shape, np.bool_)
    return elsewhere.copy()
