# SPDX-License-Identifier: MIT
"""Host memory: arrays of zeros that take only the pages that are accessed, bytes aligned as an allocation, and bytes
that are kept for the next launch, because the system takes longer to provide pages than to copy them."""

import mmap
import threading
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wmma_emu.arithmetic.blocks import available_cores

ALIGNMENT = 256
"""Alignment of an allocation in bytes, as for cudaMalloc."""

_LARGE = 1 << 26
"""Size in bytes from which an array is mapped in small pages."""


def zeroed(shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
    """Return an array of zeros of which only scattered bytes may ever be accessed.

    For a large array, NumPy requests pages of 2 MiB, and a system that grants them fills a whole page for the first
    byte that is accessed in it: with 512 KiB of local memory a thread, if each thread writes one word, a single
    instruction would allocate all of the memory, gigabytes. This array takes a page of 4 KiB a thread.

    Examples
    --------
    >>> zeroed(5), zeroed((2, 2), np.int32).nbytes
    (array([0, 0, 0, 0, 0], dtype=uint8), 16)
    >>> zeroed(1 << 26, np.uint16)[-2:]
    array([0, 0], dtype=uint16)
    """
    size = prod(shape) if isinstance(shape, tuple) else shape
    total = size * np.dtype(dtype).itemsize
    if total < _LARGE or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(shape, dtype)
    try:
        pages = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    except OSError:  # a kernel without large pages, or a limit of the process: NumPy reports the error
        return np.zeros(shape, dtype)
    return np.frombuffer(pages, dtype).reshape(shape)


def aligned(size: int, fill: int | None = None) -> NDArray[np.uint8]:
    """Return bytes with one value, or any, at an address that is a multiple of `ALIGNMENT`, as a separate buffer.

    Examples
    --------
    >>> found = aligned(5, 0xFF)
    >>> found, found.ctypes.data % 256
    (array([255, 255, 255, 255, 255], dtype=uint8), 0)
    """
    whole = np.empty(size + ALIGNMENT, np.uint8)
    if fill is not None:
        whole.fill(fill)
    begin = -whole.ctypes.data % ALIGNMENT
    # The memory view hides the bytes around, so that they do not count as the buffer.
    return np.frombuffer(whole.data[begin : begin + size], np.uint8) if size else whole[:0]


class KeptBytes:
    """Bytes of earlier launches, which later launches use again; at most ``most`` bytes, the last ones.

    Examples
    --------
    >>> kept = KeptBytes(1 << 20)
    >>> first = kept.take(1 << 18)
    >>> kept.give(first)
    >>> kept.take(200_000).ctypes.data == first.ctypes.data, kept.take(1 << 18).ctypes.data == first.ctypes.data
    (True, False)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return bytes with any values."""
        if size >= _WORTH_KEEPING:
            with self._lock:
                for i, found in enumerate(self._kept):
                    if size <= len(found) <= 2 * size:
                        return self._kept.pop(i)[:size]
        return np.empty(size, np.uint8)

    def give(self, array: NDArray[np.uint8]) -> None:
        """Keep bytes that `take` has returned, to which no other array refers any more."""
        whole = array if array.base is None else array.base
        if not isinstance(whole, np.ndarray) or not _WORTH_KEEPING <= len(whole) <= self._most:
            return
        with self._lock:
            self._kept.insert(0, whole)
            while sum(map(len, self._kept)) > self._most:
                self._kept.pop()


_WORTH_KEEPING = 1 << 16
"""The size in bytes from which allocations take pages from the system."""

KEPT = KeptBytes(1 << 28)
"""The bytes that are kept for all launches of this process."""

_A_PART = 1 << 22
"""The bytes that are worth another thread that copies."""


def copy_bytes(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> None:
    """Copy bytes between arrays of one size that do not overlap, with several threads if there are many.

    Examples
    --------
    >>> source = np.arange(9_000_000).view(np.uint8)
    >>> target = np.empty_like(source)
    >>> copy_bytes(target, source)
    >>> np.array_equal(target, source)
    True
    """
    count = min(available_cores(), len(source) // _A_PART) if len(source) >= 2 * _A_PART else 1
    if count == 1:
        target[:] = source
        return
    edges = [len(source) * i // count for i in range(count + 1)]
    parts = [slice(*edges[i : i + 2]) for i in range(count)]
    threads = [threading.Thread(target=np.copyto, args=(target[x], source[x]), daemon=True) for x in parts[1:]]
    for thread in threads:
        thread.start()
    target[parts[0]] = source[parts[0]]
    for thread in threads:
        thread.join()
