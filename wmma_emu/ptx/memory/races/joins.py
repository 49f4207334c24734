# SPDX-License-Identifier: MIT
"""Unordered accesses that share a granule: they are joined in chains, which are compacted."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.masks import begins_of
from wmma_emu.ptx.memory.races.comparison import Comparison
from wmma_emu.ptx.memory.races.granules import Granules
from wmma_emu.ptx.threads import Array

_Mask = NDArray[np.bool_]


class Joins:
    """Joins accesses in their granules; ``check_time`` checks the time limit."""

    def __init__(self, compare: Comparison, check_time: Callable[[], None]) -> None:
        self.compare, self._check_time = compare, check_time

    def are_full(self, numbers: Array, strength: int) -> _Mask:
        """Return which chains need no more accesses of a strength, if blocks are unordered.

        Two accesses of different blocks suffice: any access that conflicts with the others races with one of the two.
        """
        found = np.zeros(numbers.shape, np.bool_)
        are_chains = self.compare.coding.are_chains(numbers)
        if are_chains.any():
            heads = self.compare.coding.heads(numbers[are_chains])
            found[are_chains] = self.compare.chains.have_several(heads, strength)
        return found

    def put(self, granules: Granules, slots: NDArray[np.int64], values: Array, old: Array | None) -> None:
        """Join accesses in their granules, after the ``old`` ones that are kept (0: none)."""
        coding, chains = self.compare.coding, self.compare.chains
        before, held = None, slots if old is None else slots[old != 0]
        if old is not None:
            granules.flat[held] = old[old != 0]  # one for all accesses to a granule, read below
        slots, values = _ordered_pairs(slots, values)
        if self.compare.are_blocks_unordered:
            slots, values = self._of_two_blocks(slots, values)
        begins = begins_of(slots)
        unique, group = slots[begins], np.cumsum(begins) - 1
        if old is not None:
            before = np.where(granules.are_among(unique, held), granules.flat[unique], old.dtype.type(0))
        heads = np.zeros(len(unique), np.int64)
        if before is not None:
            are_chains = coding.are_chains(before)
            heads[are_chains] = coding.heads(before[are_chains])
            single = np.flatnonzero(~are_chains & (before != 0))
            if len(single):
                first = self.compare.decoded(before[single])
                heads[single] = chains.append(np.zeros(len(single), np.int64), np.arange(len(single)), first)
            known = (heads > 0) & (chains.last(heads) == values[begins])
            known &= np.bincount(group) == 1
            if known.any():
                granules.flat[unique[known]] = coding.chains(heads[known])
                left = ~known[group]
                if not left.any():
                    return
                slots, values, heads, unique = slots[left], values[left], heads[~known], unique[~known]
                group = np.cumsum(begins_of(slots)) - 1
        alone = (np.bincount(group) == 1) & (heads == 0)
        if alone.any():
            granules.flat[unique[alone]] = values[alone[group]]
            left = ~alone[group]
            if not left.any():
                return
            slots, values, heads, unique = slots[left], values[left], heads[~alone], unique[~alone]
            group = np.cumsum(begins_of(slots)) - 1
        heads = chains.append(heads, group, self.compare.decoded(values))
        grown = chains.grown(heads)
        if grown.any():
            heads[grown] = self._shortened(heads[grown])
        granules.flat[unique] = coding.chains(heads)

    def _of_two_blocks(self, slots: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
        """Keep accesses of two blocks for each granule."""
        _, strengths, _, blocks = self.compare.decoded(values)
        begins = begins_of(slots)
        begins[1:] |= strengths[1:] != strengths[:-1]
        start, group = np.flatnonzero(begins), np.cumsum(begins) - 1
        low, high = np.minimum.reduceat(blocks, start), np.maximum.reduceat(blocks, start)
        several = low != high
        if not several.any():
            return slots, values
        left = ~several[group]
        for block in (low, high):
            at = np.flatnonzero(blocks == block[group])
            left[at[begins_of(group[at])]] = True
        return slots[left], values[left]

    def _shortened(self, heads: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return chains of the last access of each thread and strength: the earlier ones happen before it."""
        found = heads.copy()
        for i, head in enumerate(heads.tolist()):
            self._check_time()
            members = self.compare.chains.members(head)
            left = self.compare.shortened(members)
            if len(left) < len(members):
                group = np.zeros(len(left), np.int64)
                found[i : i + 1] = self.compare.chains.append(group[:1], group, self.compare.decoded(left))
        self.compare.chains.keep_short(found)
        return found


def _ordered_pairs(slots: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Sort pairs of a slot and a value and remove duplicates: if both have 32 bits, as numbers of 64 bits.

    Examples
    --------
    >>> [x.tolist() for x in _ordered_pairs(np.array([5, 1, 5, 5]), np.array([7, 9, 6, 7], np.uint32))]
    [[1, 5, 5], [9, 6, 7]]
    """
    if values.dtype.itemsize > 4 or int(slots.max()) >> 32:
        order = np.lexsort((values, slots))
        slots, values = slots[order], values[order]
        fresh = begins_of(slots)
        fresh[1:] |= values[1:] != values[:-1]
        return slots[fresh], values[fresh]
    pairs = slots.astype(np.uint64) << np.uint64(32) | values
    pairs.sort()
    pairs = pairs[begins_of(pairs)]
    return (pairs >> np.uint64(32)).astype(np.int64), pairs.astype(np.uint32)
