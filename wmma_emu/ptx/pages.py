# SPDX-License-Identifier: MIT
"""Host memory: arrays of zeros that take only the pages that are accessed, and bytes aligned as an allocation."""

import mmap
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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
