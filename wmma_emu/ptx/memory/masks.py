# SPDX-License-Identifier: MIT
"""Masks of threads, and values that are narrower than the threads because threads agree on them."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.threads import Active, Array


def fit(active: Active, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Return which elements of a narrow value any active thread uses; None if all are used.

    ``shape`` is the shape of the value.

    Examples
    --------
    >>> active = np.zeros((2, 1, 32), bool)
    >>> active[1, 0, 5] = True
    >>> fit(active, (1, 1, 1)) is None, fit(active, (2, 1, 1)).ravel()
    (True, array([False,  True]))
    """
    if active is None:
        return None
    axes = tuple(k for k in (-3, -2, -1) if shape[k] == 1 and active.shape[k] != 1)
    used: NDArray[np.bool_] = np.asarray(active.any(axis=axes, keepdims=True)) if axes else active
    return None if used.all() else used


def wide(value: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast a value to a shape."""
    return value if value.shape == shape else np.broadcast_to(value, shape)


def pick(value: Array, shape: tuple[int, ...], index: NDArray[np.int64] | None) -> Array:
    """Broadcast a value to a shape, after its own leading axes, and take elements at flat indices; None takes all.

    Examples
    --------
    >>> pick(np.arange(3), (2, 3), np.array([0, 4]))
    array([0, 1])
    """
    lead = value.shape[: max(value.ndim - len(shape), 0)]
    full = wide(value, (*lead, *shape))
    return full if index is None else full.reshape(*lead, -1).take(index, axis=-1)


def any_of(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Reduce a mask of several values a thread, (..., blocks, warps, lanes), to a mask of threads."""
    return mask if mask.ndim == 3 else np.asarray(mask.any(axis=tuple(range(mask.ndim - 3))))


def first_where(mask: NDArray[np.bool_], values: Array) -> int:
    """Return the value of the first thread of a mask, in the order of blocks, warps and lanes."""
    shape = np.broadcast_shapes(mask.shape, values.shape)
    full, wide = np.broadcast_to(mask, shape), np.broadcast_to(values, shape)
    if len(shape) == 3:
        return int(wide[np.unravel_index(int(np.argmax(full)), shape)])
    threads = np.moveaxis(full.reshape(-1, *shape[-3:]), 0, -1)
    at = np.unravel_index(int(np.argmax(threads)), threads.shape)
    return int(np.moveaxis(wide.reshape(-1, *shape[-3:]), 0, -1)[at])


def begins_of(ordered: Array) -> NDArray[np.bool_]:
    """Return where each run of equal numbers begins."""
    return np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]


def narrowest(active: Active, used: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return the active threads that are also in a mask; in both, None stands for all threads."""
    if active is None or used is None:
        return used if active is None else active
    return active & used
