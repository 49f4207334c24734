# SPDX-License-Identifier: MIT
"""Locks and the bytes that they protect: whether the order of taking locks may decide which races are found."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import Ordering, ThreadIndices
from wmma_emu.ptx.memory.masks import any_of, begins_of
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK, Access

_Ids = NDArray[np.int64]

_MOST_BYTES = 1 << 24
"""Bytes of accesses that are kept, one by thread, address and lock: a launch with more accesses is not analysed."""

_COLUMNS = 5

_NEAR, _FAR = np.uint8(1), np.uint8(2)
"""Accesses that no fence has followed yet: no fence at all, or no fence whose scope reaches beyond the block."""


class _Access(NamedTuple):
    access: Access
    is_shared: bool
    write: bool
    protects: _Ids


class Locks:
    """The locks that the threads of a launch hold, and the accesses that they make meanwhile.

    When a thread takes a lock after another thread, everything that the other thread did before it released the lock
    happens before, whether it was done under the lock or not: accesses that race are ordered then, but not if the other
    thread takes the lock first. If all threads that access some bytes hold one and the same lock, and the lock orders
    what is done under it, no order of taking locks makes these accesses race (Savage et al., Eraser, 1997). Cases that
    are less simple are left undecided: `may_hide`. ``shape`` is (blocks, warps, lanes) of the whole launch.
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self._shape = shape
        self._held = np.zeros(shape, np.int64)
        self._protects = np.zeros(shape, np.int64)  # replaced where it changes: accesses keep it
        self._unfenced = np.zeros(shape, np.uint8)
        self._accesses: list[_Access] = []
        self._rows: _Ids = np.zeros((_COLUMNS, 0), np.int64)
        self._bytes = 0
        self._is_undecided = False

    def acquired(self, at: ThreadIndices, space: str, positions: _Ids, ordering: Ordering) -> None:
        """Record that threads have taken the locks at some positions."""
        locks = _locks(space, positions)
        once = len(locks) < 2 or len(np.unique(locks)) == len(locks)
        if not once or self._held[at].any() or np.isin(locks, self._held).any() or not (ordering.wide or self._is_one):
            self._is_undecided = True  # the lock is held already, or does not exclude other blocks
        self._held[at] = locks
        if ordering.acquires:
            self._protect(at, ordering)

    def released(self, at: ThreadIndices, space: str, positions: _Ids, ordering: Ordering) -> None:
        """Record strong writes, which release the locks that their threads hold."""
        held = self._held[at] == _locks(space, positions)
        if not held.any():
            return
        at = at[0][held], at[1][held], at[2][held]
        if not ordering.releases and (self._unfenced[at] & self._needed(self._held[at])).any():
            self._is_undecided = True
        self._held[at] = 0
        self._protects = self._protects.copy()
        self._protects[at] = 0

    def fence(self, at: ThreadIndices, ordering: Ordering) -> None:
        """Record a fence, for threads whose locks protect from then on."""
        if ordering.releases:
            self._unfenced[at] &= np.uint8(0) if ordering.wide else _FAR
        if ordering.acquires and self._held[at].any():
            self._protect(at, ordering)

    def accessed(self, access: Access, space: str, write: bool) -> None:
        """Record an access."""
        if self._is_undecided:
            return
        self._accesses.append(_Access(access, space == "shared", write, self._protects))
        if access.strength < SYSTEM:
            np.copyto(self._unfenced, _NEAR | _FAR, where=True if access.mask is None else any_of(access.mask))
        self._bytes += access.addresses.nbytes + self._protects.nbytes
        if self._bytes > _MOST_BYTES:
            self._gather()
            self._bytes = self._rows.nbytes
            self._is_undecided |= self._bytes > _MOST_BYTES // 2

    def may_hide(self) -> bool:
        """Return whether another order of taking locks may show races that this one does not."""
        if not self._is_undecided:
            self._gather()
        return self._is_undecided or not _are_protected(self._rows, self._is_one)

    @property
    def _is_one(self) -> bool:
        return self._shape[0] == 1

    def _needed(self, locks: _Ids) -> NDArray[np.uint8]:
        """Return the kind of fence that a lock needs."""
        return np.where((locks & 1 == 1) | self._is_one, _NEAR, _FAR)

    def _protect(self, at: ThreadIndices, ordering: Ordering) -> None:
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

    def _rows_of(self, record: _Access) -> _Ids:
        access = record.access
        shape = np.broadcast_shapes(access.positions.shape, self._shape)
        mask = np.broadcast_to(True if access.mask is None else access.mask, shape)
        numbers = np.arange(self._held.size).reshape(self._shape)
        first, thread, lock = (np.broadcast_to(x, shape)[mask] for x in (access.positions, numbers, record.protects))
        words = (first >> 2) + np.arange(-(-access.size // 4))[:, None]
        columns = np.broadcast_arrays(words << 1 | record.is_shared, thread, lock, record.write, access.strength)
        return np.stack(columns, dtype=np.int64).reshape(_COLUMNS, -1)


def _locks(space: str, positions: _Ids) -> _Ids:
    return np.asarray((positions + 4) << 1 | (space == "shared"))


def _are_protected(rows: _Ids, is_one_block: bool) -> bool:
    """Return whether one lock protects each word that several threads access; ``rows`` are sorted.

    Strong accesses conflict only with weak ones, volatile ones also with each other.
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
