# SPDX-License-Identifier: MIT
"""Gather and scatter of elements of 1 to 16 bytes: one access of many threads at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.threads import Array

Positions = NDArray[np.int64]

_UINT: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_LANES = 32
_PASS = 128
"""Bytes that a warp stores in one pass."""

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}


def units_of(total: int, alignment: int) -> int:
    """Return the size of the largest element in which an access can be done: 16 for 32 bytes that are aligned to 32.

    Examples
    --------
    >>> units_of(16, 16), units_of(32, 32), units_of(8, 4), units_of(12, 4)
    (16, 16, 4, 4)
    """
    unit = min(alignment, 16)
    while total % unit:
        unit //= 2
    return unit


def view_of(flat: NDArray[np.uint8], unit: int) -> NDArray[Any]:
    """Return bytes as elements of 1, 2, 4, 8 or 16 bytes; elements of 16 bytes can only be moved."""
    return flat.view("V16" if unit == 16 else _UINT[unit])


def gather(view: NDArray[Any], unit: int, positions: Positions, size: int, count: int) -> Array:
    """Read ``count`` consecutive elements of ``size`` bytes at each position, shape (count, *positions).

    ``view`` has elements of ``unit`` bytes; every position is a multiple of ``unit``.

    Examples
    --------
    >>> memory = np.arange(32, dtype=np.uint8)
    >>> gather(view_of(memory, 16), 16, np.array([16]), 4, 4).ravel().view(np.uint8).tolist() == memory[16:].tolist()
    True
    """
    index = positions >> _SHIFT[unit] if unit > 1 else positions
    units = size * count // unit
    if units == 1 and count == 1:
        return view.take(index)[None]
    if unit == size:
        values = np.empty((count, *index.shape), _UINT[size])
        for k in range(count):
            values[k] = view.take(index + k if k else index)
        return values
    if units == 1:
        raw = view.take(index)
    else:
        raw = np.empty((*index.shape, units), view.dtype)
        for k in range(units):
            raw[..., k] = view.take(index + k if k else index)
    split = raw.view(_UINT[size]).reshape(*index.shape, count)
    values = np.empty((count, *index.shape), _UINT[size])
    for k in range(count):
        values[k] = split[..., k]
    return values


def in_passes(values: Array, size: int) -> Array:
    """Reorder the lanes of a store, the last axis, into the order in which `scatter` must write them.

    A warp stores in passes of 128 bytes: 32 lanes of up to 4 bytes, 16 of 8, 8 of 16. If lanes write to one address,
    the value of the last pass remains, and within it that of the lowest lane (NVIDIA H200, driver 580.159.04,
    2026-11-23; PTX leaves it open).

    Examples
    --------
    >>> in_passes(np.arange(32), 4)[-1], in_passes(np.arange(32), 8)[-1], in_passes(np.arange(32), 16)[-1]
    (np.int64(0), np.int64(16), np.int64(24))
    """
    if values.shape[-1] != _LANES:
        return values
    lanes = min(_PASS // size, _LANES)
    passes = values.reshape(*values.shape[:-1], _LANES // lanes, lanes)
    return passes[..., ::-1].reshape(values.shape) if lanes < _LANES else values[..., ::-1]


def scatter(view: NDArray[Any], unit: int, positions: Positions, values: Array) -> None:
    """Write ``values`` (count, *positions) as consecutive elements that begin at each position.

    Where positions are equal, the last value in order remains.
    """
    index = positions >> _SHIFT[unit] if unit > 1 else positions
    size, count = values.dtype.itemsize, len(values)
    units = size * count // unit
    if unit == size:
        for k in range(count):
            # Assigning broadcast values is four times slower than assigning a copy.
            view[index + k if k else index] = np.ascontiguousarray(values[k])
        return
    packed = np.empty((*index.shape, count), values.dtype)
    for k in range(count):
        packed[..., k] = values[k]
    raw = packed.view(view.dtype)
    if units == 1:
        view[index] = raw[..., 0]
        return
    for k in range(units):
        view[index + k if k else index] = raw[..., k]
