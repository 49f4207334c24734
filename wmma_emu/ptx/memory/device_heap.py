# SPDX-License-Identifier: MIT
"""The device heap: the blocks that ``malloc`` of kernels returns, which live until ``free``, also after a launch."""

from bisect import bisect_right
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.address_map import HEAP
from wmma_emu.ptx.memory.windows import ResolvedAddresses

_ALIGNMENT, _GAP = 16, 16
"""The alignment of a block (as on a GPU), and the least gap after one."""

_SPAN = 4
"""The positions of the heap, as a multiple of its capacity: freed blocks are not used again while others are left."""


@dataclass(frozen=True, slots=True)
class HeapBlock:
    """A block of the device heap: memory that ``malloc`` of a kernel returned, an entry of `Module.device_heap`.

    Attributes
    ----------
    address, bytes : int
        Its generic address and its size.
    allocated : str
        Where ``malloc`` was called: the position in the source if it is known, else the line of the PTX.
    freed : str
        Where ``free`` was called; "" if the block is in use.

    Examples
    --------
    >>> hex(HeapBlock(0x17F0000010000, 24, "kernel.cu:12").address)
    '0x17f0000010000'
    """

    address: int
    bytes: int
    allocated: str
    freed: str = ""


def _rounded(number: int) -> int:
    return -(-number // _ALIGNMENT) * _ALIGNMENT


@dataclass(slots=True)
class DeviceHeap:
    """The blocks of a device heap of ``capacity`` bytes, and the contents of those in use when no launch runs.

    A block takes a multiple of 16 bytes; a GPU takes more, and the heap is exhausted earlier.

    Examples
    --------
    >>> heap = DeviceHeap(80)
    >>> heap.begin(0x20000)
    >>> first, second, none = (heap.allocate(size, "line 7") for size in (40, 20, 20))
    >>> hex(first), hex(second), none
    ('0x17f0000020000', '0x17f0000020040', 0)
    >>> heap.release(first, "line 9"), heap.release(first + 8, "line 9"), heap.find(first).freed
    (True, False, 'line 9')
    >>> heap.in_use()
    [HeapBlock(address=421112953569344, bytes=20, allocated='line 7', freed='')]
    """

    capacity: int
    start: int = 0
    token: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, np.uint8))
    _blocks: list[HeapBlock] = field(default_factory=list)
    _addresses: list[int] = field(default_factory=list)
    _contents: dict[int, bytes] = field(default_factory=dict)
    _used: int = 0
    _alive: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))

    @property
    def span(self) -> int:
        """The number of positions of the global heap that belong to the device heap."""
        return _SPAN * self.capacity + _GAP

    def begin(self, start: int) -> None:
        """Begin a launch in which the device heap begins at a position of the global heap."""
        self.start = start
        self._alive = np.zeros(self.span, np.uint8)
        for x in self.in_use():
            self._mark(x, True)

    def copied(self, capacity: int) -> "DeviceHeap":
        """Return a copy for a launch, with the blocks that are in use and a capacity that is at least their size."""
        blocks = self.in_use()
        last = max((x.address + x.bytes - HEAP - self.start for x in blocks), default=0)
        most = max(capacity, self._used, -(-last // _SPAN))
        return DeviceHeap(
            most, self.start, self.token, blocks, [x.address for x in blocks], dict(self._contents), self._used
        )

    def in_use(self) -> list[HeapBlock]:
        """Return the blocks that were not freed, by address."""
        return [x for x in self._blocks if not x.freed]

    def find(self, address: int) -> HeapBlock | None:
        """Return the last block that begins at or before an address, and contains it or ends shortly before it."""
        i = bisect_right(self._addresses, address) - 1
        return self._blocks[i] if i >= 0 else None

    def owns(self, address: int) -> bool:
        """Return whether an address belongs to the device heap."""
        return self.start <= address - HEAP < self.start + self.span

    def allocate(self, size: int, where: str) -> int:
        """Return the address of a new block; 0 if the heap is exhausted, or if the size is 0."""
        if not size or _rounded(size) > self.capacity - self._used:
            return 0
        last = self._blocks[-1] if self._blocks else None
        end = HEAP + self.start if last is None else last.address + last.bytes + _GAP
        address = _rounded(end)
        if address + size + _GAP > HEAP + self.start + self.span:
            return self._allocate_again(size, where)
        self._blocks.append(HeapBlock(address, size, where))
        self._addresses.append(address)
        self._note(self._blocks[-1], True)
        return address

    def _allocate_again(self, size: int, where: str) -> int:
        """Use a block that was freed again, the first that is large enough."""
        for i, x in enumerate(self._blocks):
            if x.freed and x.bytes >= size:
                self._blocks[i] = HeapBlock(x.address, size, where)
                self._note(self._blocks[i], True)
                return x.address
        return 0

    def release(self, address: int, where: str) -> bool:
        """Free the block at an address; return False if no block that is in use begins there."""
        i = bisect_right(self._addresses, address) - 1
        if i < 0 or self._blocks[i].address != address or self._blocks[i].freed:
            return False
        self._note(self._blocks[i], False)
        self._blocks[i] = replace(self._blocks[i], freed=where)
        return True

    def _note(self, block: HeapBlock, alive: bool) -> None:
        taken = _rounded(block.bytes)
        self._used += taken if alive else -taken
        self._mark(block, alive)

    def _mark(self, block: HeapBlock, alive: bool) -> None:
        first = block.address - HEAP - self.start
        self._alive[first : first + block.bytes] = alive

    def checked(self, where: ResolvedAddresses, size: int) -> ResolvedAddresses:
        """Mark the accesses to bytes of the device heap that are in no block as out of bounds."""
        first = where.positions - self.start
        inside = (first >= 0) & (first < self.span - size)
        at = np.where(inside, first, 0)
        bad = inside & (self._alive[at] == 0)
        for offset in {min(_GAP, size - 1), size - 1}:  # an access that crosses a gap has one of these bytes in it
            bad |= inside & (self._alive[at + offset] == 0)
        bad = bad if where.used is None else bad & where.used
        if not bad.any():
            return where
        used = ~bad if where.used is None else where.used & ~bad
        outside = bad if where.outside is None else bad | where.outside
        return where._replace(positions=np.where(bad, 0, where.positions), used=used, outside=outside)

    def copy_in(self, heap: NDArray[np.uint8]) -> None:
        """Copy the contents of the blocks to the global heap."""
        for x in self.in_use():
            kept = self._contents.get(x.address, b"")
            heap[x.address - HEAP : x.address - HEAP + len(kept)] = np.frombuffer(kept, np.uint8)

    def copy_back(self, heap: NDArray[np.uint8]) -> "DeviceHeap":
        """Return the device heap after a launch, with the contents of the blocks that are in use."""
        after = self.copied(self.capacity)
        after._contents = {x.address: heap[x.address - HEAP :][: x.bytes].tobytes() for x in self.in_use()}
        return after
