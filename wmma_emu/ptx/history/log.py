# SPDX-License-Identifier: MIT
"""Notes of a run, as they come: the first and the last of them, if there are many."""

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
"""Notes of the beginning that are kept; and as many of the end."""


class Hit(NamedTuple):
    """What one thread did to the bytes that are watched: ``first`` is where its part of them begins."""

    g: int
    warp: int
    lane: int
    first: int
    size: int
    value: int | None
    before: int | None = None


@dataclass
class Note:
    """What one execution of an instruction did: to the bytes that are watched (``hits``), or as synchronisation.

    ``packed`` are the threads of the latter, as bits of (G, W, 32).
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
        """Whether it is the same once more: a loop that waits."""
        if (self.what, self.detail, self.threads) != (other.what, other.detail, other.threads):
            return False
        if self.instruction is not other.instruction or self.hits != other.hits:
            return False
        if self.packed is None or other.packed is None:
            return self.packed is other.packed
        return bool(np.array_equal(self.packed, other.packed))

    def mask(self) -> NDArray[np.bool_]:
        """The threads of a synchronisation, (G, W, 32)."""
        shape = self.threads.shape
        if self.packed is None:
            return np.zeros(shape, np.bool_)
        return np.unpackbits(self.packed, count=shape[0] * shape[1] * shape[2]).astype(np.bool_).reshape(shape)


class Log:
    """Notes in their order; of a run of equal ones, one with its count."""

    def __init__(self) -> None:
        self._first: list[Note] = []
        self._last: deque[Note] = deque(maxlen=_KEPT)
        self.left_out = 0

    def add(self, note: Note) -> None:
        """Keep a note; beyond the limit, the one in the middle goes."""
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
        """Begin anew."""
        self._first.clear()
        self._last.clear()
        self.left_out = 0

    def __iter__(self) -> Iterator[Note]:
        yield from self._first
        yield from self._last
