# SPDX-License-Identifier: MIT
"""Pieces of knowledge that threads have acquired, one after the other."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.knowledge import Knowledge
from wmma_emu.ptx.causality.threads import ThreadIndices

_Ids = NDArray[np.int64]

FoundPieces = tuple[_Ids, _Ids]
"""Pieces that threads found at words, and the release sequence of each, 0 for none.

A piece that is found later in the same sequence contains those found before.
"""


class GatheredPieces:
    """For each thread of a wave all pieces that it acquired, with the last one kept separately.

    A thread that waits for a flag, or reads one counter again and again, finds ever more of one release sequence: only
    the last piece that it found is kept of the sequence.

    ``is_empty`` is whether no thread has acquired any; ``changes`` counts how often one did.
    """

    def __init__(self, knowledge: Knowledge, shape: tuple[int, ...]) -> None:
        self.knowledge = knowledge
        self._pieces = np.zeros(shape, np.int64)
        self._last = np.zeros(shape, np.int64)
        self._sequence = np.zeros(shape, np.int64)
        self.is_empty, self.changes = True, 0

    def add(self, at: ThreadIndices, found: FoundPieces) -> None:
        """Let threads acquire a piece each; 0 is the empty piece."""
        pieces, sequences = found
        last, sequence = self._last[at], self._sequence[at]
        older = (sequences != 0) & (sequences == sequence) & (pieces < last)  # the numbers of pieces increase
        news = (pieces != 0) & (pieces != last) & ~older
        if not news.any():
            return
        self.is_empty, self.changes = False, self.changes + 1
        is_separate = news & ((sequences == 0) | (sequences != sequence))
        if is_separate.any():
            where = at[0][is_separate], at[1][is_separate], at[2][is_separate]
            self._pieces[where] = self.knowledge.join(self._pieces[where], last[is_separate])
        self._last[at] = np.where(news, pieces, last)
        self._sequence[at] = np.where(news, sequences, sequence)

    def of(self, at: ThreadIndices) -> _Ids:
        """Return everything that threads have acquired, as one piece each."""
        if self.is_empty:
            return np.zeros(len(at[0]), np.int64)
        return self.knowledge.join(self._pieces[at], self._last[at])

    def have_any(self, threads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which threads, counted through the wave, have acquired any piece."""
        pieces, last = (x.reshape(-1).take(threads) for x in (self._pieces, self._last))
        return np.asarray((pieces | last) != 0)

    def parts(self, at: ThreadIndices) -> tuple[_Ids, FoundPieces]:
        """Return the pieces before the last one, and the last one."""
        return self._pieces[at], (self._last[at], self._sequence[at])

    def put(self, at: ThreadIndices, pieces: _Ids) -> None:
        """Replace everything that threads have acquired by a piece each."""
        self._pieces[at], self._last[at], self._sequence[at] = pieces, 0, 0
        self.is_empty, self.changes = self.is_empty and not pieces.any(), self.changes + 1
