# SPDX-License-Identifier: MIT
"""Which bytes an access in brackets reaches, and what is told of it to whoever checks the launch."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.kernels.lanes import Lanes
from wmma_emu.layouts.spec import LANES
from wmma_emu.watching import watching

_Offsets = NDArray[np.int64]

ALL_LANES = np.arange(LANES)


def record_access(
    memory: NDArray[Any], entries: tuple[Any, ...], what: str, values: Any = None
) -> Any:  # fmt: skip
    """Tell of an access; return what is stored, as it arrives in memory.

    ``what`` is "ld", "st" or "red", ``values`` what is stored, or what is found there. ``entries`` are the key, which
    has been checked; a field's name is left out, since that is a pointer.
    """
    watcher = watching.watcher
    if watcher is None or isinstance(entries, str):
        return values
    offsets = offsets_of(memory.shape, memory.strides, entries)
    if what == "st":
        stored = np.empty(offsets.shape, memory.dtype)
        stored[...] = values
        values = stored
    address = memory.__array_interface__["data"][0]
    if offsets.size:
        lanes = None if offsets.ndim == 0 else lanes_of_key(entries, offsets.shape[-1])
        watcher.accessed(address, offsets, memory.dtype, what, np.asarray(values), lanes)
    return values


def lanes_of_key(entries: tuple[Any, ...], width: int) -> _Offsets | None:
    """Say whose the elements along the last axis are that a key names; None where they are not lanes', or whose.

    Examples
    --------
    >>> i = Lanes(np.arange(32))
    >>> lanes_of_key((i + 1,), 32)[:3], lanes_of_key((i[i > 29] - 30,), 2), lanes_of_key((np.arange(32),), 32)
    (array([0, 1, 2]), array([30, 31]), None)
    """
    if not any(type(x) is Lanes and x.dtype.kind in "iu" and x.shape[-1:] == (width,) for x in entries):
        return None
    first = next(i for i, x in enumerate(entries) if isinstance(x, np.ndarray))
    if any(isinstance(x, slice) or x is None or x is Ellipsis for x in entries[first:]):
        return None
    if width == LANES:
        return ALL_LANES
    found = (x.which for x in entries if type(x) is Lanes and x.which is not None)
    return next((x for x in found if len(x) == width), None)


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
