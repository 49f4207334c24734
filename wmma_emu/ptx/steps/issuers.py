# SPDX-License-Identifier: MIT
"""The threads that issue bulk copies: each copies many chunks of 16 bytes, which the lanes of its warp share here.

A copy of a thread is one access of its warp to memory, as the other accesses are: chunk ``i`` belongs to lane
``i % 32``. For the order of accesses, the issuing thread acts for all lanes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.threads import Active, Array

Indices = NDArray[np.intp]


class Issuers(NamedTuple):
    """One issuing thread in each of some warps."""

    blocks: Indices
    warps: Indices
    lanes: Indices
    shape: tuple[int, int, int]

    def of(self, value: Array) -> Array:
        """Return the value of each issuing thread."""
        return np.asarray(np.broadcast_to(value, self.shape)[self.blocks, self.warps, self.lanes])

    def mask(self) -> NDArray[np.bool_]:
        """Return the mask of the issuing threads, (blocks, warps, 32)."""
        found = np.zeros(self.shape, np.bool_)
        found[self.blocks, self.warps, self.lanes] = True
        return found

    def only(self, chosen: NDArray[np.bool_]) -> "Issuers":
        """Return some of the issuing threads."""
        return Issuers(self.blocks[chosen], self.warps[chosen], self.lanes[chosen], self.shape)

    def actors(self) -> Indices:
        """Return the issuing lane of each warp, (blocks, warps); lane 0 of others."""
        found = np.zeros(self.shape[:2], np.intp)
        found[self.blocks, self.warps] = self.lanes
        return found

    def numbers(self) -> NDArray[np.int64]:
        """Return the flat number of each issuing thread."""
        return np.ravel_multi_index((self.blocks, self.warps, self.lanes), self.shape).astype(np.int64)

    def spread(self, values: Array) -> Array:
        """Distribute (chunks, issuers) over the lanes of the issuing threads' warps: (passes, blocks, warps, 32)."""
        count, issuers = values.shape
        passes = -(-count // LANES)
        padded = np.zeros((passes * LANES, issuers), values.dtype)
        padded[:count] = values
        found = np.zeros((passes, *self.shape), values.dtype)
        found[:, self.blocks, self.warps] = padded.reshape(passes, LANES, issuers).swapaxes(1, 2)
        return found


def issuers_of(active: Active, exists: NDArray[np.bool_] | None, shape: tuple[int, int, int]) -> Iterator[Issuers]:
    """Yield the active threads, in the order of lanes: of each warp its first one, then its second one ...

    Examples
    --------
    >>> active = np.zeros((1, 2, 32), np.bool_)
    >>> active[0, 0, [3, 5]] = active[0, 1, 7] = True
    >>> [(x.warps.tolist(), x.lanes.tolist()) for x in issuers_of(active, None, (1, 2, 32))]
    [([0, 1], [3, 7]), ([0], [5])]
    """
    mask = np.broadcast_to(True if active is None else active, shape)
    left = mask & (True if exists is None else exists)
    while left.any():
        blocks, warps = np.nonzero(left.any(axis=-1))
        lanes = left[blocks, warps].argmax(axis=-1)
        yield Issuers(blocks, warps, lanes, shape)
        left[blocks, warps, lanes] = False
