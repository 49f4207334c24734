# SPDX-License-Identifier: MIT
"""Accesses to the heap: the allocation of each address, checked at once if it is the same for all threads."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.address_map import HEAP, round_up
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.masks import first_where
from wmma_emu.ptx.memory.windows import ResolvedAddresses
from wmma_emu.ptx.threads import Array

_HEAP, _ZERO = np.uint64(HEAP), np.uint64(0)


class HeapWindow:
    """The heap as the threads of a wave see it."""

    name = "global"

    def __init__(self, heap: GlobalMemory) -> None:
        self.heap = heap
        self.flat, self.view = heap.buffer, heap.view
        self.ranges = heap.ranges
        self._lo = np.array([r.lo for r in self.ranges] or [1 << 62], np.uint64)
        self._hi = np.array([r.hi for r in self.ranges] or [1 << 62], np.uint64)
        self._writeable = np.array([r.writeable for r in self.ranges] or [False])
        self._touching = any(a.hi == b.lo for a, b in zip(self.ranges, self.ranges[1:], strict=False))
        self._last: dict[int, int] = {}
        self.found = -1

    def locate(
        self, key: int, addresses: Array, size: int, alignment: int, used: NDArray[np.bool_] | None, write: bool
    ) -> ResolvedAddresses:
        """Find the bytes of an access; ``key`` identifies the instruction, which usually accesses one array only.

        Afterwards ``found`` is the index of the range that contains all of them, -1 if there is no such range.
        """
        offsets = addresses - _HEAP
        guess = self._last.get(key, -1)
        found = self._all_in(guess, offsets, size, alignment, used, write)
        if found is None:
            first = int(offsets.flat[0]) if used is None else first_where(used, offsets)
            now = self.heap.range_at(first)
            if now != guess:
                found = self._all_in(now, offsets, size, alignment, used, write)
                if found is not None:
                    self._last[key] = now
        return self._each(offsets, size, alignment, used, write) if found is None else found

    def _all_in(
        self, i: int, offsets: Array, size: int, alignment: int, used: NDArray[np.bool_] | None, write: bool
    ) -> ResolvedAddresses | None:
        if i < 0:
            return None
        r = self.ranges[i]
        if write and not r.writeable:
            return None
        if used is not None:
            safe = round_up(r.lo, alignment)
            if safe + size > r.hi:
                return None
            offsets = np.where(used, offsets, np.uint64(safe))
        if (
            int(offsets.max()) > r.hi - size
            or int(offsets.min()) < r.lo
            or int(np.bitwise_or.reduce(offsets, axis=None)) & (alignment - 1)
        ):
            return None
        if write:
            self.heap.written.add(i)
        self.found = i
        return ResolvedAddresses(offsets.view(np.int64), used)

    def _each(
        self, offsets: Array, size: int, alignment: int, used: NDArray[np.bool_] | None, write: bool
    ) -> ResolvedAddresses:
        self.found = -1
        i = np.searchsorted(self._lo, offsets, side="right") - 1
        at = np.maximum(i, 0)
        end = self._hi[at]
        # Sums could wrap: compare with the bytes that follow the address instead.
        inside = (i >= 0) & (offsets < end) & (end - np.minimum(offsets, end) >= np.uint64(size))
        read_only = inside & ~self._writeable[at] if write else np.zeros(inside.shape, np.bool_)
        needed = np.ones(inside.shape, np.bool_) if used is None else np.broadcast_to(used, inside.shape)
        if self._touching:
            for index in zip(*np.nonzero(needed & ~inside), strict=True):
                verdict = self.heap.covers(int(offsets[index]), size, write)
                inside[index], read_only[index] = verdict != "out of bounds", verdict == "read-only"
        outside = needed & ~inside
        misaligned = needed & inside & ((offsets & np.uint64(alignment - 1)) != 0)
        read_only &= needed & ~misaligned
        good = needed & ~(outside | misaligned | read_only)
        if write:
            self.heap.written.update(np.unique(at[good]).tolist())
        positions = np.where(good, offsets, _ZERO).view(np.int64)
        return ResolvedAddresses(
            positions, None if good.all() else good, *(m if m.any() else None for m in (outside, misaligned, read_only))
        )
