# SPDX-License-Identifier: MIT
"""The memory of the emulated device: blocks of host memory, whose addresses are the device's addresses too."""

import ctypes
import threading
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx import empty

_GAP = 1 << 16
"""Bytes before and after each block, in which accesses out of bounds fall."""

_ALIGNMENT = 256
"""Every block begins at a multiple of it, as with cuMemAlloc."""


@dataclass(frozen=True, slots=True)
class DeviceBlock:
    """Memory of the device: its address, and its bytes.

    ``is_variable`` marks a variable of a module, which kernels reach by its name, at another address.
    """

    address: int
    bytes: NDArray[np.uint8]
    is_variable: bool = False

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.address + self.bytes.nbytes


def host_bytes(address: int, size: int) -> NDArray[np.uint8]:
    """Return bytes of the host by their address; the caller keeps them alive."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


class DeviceMemory:
    """The blocks of the device, found by any address in them.

    Examples
    --------
    >>> memory = DeviceMemory()
    >>> block = memory.allocate(16)
    >>> memory.fill(block.address, 7, 4)
    >>> memory.block_at(block.address + 15) is block, memory.block_at(block.address + 16)
    (True, None)
    >>> block.bytes[:5].tolist()
    [7, 7, 7, 7, 255]
    """

    def __init__(self) -> None:
        self._blocks: dict[int, DeviceBlock] = {}
        self._starts: list[int] = []
        self._lock = threading.RLock()

    def allocate(self, size: int, *, is_tracked: bool = True) -> DeviceBlock:
        """Allocate a block; reports name reads of its uninitialised bytes if it is tracked.

        The host writes to mapped and managed memory without a call, which cannot be tracked: it begins as zeros.
        """
        room = size + 2 * _GAP + _ALIGNMENT
        buffer: NDArray[Any] = empty(room, np.uint8) if is_tracked else np.zeros(room, np.uint8)
        start = _GAP + -(int(buffer.ctypes.data) + _GAP) % _ALIGNMENT
        return self.add(buffer[start : start + size])

    def add(self, array: NDArray[np.uint8], *, is_variable: bool = False) -> DeviceBlock:
        """Add bytes that exist already, such as pinned memory or a variable of a module."""
        block = DeviceBlock(int(array.ctypes.data), array, is_variable)
        with self._lock:
            if block.address not in self._blocks:
                self._starts.insert(bisect_right(self._starts, block.address), block.address)
            self._blocks[block.address] = block
        return block

    def add_host(self, address: int, size: int) -> DeviceBlock:
        """Add memory of the host by its address."""
        return self.add(host_bytes(address, size))

    def free(self, address: int) -> None:
        """Remove a block, whose bytes kernels can no longer reach."""
        with self._lock:
            if self._blocks.pop(address, None) is not None:
                self._starts.remove(address)

    def block_at(self, address: int) -> DeviceBlock | None:
        """Return the block with the byte at an address."""
        with self._lock:
            at = bisect_right(self._starts, address) - 1
            found = self._blocks[self._starts[at]] if at >= 0 else None
        return found if found is not None and address < found.end else None

    def reachable(self) -> list[DeviceBlock]:
        """Return all blocks that kernels can reach through pointers."""
        with self._lock:
            return [x for x in self._blocks.values() if x.bytes.nbytes and not x.is_variable]

    def clear(self) -> None:
        """Free everything."""
        with self._lock:
            self._blocks.clear()
            self._starts.clear()

    def write(self, target: int, source: int, size: int) -> None:
        """Copy bytes of the host to the device."""
        if size:
            self._part(target, size)[:] = host_bytes(source, size)

    def read(self, target: int, source: int, size: int) -> None:
        """Copy bytes of the device to the host."""
        if size:
            self._part(source, size)
            ctypes.memmove(target, source, size)

    def move(self, target: int, source: int, size: int) -> None:
        """Copy bytes of the device to other bytes of the device."""
        if size:
            self._part(source, size)
            self.write(target, source, size)

    def fill(self, target: int, value: int, size: int) -> None:
        """Write one value to a number of bytes, starting at an address."""
        if size:
            self._part(target, size)[:] = value & 0xFF

    def _part(self, address: int, size: int) -> NDArray[np.uint8]:
        block = self.block_at(address)
        if block is None or address + size > block.end:
            where = "in no allocation" if block is None else f"in one of {block.bytes.nbytes} bytes"
            raise ArgumentValueError(
                f"{size} bytes at {address:#x} of the device are {where}: it was freed, or is memory of the host"
            )
        return block.bytes[address - block.address :][:size]
