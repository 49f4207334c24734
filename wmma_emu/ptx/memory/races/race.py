# SPDX-License-Identifier: MIT
"""A race and its kind; and the bytes that all races of a run concern."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.resolved_access import VOLATILE, Access

RACE, NEAR, LANES_AT_ONCE, EQUAL = "race", "race within a warp", "lanes store to one place", "race of equal bytes"
UNUSED = "race of an unused value"
"""The kinds of findings."""

SHARED = 1 << 60
"""The number of the first byte of shared memory, which is counted block after block; the heap is counted from 0."""

_PLAIN = ("ld", "ldu", "ldmatrix", "wmma", "cp")
"""Mnemonics of loads whose values are followed from the register, or the copy, that receives them."""

_MOST = 1 << 22
"""The largest number of bytes that are collected."""

_SOME = 1 << 18

_Mask = NDArray[np.bool_]


class Race:
    """A race: ``bad`` marks the threads of an access that race with another access to the same bytes.

    ``kind`` is the kind of the finding; ``verb`` describes the other access, "wrote" or "read", or "writes" in the same
    instruction; ``other`` returns the stamps of the accesses with which one thread races, for an index (granule, ...,
    G, W, lane).
    """

    def __init__(
        self, kind: str, access: Access, bad: _Mask, verb: str, write: bool,
        other: Callable[[tuple[int, ...]], list[int]],
    ) -> None:  # fmt: skip
        self.kind, self.access, self.bad, self.verb, self.write, self.other = kind, access, bad, verb, write, other


def is_plain(access: Access) -> bool:
    """Return whether a read orders nothing, is a load, and is followed to the use of its value."""
    return access.strength <= VOLATILE and access.instruction.mnemonic in _PLAIN


class RacedBytes:
    """The bytes that the races of a run concern, collected as the races are found; all bytes if ``is_whole``.

    ``others`` are the lines of the PTX with races of other accesses: two stores, or an atomic operation and a store.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Discard everything: the launch begins."""
        self.others: set[int] = set()
        self.is_whole = True
        self._pieces: list[NDArray[np.int64]] = []
        self._count = 0

    def note(
        self, race: Race, threads: NDArray[np.bool_], numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> None:
        """Record a race of the threads of a mask (granules, ..., G, W, 32); ``numbers`` numbers the positions of
        bytes.
        """
        access = race.access
        if race.kind != RACE:
            return
        if race.verb == "writes" or (race.write and race.verb == "wrote") or not (race.write or is_plain(access)):
            self.others.add(access.instruction.line)
            return
        if not self.is_whole:
            return
        size = access.size // len(threads)
        first = numbers(np.broadcast_to(access.positions, threads.shape[1:]))
        steps = np.arange(len(threads), dtype=np.int64).reshape(-1, *(1,) * first.ndim) * size
        found = np.unique((first + steps)[threads])
        self._pieces.append((found[:, None] + np.arange(size)).reshape(-1))
        self._count += len(found) * size
        if self._count > _SOME:
            self._pieces = [self.bytes()]
            self._count = len(self._pieces[0])
            self.is_whole = self._count <= _MOST

    def bytes(self) -> NDArray[np.int64]:
        """Return the numbers of the bytes, in order."""
        return np.unique(np.concatenate(self._pieces)) if self._pieces else np.zeros(0, np.int64)
