# SPDX-License-Identifier: MIT
"""The notes of a run in order; of many notes, the first and the last ones."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.findings import Message
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Threads

_KEPT = 20_000
"""The number of notes that are kept from the start of a run, and the same number from its end."""


class Hit(NamedTuple):
    """The access of one thread to watched bytes: ``first`` is the address at which its part of them starts."""

    g: int
    warp: int
    lane: int
    first: int
    size: int
    value: int | None
    before: int | None = None


@dataclass
class Note:
    """One execution of an instruction: its accesses to watched bytes (``hits``), or its synchronisation.

    ``packed`` are the threads that synchronise, as bits of (G, W, 32).
    """

    threads: Threads
    what: str
    instruction: PtxInstruction
    moment: int
    hits: list[Hit] | None = None
    packed: NDArray[np.uint8] | None = None
    detail: Message = ()
    count: int = 1

    def repeats(self, other: "Note") -> bool:
        """Return whether a note repeats another note, as in a loop that waits."""
        if (self.what, self.detail, self.threads) != (other.what, other.detail, other.threads):
            return False
        if self.instruction is not other.instruction or self.hits != other.hits:
            return False
        if self.packed is None or other.packed is None:
            return self.packed is other.packed
        return bool(np.array_equal(self.packed, other.packed))

    def mask(self) -> NDArray[np.bool_]:
        """Return the threads of a synchronisation, (G, W, 32)."""
        shape = self.threads.shape
        if self.packed is None:
            return np.zeros(shape, np.bool_)
        return np.unpackbits(self.packed, count=shape[0] * shape[1] * shape[2]).astype(np.bool_).reshape(shape)


class Log:
    """Notes in order; equal consecutive notes are one note with a count."""

    def __init__(self) -> None:
        self._first: list[Note] = []
        self._last: deque[Note] = deque(maxlen=_KEPT)
        self.left_out = 0

    def add(self, note: Note) -> None:
        """Add a note; beyond the limit, a note in the middle is dropped."""
        last = self._last[-1] if self._last else self._first[-1] if self._first else None
        if last is not None and last.repeats(note):
            last.count += 1
            return
        if len(self._first) < _KEPT:
            self._first.append(note)
            return
        self.left_out += len(self._last) == _KEPT
        self._last.append(note)

    def clear(self) -> None:
        """Remove all notes."""
        self._first.clear()
        self._last.clear()
        self.left_out = 0

    def __iter__(self) -> Iterator[Note]:
        yield from self._first
        yield from self._last
