# SPDX-License-Identifier: MIT
"""Which lock protects which bytes: whether who takes a lock first may decide what races are seen."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import At, Ordering
from wmma_emu.ptx.memory.masks import any_of, begins_of
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK, Access

_Ids = NDArray[np.int64]

_MOST_BYTES = 1 << 24
"""Of accesses that are kept, one each by thread, place and lock: a launch that makes more is not judged."""

_COLUMNS = 5

_NEAR, _FAR = np.uint8(1), np.uint8(2)
"""An access that no fence has followed yet: none at all, none whose scope reaches beyond the block."""


class _Access(NamedTuple):
    touch: Access
    is_shared: bool
    write: bool
    protects: _Ids


class Locks:
    """The locks that the threads of a launch hold, and the accesses that they make meanwhile.

    A thread that takes a lock after another one knows what that one did before it gave the lock back, under the lock
    or not: accesses that race are in order then, and are not if the other one takes it first. Where all threads that
    come to some bytes hold one and the same lock, and the lock hands on what was done under it, no order of takings
    makes a race of them (Savage et al., Eraser, 1997). Whatever is not as simple as that is not judged: `may_hide`.
    ``shape`` is (blocks, warps, lanes) of the whole launch.
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self._shape = shape
        self._held = np.zeros(shape, np.int64)
        self._protects = np.zeros(shape, np.int64)  # replaced where it changes: accesses keep it
        self._unfenced = np.zeros(shape, np.uint8)
        self._accesses: list[_Access] = []
        self._rows: _Ids = np.zeros((_COLUMNS, 0), np.int64)
        self._bytes = 0
        self._is_doubtful = False

    def taken(self, at: At, space: str, positions: _Ids, ordering: Ordering) -> None:
        """Note that threads have taken the locks at some positions."""
        locks = _locks(space, positions)
        once = len(locks) < 2 or len(np.unique(locks)) == len(locks)
        if not once or self._held[at].any() or np.isin(locks, self._held).any() or not (ordering.wide or self._is_one):
            self._is_doubtful = True  # it is held already, or does not exclude other blocks
        self._held[at] = locks
        if ordering.acquires:
            self._protect(at, ordering)

    def given_back(self, at: At, space: str, positions: _Ids, ordering: Ordering) -> None:
        """Note strong writes: of locks that their threads hold."""
        mine = self._held[at] == _locks(space, positions)
        if not mine.any():
            return
        at = at[0][mine], at[1][mine], at[2][mine]
        if not ordering.releases and (self._unfenced[at] & self._needed(self._held[at])).any():
            self._is_doubtful = True
        self._held[at] = 0
        self._protects = self._protects.copy()
        self._protects[at] = 0

    def fence(self, at: At, ordering: Ordering) -> None:
        """Note a fence, for threads that it makes hold what they have taken."""
        if ordering.releases:
            self._unfenced[at] &= np.uint8(0) if ordering.wide else _FAR
        if ordering.acquires and self._held[at].any():
            self._protect(at, ordering)

    def accessed(self, touch: Access, space: str, write: bool) -> None:
        """Note an access."""
        if self._is_doubtful:
            return
        self._accesses.append(_Access(touch, space == "shared", write, self._protects))
        if touch.strength < SYSTEM:
            np.copyto(self._unfenced, _NEAR | _FAR, where=True if touch.mask is None else any_of(touch.mask))
        self._bytes += touch.addresses.nbytes + self._protects.nbytes
        if self._bytes > _MOST_BYTES:
            self._gather()
            self._bytes = self._rows.nbytes
            self._is_doubtful |= self._bytes > _MOST_BYTES // 2

    def may_hide(self) -> bool:
        """Tell whether another order of takings may show races that this one does not."""
        if not self._is_doubtful:
            self._gather()
        return self._is_doubtful or not _are_protected(self._rows, self._is_one)

    @property
    def _is_one(self) -> bool:
        return self._shape[0] == 1

    def _needed(self, locks: _Ids) -> NDArray[np.uint8]:
        """The kind of fence that a lock needs."""
        return np.where((locks & 1 == 1) | self._is_one, _NEAR, _FAR)

    def _protect(self, at: At, ordering: Ordering) -> None:
        locks = self._held[at]
        enough = (self._needed(locks) == _NEAR) | ordering.wide
        self._protects = self._protects.copy()
        self._protects[at] = np.where(enough, locks, self._protects[at])

    def _gather(self) -> None:
        rows = np.concatenate([self._rows, *(self._rows_of(x) for x in self._accesses)], axis=1)
        self._accesses.clear()
        rows = rows[:, np.lexsort(rows[::-1])]
        fresh = np.append(True, (rows[:, 1:] != rows[:, :-1]).any(axis=0))[: rows.shape[1]]
        self._rows = rows[:, fresh]

    def _rows_of(self, access: _Access) -> _Ids:
        touch = access.touch
        shape = np.broadcast_shapes(touch.positions.shape, self._shape)
        mask = np.broadcast_to(True if touch.mask is None else touch.mask, shape)
        numbers = np.arange(self._held.size).reshape(self._shape)
        first, thread, lock = (np.broadcast_to(x, shape)[mask] for x in (touch.positions, numbers, access.protects))
        words = (first >> 2) + np.arange(-(-touch.size // 4))[:, None]
        columns = np.broadcast_arrays(words << 1 | access.is_shared, thread, lock, access.write, touch.strength)
        return np.stack(columns, dtype=np.int64).reshape(_COLUMNS, -1)


def _locks(space: str, positions: _Ids) -> _Ids:
    return np.asarray((positions + 4) << 1 | (space == "shared"))


def _are_protected(rows: _Ids, is_one_block: bool) -> bool:
    """Tell whether one lock protects each word that several threads come to; ``rows`` are sorted.

    Strong accesses are in conflict with weak ones alone, volatile ones with each other too.
    """
    strengths = rows[4]
    in_conflict = (strengths == WEAK) | ((strengths == BLOCK) & (not is_one_block))
    begins = np.flatnonzero(begins_of(rows[0]))
    if not len(begins):
        return True
    is_weak = np.repeat(np.logical_or.reduceat(in_conflict, begins), np.diff(np.append(begins, rows.shape[1])))
    words, threads, locks, writes, _ = rows[:, is_weak | (strengths == VOLATILE)]
    begins = np.flatnonzero(begins_of(words))
    if not len(begins):
        return True

    def differ(values: _Ids) -> NDArray[np.bool_]:
        return np.asarray(np.maximum.reduceat(values, begins) != np.minimum.reduceat(values, begins))

    unlocked = differ(locks) | (np.minimum.reduceat(locks, begins) == 0)
    return not (differ(threads) & (np.maximum.reduceat(writes, begins) > 0) & unlocked).any()
