# SPDX-License-Identifier: MIT
"""Strong accesses to words that only strong accesses have used: they cannot race, so recording them is deferred."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.races.granules import chosen_of
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.threads import Array

_Words = NDArray[np.int64]

_MOST = 1 << 20
"""Number of deferred accesses of one wave from which they are compacted."""


class Entry(NamedTuple):
    """Accesses of one strength: the words, counted from the first of the region, and the stamp of each."""

    words: NDArray[np.uint32]
    stamps: Array
    strength: int
    write: bool


class DeferredAccesses:
    """The strong accesses to some bytes, and their words; ``threads_of`` returns the thread numbers of stamps."""

    def __init__(self, base: int, size: int, threads_of: Callable[[Array], NDArray[np.int64]]) -> None:
        self._base, self._threads_of = base & -32, threads_of
        self._words = (base + size - self._base) // 4 + 8
        self._marks: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._entries: list[Entry] = []
        self._of_wave = self._count = self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._entries)

    @property
    def bytes(self) -> int:
        """Bytes of host memory in use."""
        return self._bytes + len(self._marks)

    def add(self, access: Access, write: bool) -> None:
        """Add an access to whole words."""
        if not len(self._marks):
            self._marks = zeroed(self._words, np.bool_)
        words, stamps = self._words_of(access)
        self._marks[words] = True
        stamps = np.broadcast_to(stamps, words.shape).reshape(-1)
        self._entries.append(Entry(words.reshape(-1).astype(np.uint32), stamps, access.strength, write))
        self._count += words.size
        self._bytes += words.size * (4 + stamps.itemsize)
        if self._count > _MOST:
            self._compact()

    def meets(self, access: Access) -> bool:
        """Return whether an access uses words of deferred accesses."""
        return bool(self._entries) and bool(self._marks.take(self._words_of(access)[0]).any())

    def take(self) -> list[Entry]:
        """Return the deferred accesses, and remove them."""
        found, self._entries = self._entries, []
        for entry in found:
            self._marks[entry.words] = False
        self._of_wave = self._count = self._bytes = 0
        return found

    def end_wave(self) -> None:
        """Begin a new wave, whose threads are different ones."""
        self._of_wave, self._count = len(self._entries), 0

    def _words_of(self, access: Access) -> tuple[_Words, Array]:
        positions, stamps = chosen_of(access, access.positions, access.stamps)  # type: ignore[arg-type]
        first = (positions - self._base if self._base else positions) >> 2
        count = -(-access.size // 4) + (access.unit < min(access.size, 4))
        if count > 1:
            first = first + np.arange(count).reshape(-1, *(1,) * first.ndim)
        return first, stamps

    def _compact(self) -> None:
        """Keep the last access of each thread to each word: the earlier ones happen before it."""
        groups: dict[tuple[int, bool], list[Entry]] = {}
        for entry in self._entries[self._of_wave :]:
            groups.setdefault((entry.strength, entry.write), []).append(entry)
        del self._entries[self._of_wave :]
        for key, entries in groups.items():
            words, stamps = (np.concatenate(x) for x in ([e.words for e in entries], [e.stamps for e in entries]))
            threads = self._threads_of(stamps)
            order = np.lexsort((threads, words))
            words, stamps, threads = words[order], stamps[order], threads[order]
            last = np.append((words[1:] != words[:-1]) | (threads[1:] != threads[:-1]), True)
            self._entries.append(Entry(words[last], stamps[last], *key))
        self._count = sum(len(e.words) for e in self._entries[self._of_wave :]) // 2
        self._bytes = sum(e.words.nbytes + e.stamps.nbytes for e in self._entries)
