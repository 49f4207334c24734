# SPDX-License-Identifier: MIT
"""Who is told of accesses to memory: the launch of a Python kernel that runs in this thread, if there is one."""

import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Watcher(Protocol):
    """What is told of the accesses of a warp."""

    def accessed(
        self, address: int, offsets: NDArray[np.int64], dtype: np.dtype[Any], what: str,
        values: NDArray[Any] | None = None, lanes: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        """Note one access, to elements that lie ``offsets`` bytes after an address of the host.

        ``what`` is "ld", "st" or "red": they are read, written, or changed by an atomic operation. ``values`` are what
        is written, or what was found there; ``lanes`` say whose the elements along the last axis are; without them the
        warp does it as a whole.
        """


class _Watching(threading.local):
    """The watcher of this thread."""

    watcher: Watcher | None = None


watching = _Watching()
"""Whoever launches a kernel sets ``watching.watcher``, and sets it back."""


def report_elements(array: NDArray[Any], positions: NDArray[np.int64], values: NDArray[Any], what: str = "ld") -> None:
    """Say that elements of a 1-D array are read, or, with "st", written: which values."""
    if watching.watcher is not None:
        watching.watcher.accessed(_address(array), positions * array.strides[0], array.dtype, what, values)


def report_rows(memory: NDArray[np.uint8], positions: NDArray[np.int64], rows: NDArray[np.uint8], what: str) -> None:
    """Say that rows of bytes are read, or written, where matrices are moved."""
    if watching.watcher is not None:
        values = np.ascontiguousarray(rows).view(f"V{rows.shape[-1]}")[..., 0]
        watching.watcher.accessed(_address(memory), positions, values.dtype, what, values)


def report_view(view: NDArray[Any], what: str = "ld") -> None:
    """Say that all elements of an array are read, or have been written."""
    if watching.watcher is not None and view.size:
        values = np.array(view, copy=True, subok=False)
        watching.watcher.accessed(_address(view), offsets_in(view), view.dtype, what, values)


def offsets_in(view: NDArray[Any]) -> NDArray[np.int64]:
    """Give the distance of each element from the first one, in bytes.

    Examples
    --------
    >>> offsets_in(np.zeros((4, 4), np.int16)[::2, 1:3])
    array([[ 0,  2],
           [16, 18]])
    """
    found = np.zeros((1,) * view.ndim, np.int64)
    for axis, (length, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        steps = np.arange(length, dtype=np.int64) * stride
        found = found + steps.reshape(-1, *(1,) * (view.ndim - axis - 1))
    return found


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
