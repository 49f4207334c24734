# SPDX-License-Identifier: MIT
"""Reads of shared memory by asynchronous products, and the waits that complete them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES, WARPS
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.proxies.pieces import LastAccesses
from wmma_emu.ptx.program.program import PtxInstruction

_KEPT = 16
"""Waits of each warp that are remembered; older ones count as known to all threads."""


class ProductReads:
    """For each piece of shared memory and each warpgroup the last product that read it, by its wgmma-group.

    A product is complete for all four warps as soon as one of them has waited for it: kernels let a single thread of
    a warpgroup tell the producer that a stage is free. ``waits`` are the numbers of groups that each warp had waited
    for, and the stamps of these waits.
    """

    def __init__(self, order: CausalityOrder, shape: tuple[int, int, int], size: int) -> None:
        self._order, self._shape, self._size = order, shape, size
        self._last: dict[int, LastAccesses] = {}
        self._limits = np.zeros((_KEPT, *shape[:2]), np.int64)
        self._stamps = np.zeros((_KEPT, *shape[:2]), np.uint64)
        self._counts = np.zeros(shape[:2], np.int64)

    def read(
        self, pieces: NDArray[np.int64], warps: NDArray[np.int64], groups: NDArray[np.int64],
        instruction: PtxInstruction,
    ) -> None:  # fmt: skip
        """Record that a product reads pieces, each for a warp of the wave and as a part of its group of this number."""
        counts = groups.astype(np.uint64) + np.uint64(1)
        if self._shape[1] <= WARPS:
            self._of(0).put(pieces, counts, instruction)
            return
        of_block = warps % self._shape[1] // WARPS
        for warpgroup in range(self._shape[1] // WARPS):
            chosen = of_block == warpgroup
            if chosen.any():
                self._of(warpgroup).put(pieces[chosen], counts[chosen], instruction)

    def _of(self, warpgroup: int) -> LastAccesses:
        if warpgroup not in self._last:
            self._last[warpgroup] = LastAccesses(self._size)
        return self._last[warpgroup]

    def wait(self, limits: NDArray[np.int64], warps: NDArray[np.bool_] | None) -> None:
        """Record that some warps have waited for their groups with numbers below the limits, (blocks, warps)."""
        g, w = np.nonzero(np.broadcast_to(True if warps is None else warps, self._counts.shape))
        slot = self._counts[g, w] % _KEPT
        self._limits[slot, g, w] = limits[g, w]
        self._stamps[slot, g, w] = self._order.stamps(None)[g, w, 0]
        self._counts[g, w] += 1

    def not_awaited(
        self, pieces: NDArray[np.int64], threads: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.bool_], LastAccesses]]:
        """Yield which threads know of no wait for the products that read their pieces, for each warpgroup."""
        for warpgroup, last in self._last.items():
            groups = last.stamps(pieces).astype(np.int64)
            at = np.flatnonzero(groups)
            if not len(at):
                continue
            last.forget(pieces[at])
            count = self._shape[0] * self._shape[1] * LANES
            pairs, which = np.unique((groups[at] - 1) * count + threads[at], return_inverse=True)
            bad = np.array([not self._knows_wait(warpgroup, *divmod(pair, count)) for pair in pairs.tolist()])
            found = np.zeros(len(pieces), np.bool_)
            found[at] = bad[which.reshape(-1)]
            yield found, last

    def _knows_wait(self, warpgroup: int, group: int, thread: int) -> bool:
        """Return whether a thread knows of a wait of a warp of the warpgroup; its own warp waits for all its lanes."""
        block, warp = divmod(thread // LANES, self._shape[1])
        members = slice(WARPS * warpgroup, WARPS * warpgroup + WARPS)
        over = self._limits[:, block, members] > group
        if warp // WARPS == warpgroup and over[:, warp % WARPS].any():
            return True
        if ((self._counts[block, members] > _KEPT) & over.all(axis=0)).any():
            return True
        stamps = self._stamps[:, block, members][over]
        return not self._order.unordered_for(stamps, np.full(len(stamps), thread, np.int64)).all()
