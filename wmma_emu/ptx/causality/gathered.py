# SPDX-License-Identifier: MIT
"""Pieces of knowledge that threads have come by, one after the other."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.knowledge import Knowledge
from wmma_emu.ptx.causality.threads import At

_Ids = NDArray[np.int64]

Found = tuple[_Ids, _Ids]
"""Pieces that threads found at words, and the release sequence of each: 0 for none. What is found later in the same
sequence contains what was found before."""


class Gathered:
    """For each thread of a chunk all pieces that it came by, the last one apart.

    A thread that waits for a flag, or comes to one counter again and again, finds ever more of one release sequence:
    the last one it found is all that is kept of it.

    ``is_empty`` while no thread has come by any; ``changes`` counts how often any did.
    """

    def __init__(self, knowledge: Knowledge, shape: tuple[int, ...]) -> None:
        self.knowledge = knowledge
        self._pieces = np.zeros(shape, np.int64)
        self._last = np.zeros(shape, np.int64)
        self._sequence = np.zeros(shape, np.int64)
        self.is_empty, self.changes = True, 0

    def add(self, at: At, found: Found) -> None:
        """Let threads come by a piece each; 0 is none."""
        pieces, sequences = found
        last, sequence = self._last[at], self._sequence[at]
        older = (sequences != 0) & (sequences == sequence) & (pieces < last)  # numbers of pieces go up
        news = (pieces != 0) & (pieces != last) & ~older
        if not news.any():
            return
        self.is_empty, self.changes = False, self.changes + 1
        apart = news & ((sequences == 0) | (sequences != sequence))
        if apart.any():
            where = at[0][apart], at[1][apart], at[2][apart]
            self._pieces[where] = self.knowledge.join(self._pieces[where], last[apart])
        self._last[at] = np.where(news, pieces, last)
        self._sequence[at] = np.where(news, sequences, sequence)

    def of(self, at: At) -> _Ids:
        """All that threads have come by, as one piece each."""
        if self.is_empty:
            return np.zeros(len(at[0]), np.int64)
        return self.knowledge.join(self._pieces[at], self._last[at])

    def have_any(self, threads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which threads, counted through the chunk, have come by any."""
        pieces, last = (x.reshape(-1).take(threads) for x in (self._pieces, self._last))
        return np.asarray((pieces | last) != 0)

    def parts(self, at: At) -> tuple[_Ids, Found]:
        """The same in two: the pieces before the last one, and the last one."""
        return self._pieces[at], (self._last[at], self._sequence[at])

    def put(self, at: At, pieces: _Ids) -> None:
        """Let threads have come by a piece each, and nothing else."""
        self._pieces[at], self._last[at], self._sequence[at] = pieces, 0, 0
        self.is_empty, self.changes = self.is_empty and not pieces.any(), self.changes + 1
