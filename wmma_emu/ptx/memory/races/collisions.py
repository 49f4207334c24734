# SPDX-License-Identifier: MIT
"""Threads that write to one address in the same instruction: the bytes that remain, and whether they differ."""

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
    """The threads that wrote to a granule to which others wrote in the same instruction.

    ``again`` is a mask of these threads, (granules, ..., G, W, 32); ``granules`` are the granules to which they wrote,
    and ``threads`` their numbers in the launch, of this shape or narrower.
    """

    def __init__(self, access: Access, again: _Mask, granules: NDArray[np.int64], threads: NDArray[np.int64]) -> None:
        self.access, self.again = access, again
        self.granules, self.threads = np.broadcast_to(granules, again.shape), np.broadcast_to(threads, again.shape)
        self._thread_numbers = self.threads[again]
        self._slots = self.granules[again]

    def kinds(self, given: Array | None, threads_of_block: int) -> Iterator[tuple[str, _Mask]]:
        """Yield each kind of finding, with its threads; ``given`` are the bytes of each granule, None if unknown."""
        raced = self._differ(self._thread_numbers)
        if self.access.strength >= BLOCK:
            if self.access.strength == BLOCK:
                yield RACE, self._mask(raced & self._differ(self._thread_numbers // threads_of_block))
            return
        # CUDA's guide allows lanes of a warp to write to one address at once; which value remains is left open.
        several = raced & self._differ(self._thread_numbers // _LANES)
        if given is None:
            far, near = several, raced
        else:
            far = several & self._differ(left_by_warps(self.access, given, self.granules)[self.again])
            near = raced & self._differ_in_warps(np.broadcast_to(given, self.again.shape)[self.again])
        yield RACE, self._mask(far)
        yield LANES_AT_ONCE, self._mask(near & ~far)
        yield EQUAL, self._mask(several & ~far & ~near)

    def others(self, at: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the indices of the other threads that write to the granule of one thread."""
        granules = np.argwhere(self.again & (self.granules == self.granules[at]) & (self.threads != self.threads[at]))
        return [tuple(int(x) for x in position) for position in granules]

    def _mask(self, chosen: _Mask) -> _Mask:
        out = np.zeros(self.again.shape, np.bool_)
        out[self.again] = chosen
        return out

    def _differ(self, value: Array) -> _Mask:
        return _differ_in(self._slots, value)

    def _differ_in_warps(self, value: Array) -> _Mask:
        """Return where lanes of one warp write different bytes to one granule."""
        _, group = np.unique(np.stack((self._slots, self._thread_numbers // _LANES)), axis=1, return_inverse=True)
        return _differ_in(group.reshape(-1), value)


def _differ_in(group: NDArray[np.int64], value: Array) -> _Mask:
    order = np.argsort(group, kind="stable")
    begins = np.flatnonzero(begins_of(group[order]))
    unlike = np.maximum.reduceat(value[order], begins) != np.minimum.reduceat(value[order], begins)
    out = np.empty(len(group), np.bool_)
    out[order] = np.repeat(unlike, np.diff(np.append(begins, len(group))))
    return out


def left_by_warps(access: Access, given: Array, granules: NDArray[np.int64]) -> Array:
    """Return, for each lane, the bytes that its warp leaves in the granule to which it stores: see `in_passes`."""
    slots = np.broadcast_to(granules, given.shape)
    if access.mask is not None:
        slots = np.where(access.mask, slots, -1 - np.arange(_LANES))
    first = np.sort(slots[0], axis=-1)
    if (first[..., 1:] != first[..., :-1]).all():
        return given
    rank = np.empty(_LANES, np.int64)
    rank[in_passes(np.arange(_LANES), access.size)] = np.arange(_LANES)
    warps = np.arange(given[0].size // _LANES).reshape(*given.shape[1:-1], 1)
    later, warp_of = (np.broadcast_to(x, given.shape).ravel() for x in (rank, warps))
    where = slots.ravel()
    keys = np.lexsort((later, where, warp_of))
    ends = np.append((np.diff(where[keys]) != 0) | (np.diff(warp_of[keys]) != 0), True)
    group = np.cumsum(ends) - ends
    out = np.empty(given.size, given.dtype)
    out[keys] = given.ravel()[keys[ends]][group]
    return out.reshape(given.shape)


def in_granules(values: Array, size: int, shape: tuple[int, ...]) -> Array:
    """Return the bytes of a store, (elements, ...), as numbers of the granules: (granules, *shape)."""
    full = np.ascontiguousarray(np.moveaxis(wide(values, (len(values), *shape)), 0, -1))
    return np.moveaxis(full.view(f"u{size}"), -1, 0)
