# SPDX-License-Identifier: MIT
"""Several accesses to one granule that nothing orders: chains of entries, each of which names the one before it."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.threads import Array

__all__ = ["Crowds"]

_FIRST = 1024
_LONG = 24
"""Entries from which on a chain is kept as one array too."""

_MOST_PAIRS = 1 << 22


class Crowds:
    """Accesses of many threads to the same granules, as chains; a chain is known by its last entry, 0 is none.

    Entries are never changed: two granules may share the beginning of their chains.

    Examples
    --------
    >>> crowds = Crowds(np.dtype(np.uint32))
    >>> values, weak = np.array([7, 9], np.uint32), np.zeros(2, int)
    >>> heads = crowds.append(np.array([0]), np.array([0, 0]), values, weak, values)
    >>> crowds.members(int(heads[0])).tolist()
    [7, 9]
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.count = 1
        self._values: Array = np.zeros(_FIRST, dtype)
        self._before = np.zeros(_FIRST, np.uint32)
        self._length = np.zeros(_FIRST, np.int32)
        self._latest: Array = np.zeros(_FIRST, dtype)
        self._weakest = np.zeros(_FIRST, np.uint8)
        self._whole: dict[int, Array] = {}

    @property
    def bytes(self) -> int:
        """Of the host's memory."""
        columns = self._values, self._before, self._length, self._latest, self._weakest
        return sum(x.itemsize for x in columns) * self.count + sum(x.nbytes for x in self._whole.values())

    def append(
        self, heads: NDArray[np.int64], group: NDArray[np.int64], values: Array, strengths: Array, stamps: Array
    ) -> NDArray[np.int64]:
        """Append values to chains and return their new heads; ``group`` counts the chains, and is sorted.

        ``strengths`` and ``stamps`` are those of the values.
        """
        n, first = len(values), self.count
        self._reserve(first + n)
        ids = np.arange(first, first + n)
        start = np.flatnonzero(np.diff(group, prepend=-1))
        self._values[first : first + n] = values
        self._before[first : first + n] = ids - 1
        self._before[first + start] = heads
        self._length[first : first + n] = (self._length[heads] - start + 1)[group] + np.arange(n)
        lowest = np.minimum.reduceat(strengths, start).astype(np.uint8)
        # The first members of a chain may say that it is weaker than it is so far: that costs a look, and no more.
        old = np.where(heads > 0, self._weakest[heads], np.uint8(255))
        self._weakest[first : first + n] = np.minimum(old, lowest)[group]
        latest = np.maximum.reduceat(stamps, start)
        self._latest[first : first + n] = np.maximum(latest, self._latest[heads])[group]
        self.count += n
        ends = np.append(start[1:], n) - 1
        return np.asarray(ids[ends])

    def _reserve(self, count: int) -> None:
        if count <= len(self._values):
            return
        size = max(2 * len(self._values), count)
        for name in ("_values", "_before", "_length", "_latest", "_weakest"):
            old = getattr(self, name)
            new = np.zeros(size, old.dtype)
            new[: self.count] = old[: self.count]
            setattr(self, name, new)

    def recode(self, recoded: Callable[[Array], Array]) -> None:
        """Go on with other numbers for all entries."""
        self._values = recoded(self._values)
        self._latest = self._latest.astype(self._values.dtype)
        self._whole.clear()

    def weakest(self, heads: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Tell the lowest strength in each chain."""
        return self._weakest[heads]

    def latest(self, heads: NDArray[np.int64]) -> Array:
        """Give the largest stamp in each chain."""
        return self._latest[heads]

    def last(self, heads: NDArray[np.int64]) -> Array:
        """Give the last member of each chain."""
        return self._values[heads]

    def members(self, head: int) -> Array:
        """Give all members of a chain, the last of a thread and strength only where it is long."""
        at, found = head, []
        while at and at not in self._whole:
            found.append(self._values[at])
            at = int(self._before[at])
        known = self._whole[at] if at else self._values[:0]
        return np.concatenate((known, np.array(found[::-1], self._values.dtype)))

    def pairs(
        self, heads: NDArray[np.int64], shorten: Callable[[Array], Array]
    ) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """Give every member of every chain: (index of the chain, member), in pieces that memory allows.

        Long chains go through ``shorten``, which may leave out what its other members stand for.
        """
        length = self._length[heads]
        short = np.flatnonzero(length < _LONG)
        at = heads[short]
        while len(short):
            yield short, self._values[at]
            at = self._before[at].astype(np.int64)
            left = at > 0
            short, at = short[left], at[left]
        long = np.flatnonzero(length >= _LONG)
        for head in np.unique(heads[long]).tolist():
            members, mine = self._remember(head, shorten), long[heads[long] == head]
            step = max(1, _MOST_PAIRS // len(members))
            for i in range(0, len(mine), step):
                some = mine[i : i + step]
                yield np.repeat(some, len(members)), np.tile(members, len(some))

    def _remember(self, head: int, shorten: Callable[[Array], Array]) -> Array:
        if head not in self._whole:
            members = shorten(self.members(head))
            at = int(self._before[head])
            while at and self._whole.pop(at, None) is None:
                at = int(self._before[at])
            self._whole[head] = members
        return self._whole[head]
