# SPDX-License-Identifier: MIT
"""The addresses of a heap's bytes: the emulator's own, or those that the arrays have on the host."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.ptx.memory.address_map import HEAP
from wmma_emu.ptx.memory.buffers import united
from wmma_emu.ptx.threads import Array


class MovedBytes(NamedTuple):
    """Host bytes from ``lo`` to before ``hi``, a copy of bytes that begin at the address ``original``."""

    lo: int
    hi: int
    original: int


class HostAddresses:
    """The host addresses of arrays; those of a copy are the addresses of the bytes that were copied.

    Examples
    --------
    >>> x = np.zeros(8, np.uint8)
    >>> HostAddresses().bounds(x[2:5])[0] - x.ctypes.data
    2
    >>> moved = MovedBytes(x.ctypes.data, x.ctypes.data + 8, 0x5000)
    >>> [hex(address) for address in HostAddresses([moved]).bounds(x[2:5])]
    ['0x5002', '0x5005']
    """

    def __init__(self, moved: Sequence[MovedBytes] = ()) -> None:
        self._moved = moved

    def bounds(self, array: NDArray[np.generic]) -> tuple[int, int]:
        """Return the address of an array's first byte and the end."""
        lo, hi = byte_bounds(array)
        for piece in self._moved:
            if piece.lo <= lo and hi <= piece.hi:
                return lo - piece.lo + piece.original, hi - piece.lo + piece.original
        return lo, hi

    def spans(self, arrays: Iterable[NDArray[np.generic]]) -> list[tuple[int, int]]:
        """Return the ranges of addresses that arrays cover, with arrays that overlap or touch merged."""
        return united((self.bounds(array) for array in arrays if array.nbytes), 0)


class _Segment(NamedTuple):
    """Addresses of the host, and the position in the heap of the first."""

    lo: int
    hi: int
    position: int


class Placement:
    """The address of each position of a heap: `HEAP` and the position, except in segments at addresses of the host.

    A position and its address have the same offset from a multiple of 256. There are gaps between the segments; an
    address in a gap has no position, which is a number that no position has.

    Examples
    --------
    >>> placement = Placement()
    >>> placement.place(0x5540_0010, 0x5540_0030, 0x2_0010)
    >>> hex(placement.address_at(0x2_0018)), hex(placement.position_of(0x5540_0018))
    ('0x55400018', '0x20018')
    >>> hex(placement.address_at(0x1_0000)), hex(placement.position_of(HEAP + 0x1_0000))
    ('0x17f0000010000', '0x10000')
    >>> placement.position_of(0x5540_0030) < 0
    True
    """

    def __init__(self) -> None:
        self._by_address: list[_Segment] = []
        self._by_position: list[_Segment] = []

    def place(self, lo: int, hi: int, position: int) -> None:
        """Place the positions from one on at the addresses from ``lo`` to ``hi``, which are in no other segment."""
        insort(self._by_address, _Segment(lo, hi, position))
        insort(self._by_position, _Segment(lo, hi, position), key=lambda x: x.position)

    def address_at(self, position: int) -> int:
        """Return the address of a position."""
        i = bisect_right(self._by_position, position, key=lambda x: x.position) - 1
        if i >= 0:
            found = self._by_position[i]
            if position < found.position + found.hi - found.lo:
                return found.lo + position - found.position
        return HEAP + position

    def position_of(self, address: int) -> int:
        """Return the position of an address."""
        i = bisect_right(self._by_address, address, key=lambda x: x.lo) - 1
        if i >= 0 and address < self._by_address[i].hi:
            return self._by_address[i].position + address - self._by_address[i].lo
        return address - HEAP

    def positions_of(self, addresses: Array) -> NDArray[np.int64]:
        """Return the positions of many addresses, as `position_of` does."""
        positions = (addresses - np.uint64(HEAP)).view(np.int64)
        if not self._by_address:
            return positions
        lo, hi, position = np.array(self._by_address, np.uint64).T
        i = np.maximum(np.searchsorted(lo, addresses, side="right") - 1, 0)
        inside = (addresses >= lo[i]) & (addresses < hi[i])
        return np.where(inside, (addresses - lo[i] + position[i]).view(np.int64), positions)
