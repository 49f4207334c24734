# SPDX-License-Identifier: MIT
"""The different patterns of addresses among the accesses of many warps: most warps of a kernel access alike."""

import math
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.profile.wavefronts import Lanes, Rows
from wmma_emu.ptx.threads import Active, Array

_FACTORS = np.random.default_rng(29).integers(1, 1 << 62, 3 * LANES + 1, dtype=np.int64) | 1


class Patterns(NamedTuple):
    """Different patterns of accesses: their addresses and lanes, (patterns, 32), and how many accesses have each.

    The addresses are relative to a multiple of the unit, which does not change the costs of an access.
    """

    addresses: Rows
    active: Lanes
    counts: NDArray[np.int64]


def patterns_of(addresses: Array, mask: Active, shape: tuple[int, ...], unit: int) -> Patterns:
    """Find the different patterns of accesses by threads of (blocks, warps, 32); warps without a lane are left out.

    ``addresses`` broadcast to (*lead, blocks, warps, 32), and ``mask`` to the same; None is all threads. Addresses
    that differ by a multiple of ``unit`` in every lane are one pattern.

    Examples
    --------
    >>> base = np.arange(6).reshape(2, 3, 1) * 128
    >>> found = patterns_of((base + np.arange(32) * 4).astype(np.uint64), None, (2, 3, 32), 32)
    >>> found.addresses.shape, found.counts.tolist()
    ((1, 32), [6])
    """
    full = np.broadcast_shapes(addresses.shape, shape, () if mask is None else mask.shape)
    if mask is None:
        rows = addresses.reshape(-1, addresses.shape[-1])
        times = math.prod(full) // (len(rows) * LANES)
        if rows.shape[1] == 1:  # lanes at one address cost the same at any address
            return Patterns(
                np.zeros((1, LANES), np.int64), np.ones((1, LANES), np.bool_), np.array([len(rows) * times])
            )
        return _of_rows(rows, unit, times)
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


class CopyPatterns(NamedTuple):
    """Different patterns of copies: both addresses, the lanes that copy, and those of them that read, (patterns, 32);
    and how many copies have each.
    """

    source: Rows
    target: Rows
    active: Lanes
    reads: Lanes
    counts: NDArray[np.int64]


def copy_patterns(
    source: Array, target: Array, mask: Active, reads: Active, shape: tuple[int, ...], unit: int
) -> CopyPatterns:
    """Find the different patterns of copies, as `patterns_of` does of accesses; ``reads`` are the lanes that read."""
    full = np.broadcast_shapes(source.shape, target.shape, shape, () if mask is None else mask.shape)
    active = np.broadcast_to(True if mask is None else mask, full).reshape(-1, LANES)
    taken = active.any(axis=1)
    active = active[taken]
    reading = active if reads is None else active & np.broadcast_to(reads, full).reshape(-1, LANES)[taken]
    if not len(active):
        nothing = np.zeros((0, LANES), np.int64)
        return CopyPatterns(nothing, nothing, active, active, np.zeros(0, np.int64))
    sides = []
    for given, lanes in ((source, reading), (target, active)):
        rows = np.broadcast_to(given, full).reshape(-1, LANES)[taken]
        first = lanes.argmax(axis=1)
        rows = np.where(lanes, rows, np.take_along_axis(rows, first[:, None], axis=1))
        sides.append(np.where(lanes.any(axis=1, keepdims=True), _relative(rows, unit), 0))
    found = _grouped(np.concatenate([*sides, reading], axis=1), active, 1)
    addresses, reading = found.addresses[:, : 2 * LANES], found.addresses[:, 2 * LANES :] != 0
    return CopyPatterns(addresses[:, :LANES], addresses[:, LANES:], found.active, reading, found.counts)


def _of_rows(rows: Array, unit: int, times: int) -> Patterns:
    """Find the patterns of accesses by all lanes; each row stands for several accesses."""
    given = rows if rows.dtype == np.uint64 else rows.astype(np.uint64)
    if not _are_alike(given):
        return _grouped(_relative(given, unit), np.ones(given.shape, np.bool_), times)
    counts = np.bincount((given[:, 0] & np.uint64(unit - 1)).astype(np.int64), minlength=unit)
    found = np.flatnonzero(counts)
    addresses = (given[0] - given[0, 0]).view(np.int64) + found[:, None]
    return Patterns(addresses, np.ones(addresses.shape, np.bool_), counts[found] * times)


def _are_alike(rows: NDArray[np.uint64]) -> bool:
    """Return whether the distances between the lanes are the same in all rows.

    The distances of all neighbours are computed in one array, without a loop over the rows, which would take longer;
    those from the last lane of a row to the first lane of the next do not count.
    """
    flat, lanes = rows.reshape(-1), rows.shape[1]
    steps, equal = SCRATCH.take(flat.shape)
    np.subtract(flat[1:], flat[:-1], out=steps[:-1])
    np.equal(steps[lanes:], steps[:-lanes], out=equal[lanes:])
    equal[lanes - 1 :: lanes] = True
    return bool(equal[lanes:].all())


def _relative(rows: Array, unit: int) -> Rows:
    """Return addresses relative to the multiple of the unit at or below that of the first lane."""
    given = rows if rows.dtype == np.uint64 else rows.astype(np.uint64)
    found: Rows = (given - (given[:, :1] & ~np.uint64(unit - 1))).view(np.int64)
    return found


class _Scratch(threading.local):
    """Arrays that are used again for each access: new ones of this size cost more than the arithmetic."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[NDArray[np.uint64], NDArray[np.bool_]]] = {}

    def take(self, shape: tuple[int, ...]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return two arrays of a shape, whose contents are the caller's until the next call."""
        if shape not in self._kept:
            if len(self._kept) >= _MOST_SHAPES:
                self._kept.clear()
            self._kept[shape] = np.empty(shape, np.uint64), np.empty(shape, np.bool_)
        return self._kept[shape]


SCRATCH = _Scratch()
_MOST_SHAPES = 16


def _grouped(relative: Rows, active: Lanes, weight: int) -> Patterns:
    """Group equal rows, by a hash of each; rows of equal hashes are compared."""
    lanes = np.packbits(active, axis=1).view(np.uint32)[:, 0].astype(np.int64)
    hashes = relative @ _FACTORS[: relative.shape[1]] + lanes * _FACTORS[-1]
    _, chosen, group, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    same = (relative == relative[chosen][group]).all() and (lanes == lanes[chosen][group]).all()
    if not same:  # two patterns have one hash: nothing is grouped
        return Patterns(relative, active, np.full(len(relative), weight))
    return Patterns(relative[chosen], active[chosen], counts * weight)
