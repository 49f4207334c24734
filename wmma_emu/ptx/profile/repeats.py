# SPDX-License-Identifier: MIT
"""Accesses that repeat an earlier one of their instruction at other addresses, which is usual in loops."""

from collections.abc import Mapping

import numpy as np

from wmma_emu.ptx.profile.patterns import SCRATCH
from wmma_emu.ptx.threads import Active, Array

_Shift = tuple[int, ...]
_PIECE = 1 << 16
"""The addresses that are compared at a time: they stay in the cache, and most that differ do so at once."""

_MOST_MISSES = 8
"""The accesses in a row that repeat nothing, after which an instruction is no longer looked at."""


class Repeats:
    """The accesses of an instruction whose addresses all differ from those of a first one by the same number.

    They cost the same if they differ by a multiple of a unit; ``costs`` has the counts of an access, by the shape of
    the threads and the rest of the division.

    Examples
    --------
    >>> seen, lane = Repeats(), np.arange(32, dtype=np.uint64) * 4
    >>> [seen.shift((x,), (None,), 32) for x in (lane, lane + 128, lane + 132, lane * 2, lane * 2 + 64)]
    [(0,), (0,), (4,), (0,), (0,)]
    """

    def __init__(self) -> None:
        self.costs: dict[tuple[tuple[int, ...], _Shift | None], Mapping[str, int]] = {}
        self._addresses: tuple[Array, ...] = ()
        self._masks: tuple[Active, ...] = ()
        self._misses = 0

    def shift(self, addresses: tuple[Array, ...], masks: tuple[Active, ...], unit: int) -> _Shift | None:
        """Return how far an access is from the first one, modulo the unit; None if nothing is kept of it.

        An access that differs in another way becomes the first one.
        """
        if self._misses > _MOST_MISSES:
            return None
        if self._addresses and all(map(_are_equal, masks, self._masks)):
            found = tuple(_distance(x, y) for x, y in zip(addresses, self._addresses, strict=True))
            if None not in found:
                self._misses = 0
                return tuple(x % unit for x in found if x is not None)
        self._misses += 1
        self.costs = {}
        self._addresses = tuple(x.copy() for x in addresses)
        self._masks = tuple(None if x is None else x.copy() for x in masks)
        return (0,) * len(addresses)


def _are_equal(one: Active, other: Active) -> bool:
    return (one is None and other is None) or (one is not None and other is not None and np.array_equal(one, other))


def _distance(one: Array, other: Array) -> int | None:
    """Return the number by which all elements of an array differ from those of another; None if there is none."""
    if one.shape != other.shape or one.dtype != other.dtype or one.dtype != np.uint64:
        return None
    first = one.flat[0] - other.flat[0]
    flat, flat_other = one.reshape(-1), other.reshape(-1)
    for begin in range(0, len(flat), _PIECE):
        piece = flat[begin : begin + _PIECE]
        distances, equal = SCRATCH.take(piece.shape)
        np.subtract(piece, flat_other[begin : begin + _PIECE], out=distances)
        if not np.equal(distances, first, out=equal).all():
            return None
    return int(first)
