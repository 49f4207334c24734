# SPDX-License-Identifier: MIT
"""Accesses to the heap: the allocation of each address, checked at once if it is the same for all threads."""

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.address_map import round_up
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.masks import first_where
from wmma_emu.ptx.memory.windows import ResolvedAddresses
from wmma_emu.ptx.threads import Array

_ZERO = np.uint64(0)
_NOTHING = 1 << 63
"""Stands for the first address of a range if there is none: no address of an array or a variable."""


class HeapWindow:
    """The heap as the threads of a wave see it: its ranges, in the order of their addresses."""

    name = "global"

    def __init__(self, heap: GlobalMemory) -> None:
        self.heap = heap
        self.flat, self.view = heap.buffer, heap.view
        self.ranges = heap.ranges
        first = [heap.placement.address_at(r.lo) for r in self.ranges]
        self._order = sorted(range(len(first)), key=first.__getitem__)
        self._starts = [first[i] for i in self._order]
        ends = [first[i] + self.ranges[i].hi - self.ranges[i].lo for i in self._order]
        self._first = first
        self._shifts = [np.uint64((x - r.lo) % (1 << 64)) for x, r in zip(first, self.ranges, strict=True)]
        self._lo = np.array(self._starts or [_NOTHING], np.uint64)
        self._hi = np.array(ends or [_NOTHING], np.uint64)
        self._shift_of = np.array([self._shifts[i] for i in self._order] or [_ZERO], np.uint64)
        self._index = np.array(self._order or [-1])
        self._writeable = np.array([self.ranges[i].writeable for i in self._order] or [False])
        self._touching = any(a.hi == b.lo for a, b in zip(self.ranges, self.ranges[1:], strict=False))
        self._last: dict[int, int] = {}
        self.found = -1

    def locate(
        self, key: int, addresses: Array, size: int, alignment: int, used: NDArray[np.bool_] | None, write: bool
    ) -> ResolvedAddresses:
        """Find the bytes of an access; ``key`` identifies the instruction, which usually accesses one array only.

        Afterwards ``found`` is the index of the range that contains all of them, -1 if there is no such range.
        """
        guess = self._last.get(key, -1)
        found = self._all_in(guess, addresses, size, alignment, used, write)
        if found is None:
            first = int(addresses.flat[0]) if used is None else first_where(used, addresses)
            at = bisect_right(self._starts, first) - 1
            now = self._order[at] if at >= 0 else -1
            if now != guess:
                found = self._all_in(now, addresses, size, alignment, used, write)
                if found is not None:
                    self._last[key] = now
        return self._each(addresses, size, alignment, used, write) if found is None else found

    def _all_in(
        self, i: int, addresses: Array, size: int, alignment: int, used: NDArray[np.bool_] | None, write: bool
    ) -> ResolvedAddresses | None:
        if i < 0:
            return None
        r = self.ranges[i]
        if write and not r.writeable:
            return None
        first = self._first[i]
        end = first + r.hi - r.lo
        if used is not None:
            safe = round_up(first, alignment)
            if safe + size > end:
                return None
            addresses = np.where(used, addresses, np.uint64(safe))
        if (
            int(addresses.max()) > end - size
            or int(addresses.min()) < first
            or int(np.bitwise_or.reduce(addresses, axis=None)) & (alignment - 1)
        ):
            return None
        if write:
            self.heap.written.add(i)
        self.found = i
        return ResolvedAddresses((addresses - self._shifts[i]).view(np.int64), used)

    def _each(
        self, addresses: Array, size: int, alignment: int, used: NDArray[np.bool_] | None, write: bool
    ) -> ResolvedAddresses:
        self.found = -1
        i = np.searchsorted(self._lo, addresses, side="right") - 1
        at = np.maximum(i, 0)
        end = self._hi[at]
        # Sums could wrap: compare with the bytes that follow the address instead.
        inside = (i >= 0) & (addresses < end) & (end - np.minimum(addresses, end) >= np.uint64(size))
        read_only = inside & ~self._writeable[at] if write else np.zeros(inside.shape, np.bool_)
        needed = np.ones(inside.shape, np.bool_) if used is None else np.broadcast_to(used, inside.shape)
        if self._touching:
            for index in zip(*np.nonzero(needed & ~inside), strict=True):
                position = self.heap.placement.position_of(int(addresses[index]))
                verdict = self.heap.covers(position, size, write)
                inside[index], read_only[index] = verdict != "out of bounds", verdict == "read-only"
        outside = needed & ~inside
        misaligned = needed & inside & ((addresses & np.uint64(alignment - 1)) != 0)
        read_only &= needed & ~misaligned
        good = needed & ~(outside | misaligned | read_only)
        if write:
            self.heap.written.update(np.unique(self._index[at[good]]).tolist())
        positions = np.where(good, addresses - self._shift_of[at], _ZERO).view(np.int64)
        return ResolvedAddresses(
            positions, None if good.all() else good, *(m if m.any() else None for m in (outside, misaligned, read_only))
        )
