# SPDX-License-Identifier: MIT
"""The last atomic operation on each word: all atomic operations before it on the word happen before it."""

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
    """The stamps of the last atomic operations on some words, 0 if something else was written since.

    An atomic operation observes those before it on its word, each through the next. These happen before what the
    observing thread does next, and what is ordered after that (PTX ISA 9.1, Memory Consistency Model, Causality Order,
    the second rule). So the thread that drew the last ticket may reset the counter with a plain store.
    """

    def __init__(self, base: int, size: int) -> None:
        self._base = base & -_WORD
        self._stamps = zeroed((base + size - self._base) // _WORD + 1, np.dtype(np.uint64))

    def put(self, positions: NDArray[np.int64], size: int, stamps: Array) -> None:
        """Record operations in the order in which they were done: the last one on each word remains."""
        for first in range(0, max(size, _WORD), _WORD):
            self._stamps[(positions + first - self._base) // _WORD] = stamps

    def end(self, access: Access) -> None:
        """Record a write that observes nothing."""
        positions = access.positions
        if access.mask is not None:
            shape = np.broadcast_shapes(positions.shape, access.mask.shape)
            positions = np.broadcast_to(positions, shape)[np.broadcast_to(access.mask, shape)]
        for byte in sorted({*range(0, access.size, _WORD), access.size - 1}):
            self._stamps[(positions + byte - self._base) // _WORD] = 0

    def known(self, access: Access, granules: Granules, order: CausalityOrder) -> NDArray[np.bool_] | None:
        """Return which of these operations happen before the access; None for no operation.

        The shape is (granules, ..., G, W, 32).
        """
        granule_indices = granules.indices(access, access.positions)
        if access.mask is not None:
            granule_indices = np.where(access.mask, granule_indices, np.int64(0))
        bytes_ = granule_indices * granules.size + granules.base - self._base
        kind: Any = np.uint64 if access.stamps is None else access.stamps.dtype
        last = self._stamps[np.maximum(bytes_, 0) // _WORD].astype(kind)
        return (last != 0) & ~order.unordered(last) if last.any() else None
