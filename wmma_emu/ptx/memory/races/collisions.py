# SPDX-License-Identifier: MIT
"""Threads that write to one place in the same instruction: who leaves which bytes there, and what differs."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.access import in_passes
from wmma_emu.ptx.memory.masks import begins_of, wide
from wmma_emu.ptx.memory.races.race import EQUAL, LANES_AT_ONCE, RACE
from wmma_emu.ptx.memory.resolved_access import BLOCK, Access
from wmma_emu.ptx.threads import Array

_Mask = NDArray[np.bool_]
_LANES = 32


class Collisions:
    """The threads that wrote to a granule which others wrote to in the same instruction.

    ``again`` says who they are, (granules, ..., G, W, 32); ``places`` are the granule of each, and ``threads`` their
    numbers in the launch, of this shape or narrower.
    """

    def __init__(self, touch: Access, again: _Mask, places: NDArray[np.int64], threads: NDArray[np.int64]) -> None:
        self.touch, self.again = touch, again
        self.places, self.threads = np.broadcast_to(places, again.shape), np.broadcast_to(threads, again.shape)
        self._who = self.threads[again]
        self._slots = self.places[again]

    def kinds(self, given: Array | None, threads_of_block: int) -> Iterator[tuple[str, _Mask]]:
        """Give each kind of finding, with the threads; ``given`` are the bytes of each granule, None if unknown."""
        raced = self._differ(self._who)
        if self.touch.strength >= BLOCK:
            if self.touch.strength == BLOCK:
                yield RACE, self._mask(raced & self._differ(self._who // threads_of_block))
            return
        # CUDA's guide allows lanes of a warp to write one place in one instruction; which of them stays is left open.
        several = raced & self._differ(self._who // _LANES)
        if given is None:
            far, near = several, raced
        else:
            far = several & self._differ(left_by_warps(self.touch, given, self.places)[self.again])
            near = raced & self._differ_in_warps(np.broadcast_to(given, self.again.shape)[self.again])
        yield RACE, self._mask(far)
        yield LANES_AT_ONCE, self._mask(near & ~far)
        yield EQUAL, self._mask(several & ~far & ~near)

    def others(self, at: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Where the other threads are that write to the granule of one of them."""
        places = np.argwhere(self.again & (self.places == self.places[at]) & (self.threads != self.threads[at]))
        return [tuple(int(x) for x in place) for place in places]

    def _mask(self, chosen: _Mask) -> _Mask:
        out = np.zeros(self.again.shape, np.bool_)
        out[self.again] = chosen
        return out

    def _differ(self, value: Array) -> _Mask:
        return _differ_in(self._slots, value)

    def _differ_in_warps(self, value: Array) -> _Mask:
        """Say where lanes of one warp give one granule different bytes."""
        _, group = np.unique(np.stack((self._slots, self._who // _LANES)), axis=1, return_inverse=True)
        return _differ_in(group.reshape(-1), value)


def _differ_in(group: NDArray[np.int64], value: Array) -> _Mask:
    order = np.argsort(group, kind="stable")
    begins = np.flatnonzero(begins_of(group[order]))
    unlike = np.maximum.reduceat(value[order], begins) != np.minimum.reduceat(value[order], begins)
    out = np.empty(len(group), np.bool_)
    out[order] = np.repeat(unlike, np.diff(np.append(begins, len(group))))
    return out


def left_by_warps(touch: Access, given: Array, places: NDArray[np.int64]) -> Array:
    """Give each lane the bytes that its warp leaves in the granule to which it stores: see `in_passes`."""
    slots = np.broadcast_to(places, given.shape)
    if touch.mask is not None:
        slots = np.where(touch.mask, slots, -1 - np.arange(_LANES))
    first = np.sort(slots[0], axis=-1)
    if (first[..., 1:] != first[..., :-1]).all():
        return given
    rank = np.empty(_LANES, np.int64)
    rank[in_passes(np.arange(_LANES), touch.size)] = np.arange(_LANES)
    warps = np.arange(given[0].size // _LANES).reshape(*given.shape[1:-1], 1)
    later, who = (np.broadcast_to(x, given.shape).ravel() for x in (rank, warps))
    where = slots.ravel()
    keys = np.lexsort((later, where, who))
    ends = np.append((np.diff(where[keys]) != 0) | (np.diff(who[keys]) != 0), True)
    group = np.cumsum(ends) - ends
    out = np.empty(given.size, given.dtype)
    out[keys] = given.ravel()[keys[ends]][group]
    return out.reshape(given.shape)


def in_granules(values: Array, size: int, shape: tuple[int, ...]) -> Array:
    """Give the bytes of a store, (elements, ...), as numbers of the granules: (granules, *shape)."""
    full = np.ascontiguousarray(np.moveaxis(wide(values, (len(values), *shape)), 0, -1))
    return np.moveaxis(full.view(f"u{size}"), -1, 0)
