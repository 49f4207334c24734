# SPDX-License-Identifier: MIT
"""A race that was found, and of which kind it is; and what all the races of a run are about."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.resolved_access import VOLATILE, Access

RACE, NEAR, LANES_AT_ONCE, EQUAL = "race", "race within a warp", "lanes store to one place", "race of equal bytes"
UNUSED = "race of an unused value"
"""Kinds of findings."""

SHARED = 1 << 60
"""What the bytes of shared memory are numbered from, block after block; those of the heap are numbered from 0."""

_PLAIN = ("ld", "ldu", "ldmatrix", "wmma", "cp")
"""Mnemonics of loads whose values are followed from the registers, or the copy, that they go to."""

_MOST = 1 << 22
"""Bytes that are listed."""

_SOME = 1 << 18

_Mask = NDArray[np.bool_]


class Race:
    """A race that was found: ``bad`` threads of an access, each of whose bytes another one has accessed.

    ``kind`` is that of the finding; ``verb`` says what the other did, "wrote" or "read", or "writes" in the same
    instruction; ``other`` gives the stamps of those that it is in a race with, for a place (granule, ..., G, W, lane).
    """

    def __init__(
        self, kind: str, touch: Access, bad: _Mask, verb: str, write: bool,
        other: Callable[[tuple[int, ...]], list[int]],
    ) -> None:  # fmt: skip
        self.kind, self.touch, self.bad, self.verb, self.write, self.other = kind, touch, bad, verb, write, other


def is_plain(touch: Access) -> bool:
    """Whether a read is a load that orders nothing, and whose value is followed to where it is used."""
    return touch.strength <= VOLATILE and touch.instruction.mnemonic in _PLAIN


class Raced:
    """What the races of a run are about: gathered while they are found, as far as ``is_whole`` says.

    ``others`` are the lines of the PTX with a race of other accesses: two stores, an atomic operation and a store.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget everything: the launch begins."""
        self.others: set[int] = set()
        self.is_whole = True
        self._pieces: list[NDArray[np.int64]] = []
        self._count = 0

    def note(
        self, race: Race, who: NDArray[np.bool_], numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> None:
        """Note a race of the threads of a mask (granules, ..., G, W, 32); ``numbers`` are those of bytes' positions."""
        touch = race.touch
        if race.kind != RACE:
            return
        if race.verb == "writes" or (race.write and race.verb == "wrote") or not (race.write or is_plain(touch)):
            self.others.add(touch.instruction.line)
            return
        if not self.is_whole:
            return
        size = touch.size // len(who)
        first = numbers(np.broadcast_to(touch.positions, who.shape[1:]))
        steps = np.arange(len(who), dtype=np.int64).reshape(-1, *(1,) * first.ndim) * size
        found = np.unique((first + steps)[who])
        self._pieces.append((found[:, None] + np.arange(size)).reshape(-1))
        self._count += len(found) * size
        if self._count > _SOME:
            self._pieces = [self.bytes()]
            self._count = len(self._pieces[0])
            self.is_whole = self._count <= _MOST

    def bytes(self) -> NDArray[np.int64]:
        """Give the numbers of the bytes, in order."""
        return np.unique(np.concatenate(self._pieces)) if self._pieces else np.zeros(0, np.int64)
