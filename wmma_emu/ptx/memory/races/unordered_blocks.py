# SPDX-License-Identifier: MIT
"""Reads of words that many blocks read, if blocks are unordered: two blocks stand for all others."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.masks import wide
from wmma_emu.ptx.memory.races.granules import Granules, chosen_of
from wmma_emu.ptx.memory.races.joins import Joins
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.threads import Array

_Mask = NDArray[np.bool_]


def put_reads(joins: Joins, granules: Granules, access: Access, numbers: Array) -> Access | None:
    """Record reads if blocks are unordered, where they meet reads of other blocks; return the remaining reads."""
    positions, blocks = access.positions, len(joins.compare.order.now)
    mask: _Mask | None = access.mask
    if granules.is_used:
        full: _Mask = np.asarray(joins.are_full(granules.get(access, positions), access.strength).all(axis=0))
        if full.all():
            return None
        if full.any():
            mask = ~full if mask is None else mask & ~full
            if not mask.any():
                return None
    if blocks > 2 and positions.shape[-3] == 1 and (mask is None or mask.ndim == 3):
        mask = _of_first_and_last(mask, blocks)
    access = access._replace(mask=mask)
    first, values = chosen_of(access, positions, numbers)
    slots = granules.indices(access, first)
    old = granules.flat[slots]
    values = np.broadcast_to(values, slots.shape)
    granules.flat[slots] = values
    is_noted = bool(old.any())
    clash = granules.flat[slots] != values
    granules.is_used = True
    if not is_noted and not clash.any():
        return None
    left = _put_two_blocks(joins, granules, access, slots, values, old)
    if left is None:
        return None
    mask = left
    if access.mask is not None:
        shape = np.broadcast_shapes(positions.shape, access.mask.shape, numbers.shape)
        mask = np.zeros(shape, np.bool_)
        mask[wide(access.mask, shape)] = left
    return access._replace(mask=mask)


def _put_two_blocks(
    joins: Joins, granules: Granules, access: Access, slots: NDArray[np.int64], values: Array, old: Array
) -> _Mask | None:  # fmt: skip
    """Record reads of two blocks in each granule; return where only the reads of one block meet."""
    compare, coding = joins.compare, joins.compare.coding
    block = compare.decoded(values).blocks
    first = granules.flat[slots]
    clash = first != values
    others = clash & (compare.decoded(first).blocks != block)
    granules.flat[slots[others]] = values[others]
    second = granules.flat[slots]
    several = second != first
    chosen = several & ((values == first) | (values == second))
    if old.any():
        chains = coding.are_chains(old)
        single = compare.decoded(np.where(chains, old.dtype.type(0), old))
        far = ~chains & (old != 0) & (single.strengths == access.strength) & (single.blocks != block)
        if chains.any():
            heads = coding.heads(old[chains])
            far[chains] = compare.chains.have_others(heads, access.strength, block[chains])
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
    """Choose, for each index within a block, at most two blocks whose threads take part there."""
    found = np.zeros((blocks, *((1, 1) if mask is None else mask.shape[1:])), np.bool_)
    if mask is None or len(mask) == 1:
        found[[0, -1]] = True if mask is None else mask
        return found
    for last in (mask.argmax(axis=0), blocks - 1 - mask[::-1].argmax(axis=0)):
        np.put_along_axis(found, last[None], mask.any(axis=0, keepdims=True), axis=0)
    return found
