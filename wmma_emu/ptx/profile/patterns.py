# SPDX-License-Identifier: MIT
"""The different patterns of addresses among the accesses of many warps: most warps of a kernel access alike."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.profile.wavefronts import Lanes, Rows
from wmma_emu.ptx.threads import Active, Array

_FACTORS = np.random.default_rng(29).integers(1, 1 << 62, LANES + 1, dtype=np.int64) | 1


class Patterns(NamedTuple):
    """Different patterns of accesses: their addresses and lanes, (patterns, 32), and how many accesses have each.

    The addresses are relative to a multiple of the unit, of which the costs of an access do not depend.
    """

    addresses: Rows
    active: Lanes
    counts: NDArray[np.int64]


def patterns_of(addresses: Array, mask: Active, shape: tuple[int, ...], unit: int) -> Patterns:
    """Find the different patterns of accesses by threads of (blocks, warps, 32); warps without a lane are left out.

    ``addresses`` broadcast to (*lead, blocks, warps, 32), and ``mask`` to the same; None is all threads. Addresses
    that differ by a multiple of ``unit`` in all lanes are one pattern.

    Examples
    --------
    >>> base = np.arange(6).reshape(2, 3, 1) * 128
    >>> found = patterns_of((base + np.arange(32) * 4).astype(np.uint64), None, (2, 3, 32), 32)
    >>> found.addresses.shape, found.counts.tolist()
    ((1, 32), [6])
    """
    full = np.broadcast_shapes(addresses.shape, shape, () if mask is None else mask.shape)
    if mask is None:
        rows = np.broadcast_to(addresses, (*addresses.shape[:-1], LANES)).reshape(-1, LANES)
        weight = int(np.prod(full)) // rows.size
        relative = _relative(rows, unit)
        if (relative == relative[0]).all():
            return Patterns(relative[:1], np.ones((1, LANES), np.bool_), np.array([len(rows) * weight]))
        return _grouped(relative, np.ones(relative.shape, np.bool_), weight)
    rows = np.broadcast_to(addresses, full).reshape(-1, LANES)
    active = np.broadcast_to(mask, full).reshape(-1, LANES)
    taken = active.any(axis=1)
    if not taken.all():
        rows, active = rows[taken], active[taken]
    if not len(rows):
        return Patterns(np.zeros((0, LANES), np.int64), np.zeros((0, LANES), np.bool_), np.zeros(0, np.int64))
    first = active.argmax(axis=1)
    rows = np.where(active, rows, rows[np.arange(len(rows)), first][:, None])
    return _grouped(_relative(rows, unit), active, 1)


def _relative(rows: Array, unit: int) -> Rows:
    """Return addresses relative to the multiple of the unit at or below that of the first lane."""
    signed = rows.view(np.int64) if rows.dtype == np.uint64 else rows.astype(np.int64)
    found: Rows = signed - (signed[:, :1] & ~np.int64(unit - 1))
    return found


def _grouped(relative: Rows, active: Lanes, weight: int) -> Patterns:
    """Group equal rows, by a hash of each; rows of equal hashes are compared."""
    lanes = np.packbits(active, axis=1).view(np.uint32)[:, 0].astype(np.int64)
    hashes = relative @ _FACTORS[:LANES] + lanes * _FACTORS[LANES]
    _, chosen, group, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    same = (relative == relative[chosen][group]).all() and (lanes == lanes[chosen][group]).all()
    if not same:  # two patterns have one hash: every row stands for itself
        return Patterns(relative, active, np.full(len(relative), weight))
    return Patterns(relative[chosen], active[chosen], counts * weight)
