# SPDX-License-Identifier: MIT
"""Which bytes an access in brackets reaches, and what is told of it to whoever checks the launch."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.kernels.lanes import Lanes
from wmma_emu.layouts.spec import LANES
from wmma_emu.watching import watching

__all__ = ["offsets_of", "tell_access"]

_Offsets = NDArray[np.int64]


def tell_access(
    memory: NDArray[Any], entries: tuple[Any, ...], what: str, values: Any = None, *, by_lanes: bool | None = None
) -> Any:  # fmt: skip
    """Tell of an access; return what is stored, as it arrives in memory.

    Parameters
    ----------
    memory : array
    entries : tuple
        The key, which has been checked; a field's name is left out, since that is a pointer.
    what : {"ld", "st", "red"}
    values : object
        What is stored.
    by_lanes : bool, optional
        Whether the last axis is the lane; by default it is where one is of `Lanes`.
    """
    watcher = watching.watcher
    if watcher is None or isinstance(entries, str):
        return values
    offsets = offsets_of(memory.shape, memory.strides, entries)
    if by_lanes is None:
        by_lanes = any(type(x) is Lanes and x.dtype.kind in "iu" for x in entries)
    by_lanes = by_lanes and offsets.ndim > 0 and offsets.shape[-1] == LANES
    stored = None
    if what == "st":
        stored = np.empty(offsets.shape, memory.dtype)
        stored[...] = values
        values = stored
    address = memory.__array_interface__["data"][0]
    if offsets.size:
        watcher.accessed(address, offsets, memory.dtype, what, stored, by_lanes=by_lanes)
    return values


def offsets_of(shape: tuple[int, ...], strides: tuple[int, ...], entries: tuple[Any, ...]) -> _Offsets:
    """Give the distance of each element that a key names from the array's first one, in bytes.

    Examples
    --------
    >>> offsets_of((4, 8), (16, 2), (np.array([0, 3]), 5)), offsets_of((4, 8), (16, 2), (slice(1, 2), slice(6, None)))
    (array([10, 58]), array([[28, 30]]))
    """
    total: Any = 0
    if len(entries) == len(shape) and all(_is_index(x) for x in entries):
        for entry, stride in zip(entries, strides, strict=True):
            total = total + np.asarray(entry, np.int64) * stride
        return np.asarray(total, np.int64)
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = _counted(length).reshape(-1, *(1,) * (len(shape) - axis - 1))
        total = total + np.broadcast_to(steps, shape)[entries] * stride
    return np.asarray(total, np.int64)


def _is_index(entry: Any) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.dtype.kind in "iu"
    return isinstance(entry, int | np.integer) and not isinstance(entry, bool)


@lru_cache(maxsize=64)
def _counted(length: int) -> _Offsets:
    return np.arange(length, dtype=np.int64)
