# SPDX-License-Identifier: MIT
"""Reads of words that many blocks read, where nothing orders blocks: two blocks stand for all others."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.masks import wide
from wmma_emu.ptx.memory.races.granules import Granules, chosen_of
from wmma_emu.ptx.memory.races.joins import Joins
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.threads import Array

_Mask = NDArray[np.bool_]


def put_reads(joins: Joins, granules: Granules, touch: Access, mine: Array) -> Access | None:
    """Note reads where blocks are apart, as far as they meet those of other blocks; return what is left to note."""
    positions, blocks = touch.positions, len(joins.compare.order.now)
    mask: _Mask | None = touch.mask
    if granules.is_used:
        full: _Mask = np.asarray(joins.are_full(granules.get(touch, positions), touch.strength).all(axis=0))
        if full.all():
            return None
        if full.any():
            mask = ~full if mask is None else mask & ~full
            if not mask.any():
                return None
    if blocks > 2 and positions.shape[-3] == 1 and (mask is None or mask.ndim == 3):
        mask = _of_first_and_last(mask, blocks)
    touch = touch._replace(mask=mask)
    first, values = chosen_of(touch, positions, mine)
    slots = granules.places(touch, first)
    old = granules.flat[slots]
    values = np.broadcast_to(values, slots.shape)
    granules.flat[slots] = values
    is_noted = bool(old.any())
    clash = granules.flat[slots] != values
    granules.is_used = True
    if not is_noted and not clash.any():
        return None
    left = _beside(joins, granules, touch, slots, values, old)
    if left is None:
        return None
    mask = left
    if touch.mask is not None:
        shape = np.broadcast_shapes(positions.shape, touch.mask.shape, mine.shape)
        mask = np.zeros(shape, np.bool_)
        mask[wide(touch.mask, shape)] = left
    return touch._replace(mask=mask)


def _beside(
    joins: Joins, granules: Granules, touch: Access, slots: NDArray[np.int64], values: Array, old: Array
) -> _Mask | None:  # fmt: skip
    """Let reads of two blocks stand side by side in each granule; say which are those of one block among themselves."""
    compare, coding = joins.compare, joins.compare.coding
    block = compare.taken_apart(values).blocks
    first = granules.flat[slots]
    clash = first != values
    others = clash & (compare.taken_apart(first).blocks != block)
    granules.flat[slots[others]] = values[others]
    second = granules.flat[slots]
    several = second != first
    chosen = several & ((values == first) | (values == second))
    if old.any():
        chains = coding.are_chains(old)
        single = compare.taken_apart(np.where(chains, old.dtype.type(0), old))
        far = ~chains & (old != 0) & (single.strengths == touch.strength) & (single.blocks != block)
        if chains.any():
            heads = coding.heads(old[chains])
            far[chains] = compare.crowds.have_others(heads, touch.strength, block[chains])
        chosen |= far & ~several & (values == first)
        several |= far
    if chosen.any():
        joins.put(granules, slots[chosen], values[chosen], old[chosen])
    rest = ~several & (clash | (old != 0))
    if not rest.any():
        return None
    rest = granules.are_among(slots, slots[rest])
    granules.flat[slots[rest]] = old[rest]
    return np.asarray(rest.any(axis=0))


def _of_first_and_last(mask: _Mask | None, blocks: int) -> _Mask:
    """Choose, for each place in a block, two blocks at most whose threads take part there."""
    found = np.zeros((blocks, *((1, 1) if mask is None else mask.shape[1:])), np.bool_)
    if mask is None or len(mask) == 1:
        found[[0, -1]] = True if mask is None else mask
        return found
    for last in (mask.argmax(axis=0), blocks - 1 - mask[::-1].argmax(axis=0)):
        np.put_along_axis(found, last[None], mask.any(axis=0, keepdims=True), axis=0)
    return found
