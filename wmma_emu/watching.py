# SPDX-License-Identifier: MIT
"""Reports of memory accesses to the Python kernel that runs in this thread, if there is one."""

import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Watcher(Protocol):
    """A receiver of reports of a warp's accesses."""

    def accessed(
        self, address: int, offsets: NDArray[np.int64], dtype: np.dtype[Any], what: str,
        values: NDArray[Any] | None = None, lanes: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        """Record one access, to elements at ``offsets`` bytes after an address of the host.

        ``what`` is "ld", "st" or "red" for reads, writes and atomic operations. ``values`` are the values that were
        written or read. ``lanes`` names the lane of each element along the last axis; without it the warp accesses
        memory as a whole.
        """


class _Watching(threading.local):
    """The watcher of this thread."""

    watcher: Watcher | None = None


watching = _Watching()
"""The launch of a kernel sets ``watching.watcher``, and restores it."""


def report_elements(array: NDArray[Any], positions: NDArray[np.int64], values: NDArray[Any], what: str = "ld") -> None:
    """Report that elements of a 1-D array are read or, with "st", written, and their values."""
    if watching.watcher is not None:
        watching.watcher.accessed(_address(array), positions * array.strides[0], array.dtype, what, values)


def report_rows(memory: NDArray[np.uint8], positions: NDArray[np.int64], rows: NDArray[np.uint8], what: str) -> None:
    """Report that rows of bytes are read or written by a movement of matrices."""
    if watching.watcher is not None:
        values = np.ascontiguousarray(rows).view(f"V{rows.shape[-1]}")[..., 0]
        watching.watcher.accessed(_address(memory), positions, values.dtype, what, values)


def report_view(view: NDArray[Any], what: str = "ld") -> None:
    """Report that all elements of an array are read, or have been written."""
    if watching.watcher is not None and view.size:
        values = np.array(view, copy=True, subok=False)
        watching.watcher.accessed(_address(view), offsets_in(view), view.dtype, what, values)


def offsets_in(view: NDArray[Any]) -> NDArray[np.int64]:
    """Return the distance of each element from the first one in bytes.

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
