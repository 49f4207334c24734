# SPDX-License-Identifier: MIT
"""The host's side of an array: the buffer that contains it, and its bytes, to be read and written in place."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.formats.arrays import is_masked


def require_mappable(array: object, name: str) -> NDArray[Any]:
    """Refuse anything but a NumPy array of plain bytes, in this machine's byte order, without gaps.

    Examples
    --------
    >>> require_mappable(np.eye(4)[:, ::2], "x")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentValueError: x is a view with gaps (shape (4, 2), strides (32, 16)), but a pointer needs
    contiguous bytes: pass y = np.ascontiguousarray(x), and copy back with x[...] = y
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"{name} is {shorten(array)} of type {type(array).__name__}, but a pointer takes a NumPy array: "
            "np.asarray(...)"
        )
    if is_masked(array):
        raise ArgumentError(f"{name} is a masked array, but a kernel cannot see its mask: pass {name}.data")
    if array.dtype.hasobject:
        raise ArgumentError(
            f"{name} has dtype {array.dtype}: its elements are Python objects, not bytes; convert it to numbers"
        )
    if not array.dtype.isnative:
        raise ArgumentError(
            f"{name} has dtype {array.dtype.str}, which is not in this machine's byte order: pass y = {name}.astype("
            f"{name}.dtype.newbyteorder('=')), and copy back with {name}[...] = y"
        )
    if array.size and not array.flags.forc:
        raise ArgumentValueError(
            f"{name} is a view with gaps (shape {array.shape}, strides {array.strides}), but a pointer needs "
            f"contiguous bytes: pass y = np.ascontiguousarray({name}), and copy back with {name}[...] = y"
        )
    return array


def spans_of(arrays: Iterable[NDArray[Any]]) -> list[tuple[int, int]]:
    """Return the ranges of host bytes that arrays cover, with arrays that overlap merged."""
    return united((byte_bounds(array) for array in arrays if array.nbytes), 1)


def united(ranges: Iterable[tuple[int, int]], overlap: int) -> list[tuple[int, int]]:
    """Return ranges in order, with those merged that have at least ``overlap`` bytes in common; 0: those that touch.

    Examples
    --------
    >>> united([(8, 12), (0, 8), (10, 16)], 1), united([(8, 12), (0, 8), (10, 16)], 0)
    ([(0, 8), (8, 16)], [(0, 16)])
    """
    spans: list[tuple[int, int]] = []
    for lo, hi in sorted(ranges):
        if spans and lo + overlap <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(hi, spans[-1][1])
        else:
            spans.append((lo, hi))
    return spans


def extent_of(array: NDArray[Any]) -> tuple[int, int]:
    """Return the host addresses of the buffer that an array is a view of: its first byte and the end."""
    lo, hi = byte_bounds(array)
    owner: object = array
    while (base := _base(owner)) is not None:
        owner = base
        if isinstance(owner, np.ndarray):
            lo, hi = _union((lo, hi), byte_bounds(owner))
    if not isinstance(owner, np.ndarray):
        try:
            # The bytes belong to another object, which two arrays may share: bytearray, mmap, a tensor.
            lo, hi = _union((lo, hi), byte_bounds(np.frombuffer(owner, np.uint8)))  # type: ignore[call-overload]
        except (TypeError, ValueError, BufferError):
            pass
    return lo, hi


def _base(owner: object) -> object | None:
    base: object = getattr(owner, "base", None)
    return base if isinstance(owner, np.ndarray) or isinstance(base, np.ndarray) else None


def _union(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    # A range that does not contain the other is not its buffer: objects with their own array interface.
    return (min(a[0], b[0]), max(a[1], b[1])) if b[0] <= a[0] and a[1] <= b[1] else a


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a view of an array's bytes in memory order, whatever its dtype and its axis order."""
    if array.nbytes == 0:
        return np.zeros(0, np.uint8)
    plain = array.view(np.ndarray)
    flat = plain.reshape(-1) if plain.flags.c_contiguous else plain.T.reshape(-1)
    return flat.view(np.uint8)
