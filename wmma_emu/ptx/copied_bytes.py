# SPDX-License-Identifier: MIT
"""Copies of bytes: memory for them that is kept, because new pages take longer than a copy, and threads that copy."""

import threading

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.blocks import available_cores


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
        self._kept: dict[int, NDArray[np.uint8]] = {}  # threads need no lock: `pop` returns each to one of them

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return bytes with any values."""
        if size >= _WORTH_KEEPING:
            for key, found in reversed(list(self._kept.items())):
                if size <= len(found) <= 2 * size and self._kept.pop(key, None) is not None:
                    return found[:size]
        return np.empty(size, np.uint8)

    def give(self, array: NDArray[np.uint8]) -> None:
        """Keep bytes that `take` has returned, to which no other array refers any more."""
        whole = array if array.base is None else array.base
        if isinstance(whole, np.ndarray) and _WORTH_KEEPING <= len(whole) <= self._most:
            self._kept[id(whole)] = whole
            size = 0
            for key, found in reversed(list(self._kept.items())):
                size += len(found)
                if size > self._most:
                    self._kept.pop(key, None)


_WORTH_KEEPING = 1 << 16
"""The size in bytes from which allocations take pages from the system."""

KEPT = KeptBytes(1 << 27)
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
