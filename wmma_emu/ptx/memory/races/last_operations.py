# SPDX-License-Identifier: MIT
"""The last atomic operation on each word: whoever knows of it knows of all that came before it there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.races.granules import Granules
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.threads import Array

_WORD = 4


class LastOperations:
    """The stamps of the last atomic operations on some words, 0 where something else was written since.

    An atomic operation observes those before it on its word, one through the other, and what is observed precedes what
    the observing thread does next, and what is ordered behind that (PTX ISA 9.1, Memory Consistency Model, Causality
    Order, the second rule). So the thread that drew the last ticket may put the counter back with a plain store.
    """

    def __init__(self, base: int, size: int) -> None:
        self._base = base & -_WORD
        self._stamps = zeroed((base + size - self._base) // _WORD + 1, np.dtype(np.uint64))

    def put(self, positions: NDArray[np.int64], size: int, stamps: Array) -> None:
        """Note operations in the order in which they were done: the last one at each word stays."""
        for first in range(0, max(size, _WORD), _WORD):
            self._stamps[(positions + first - self._base) // _WORD] = stamps

    def end(self, touch: Access) -> None:
        """Note that something was written which observes nothing."""
        positions = touch.positions
        if touch.mask is not None:
            shape = np.broadcast_shapes(positions.shape, touch.mask.shape)
            positions = np.broadcast_to(positions, shape)[np.broadcast_to(touch.mask, shape)]
        for byte in sorted({*range(0, touch.size, _WORD), touch.size - 1}):
            self._stamps[(positions + byte - self._base) // _WORD] = 0

    def known(self, touch: Access, granules: Granules, order: CausalityOrder) -> NDArray[np.bool_] | None:
        """Say of which of them threads know, (granules, ..., G, W, 32); None if of none."""
        places = granules.places(touch, touch.positions)
        if touch.mask is not None:
            places = np.where(touch.mask, places, np.int64(0))
        bytes_ = places * granules.size + granules.base - self._base
        kind: Any = np.uint64 if touch.stamps is None else touch.stamps.dtype
        last = self._stamps[np.maximum(bytes_, 0) // _WORD].astype(kind)
        return (last != 0) & ~order.unordered(last) if last.any() else None
