# SPDX-License-Identifier: MIT
"""Zeros that take memory of the host where they are touched alone."""

import mmap
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_LARGE = 1 << 26
"""Bytes from which on an array is mapped in small pages."""


def zeroed(shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
    """Make an array of zeros, of which a few bytes here and there may be touched.

    NumPy asks for pages of 2 MiB where an array is large, and a system that grants them fills a whole one with zeros
    for the first byte that is touched in it: for local memory of 512 KiB a thread, of which each thread writes one
    word, that is all of it, gigabytes, in one instruction. Here it is a page of 4 KiB a thread.

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
    except OSError:  # a kernel without large pages, or a limit of the process: NumPy says what is wrong
        return np.zeros(shape, dtype)
    return np.frombuffer(pages, dtype).reshape(shape)
