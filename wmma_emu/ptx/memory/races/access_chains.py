# SPDX-License-Identifier: MIT
"""Several unordered accesses to one granule: chains of runs, each of which links to the run before it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.resolved_access import SYSTEM
from wmma_emu.ptx.threads import Array

_FIRST = 256
_LONG = 64
"""Length from which a chain is compacted each time that it has doubled."""

_MOST_PAIRS = 1 << 20

_MANY = 1 << 16

_COLUMNS = ("_before", "_first", "_length", "_short", "_latest", "_block", "_several")
"""The arrays with an element, or a column, for each run."""

STRENGTHS = range(SYSTEM + 1)

_Heads = NDArray[np.int64]
_NONE = -1


class DecodedAccesses(NamedTuple):
    """Accesses: their numbers, strengths, stamps, and blocks of the grid."""

    values: Array
    strengths: Array
    stamps: Array
    blocks: NDArray[np.int64]

    def at(self, index: NDArray[Any]) -> "DecodedAccesses":
        """Return the accesses at some indices."""
        return DecodedAccesses(*(x[index] for x in self))


class AccessChains:
    """Accesses of many threads to the same granules, as chains of runs.

    A chain is identified by its last run, the head; 0 is the empty chain. Runs are immutable: two granules may share
    the beginning of their chains. Each run summarises its whole chain, for each strength: the latest stamp, and whether
    one block or several made the accesses.

    Examples
    --------
    >>> chains = AccessChains(np.dtype(np.uint32))
    >>> values, weak = np.array([7, 9], np.uint32), np.zeros(2, int)
    >>> new = DecodedAccesses(values, weak, values, np.array([3, 4]))
    >>> heads = chains.append(np.array([0]), np.array([0, 0]), new)
    >>> chains.members(int(heads[0])).tolist()
    [7, 9]
    >>> chains.latest(heads, 0), chains.have_several(heads, 0), chains.have_others(heads, 1, np.array([3]))
    (array([9], dtype=uint32), array([ True]), array([False]))
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.count, self._runs = 0, 1
        self._values: Array = np.zeros(_FIRST, dtype)
        self._before, self._first, self._length, self._short = (np.zeros(_FIRST, np.int64) for _ in range(4))
        self._latest: Array = np.zeros((len(STRENGTHS), _FIRST), dtype)
        self._block = np.full((len(STRENGTHS), _FIRST), _NONE, np.int32)
        self._several = np.zeros(_FIRST, np.uint8)

    @property
    def bytes(self) -> int:
        """Bytes of host memory, with those reserved for further accesses."""
        columns: list[Array] = [self._values, *(getattr(self, name) for name in _COLUMNS)]
        return sum(x.nbytes for x in columns)

    def append(self, heads: _Heads, group: NDArray[np.int64], new: DecodedAccesses) -> _Heads:
        """Append accesses to chains and return the new heads; ``group`` counts the chains, and is sorted."""
        n, start = len(new.values), np.flatnonzero(np.diff(group, prepend=-1))
        runs = np.arange(self._runs, self._runs + len(start))
        self._reserve(self.count + n, self._runs + len(start))
        self._values[self.count : self.count + n] = new.values
        self._before[runs], self._first[runs] = heads, self.count + start
        self._length[runs] = self._length[heads] + np.diff(np.append(start, n))
        self._short[runs] = np.where(heads > 0, self._short[heads], self._length[runs])
        self._latest[:, runs], self._block[:, runs] = self._latest[:, heads], self._block[:, heads]
        self._several[runs] = self._several[heads]
        lowest, highest = int(new.strengths.min()), int(new.strengths.max())
        for strength in range(lowest, highest + 1):
            self._sum_up(runs, start, strength, new, None if lowest == highest else new.strengths == strength)
        self.count += n
        self._runs += len(start)
        return runs

    def _sum_up(
        self, runs: _Heads, start: _Heads, strength: int, new: DecodedAccesses, mask: NDArray[np.bool_] | None
    ) -> None:
        stamps, low, high = new.stamps, new.blocks, new.blocks
        if mask is not None:
            stamps = np.where(mask, stamps, stamps.dtype.type(0))
            low, high = np.where(mask, low, np.iinfo(np.int64).max), np.where(mask, high, _NONE)
        latest = np.maximum.reduceat(stamps, start)
        self._latest[strength, runs] = np.maximum(latest, self._latest[strength, runs])
        low, high = np.minimum.reduceat(low, start), np.maximum.reduceat(high, start)
        before = self._block[strength, runs]
        several = (low < high) | ((high != before) & (before != _NONE) & (high != _NONE))
        self._several[runs] |= several.astype(np.uint8) << strength
        self._block[strength, runs] = np.where(before == _NONE, high, before)

    def _reserve(self, count: int, runs: int) -> None:
        if count > len(self._values):
            self._values = _longer(self._values, max(_grown(len(self._values)), count))
        if runs > len(self._before):
            size = max(_grown(len(self._before)), runs)
            for name in _COLUMNS:
                setattr(self, name, _longer(getattr(self, name), size))

    def recode(self, recoded: Callable[[Array], Array]) -> None:
        """Replace the numbers of all accesses."""
        self._values = recoded(self._values)
        self._latest = self._latest.astype(self._values.dtype)

    def latest(self, heads: _Heads, strength: int) -> Array:
        """Return the largest stamp of the accesses of one strength in each chain, 0 where there are none."""
        found: Array = self._latest[strength, heads]
        return found

    def have(self, heads: _Heads, strength: int) -> NDArray[np.bool_]:
        """Return which chains contain accesses of one strength."""
        return np.asarray(self._block[strength, heads] != _NONE)

    def have_several(self, heads: _Heads, strength: int) -> NDArray[np.bool_]:
        """Return which chains contain accesses of one strength by more than one block."""
        return np.asarray(self._several[heads] >> strength & 1 == 1)

    def have_others(self, heads: _Heads, strength: int, blocks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which chains contain accesses of one strength by blocks other than these."""
        known = self._block[strength, heads]
        return np.asarray(self.have_several(heads, strength) | ((known != _NONE) & (known != blocks)))

    def last(self, heads: _Heads) -> Array:
        """Return the last access of each chain; for an empty chain, any number."""
        ends = self._first[heads] + self._length[heads] - self._length[self._before[heads]] - 1
        found: Array = self._values[ends]
        return found

    def members(self, head: int) -> Array:
        """Return all accesses of a chain."""
        found = []
        while head:
            before, first = int(self._before[head]), int(self._first[head])
            found.append(self._values[first : first + int(self._length[head] - self._length[before])])
            head = before
        return np.concatenate((self._values[:0], *found[::-1]))

    def grown(self, heads: _Heads) -> NDArray[np.bool_]:
        """Return which chains have doubled in length since they were compacted."""
        return np.asarray(self._length[heads] >= np.maximum(_LONG, 2 * self._short[heads]))

    def keep_short(self, heads: _Heads) -> None:
        """Record that chains cannot be compacted further now."""
        self._short[heads] = self._length[heads]

    def pairs(self, heads: _Heads) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """Yield every access of every chain, (index of the chain, access), in batches that fit in memory."""
        which, at = np.arange(len(heads)), heads
        while len(which):
            before = self._before[at]
            counts = self._length[at] - self._length[before]
            ends = np.cumsum(counts)
            begin = 0
            while begin < len(which):
                done = int(ends[begin - 1]) if begin else 0
                end = max(int(np.searchsorted(ends, done + _MOST_PAIRS, side="right")), begin + 1)
                if end == begin + 1:
                    first = int(self._first[at[begin]])
                    for piece in range(first, first + int(counts[begin]), _MOST_PAIRS):
                        values = self._values[piece : min(piece + _MOST_PAIRS, first + int(counts[begin]))]
                        yield np.full(len(values), which[begin]), values
                else:
                    some = counts[begin:end]
                    offset = np.arange(int(some.sum())) - np.repeat(ends[begin:end] - some - done, some)
                    yield (
                        np.repeat(which[begin:end], some),
                        self._values[np.repeat(self._first[at[begin:end]], some) + offset],
                    )
                begin = end
            left = before > 0
            which, at = which[left], before[left]


def _grown(size: int) -> int:
    """Return the size after `size`: twice as large, or a quarter larger where memory for twice as many would count."""
    return 2 * size if size < _MANY else size + size // 4


def _longer(old: Array, size: int) -> Array:
    new = np.zeros((*old.shape[:-1], size), old.dtype)
    new[..., : old.shape[-1]] = old
    return new
