# SPDX-License-Identifier: MIT
"""The wavefronts, sectors and collisions of a warp's access, from the addresses of its lanes.

A wavefront is a pass of the data through shared memory, in which every bank delivers one word of 4 bytes. A sector is
32 bytes of global memory, the unit that the L1 cache requests.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.banks import BANK_BYTES, BANKS, SEGMENT_BYTES
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.threads import Array

Rows = NDArray[np.int64]
"""The addresses of accesses, (accesses, 32)."""

Lanes = NDArray[np.bool_]
"""The lanes that take part in each access, (accesses, 32)."""

_PASS_BYTES = BANKS * BANK_BYTES
_NOTHING = np.iinfo(np.int64).min
"""Stands for the word of a lane that does not take part; relative addresses may be negative."""

_PAIRINGS = (1, 2)
"""Distances of the lanes whose equal addresses let two groups of lanes share a wavefront."""


class Wavefronts(NamedTuple):
    """The wavefronts of each access, and those that it would need without conflicts: (accesses,)."""

    needed: NDArray[np.int64]
    without_conflicts: NDArray[np.int64]


def shared_wavefronts(addresses: Rows, size: int, active: Lanes) -> Wavefronts:
    """Count the wavefronts of accesses to shared memory.

    A warp accesses 128 bytes at a time: lanes with 8 bytes in two groups of 16, lanes with 16 bytes in four groups of
    8. Two groups become one if every lane has the address of its neighbour at a distance of 1, or every lane of that at
    a distance of 2. The busiest bank of a group decides how many wavefronts it takes; lanes at one word share it.

    Examples
    --------
    >>> lane, everyone = np.arange(32)[None], np.ones((1, 32), bool)
    >>> [[x.item() for x in shared_wavefronts(lane * pitch, 4, everyone)] for pitch in (0, 4, 8, 128, 132)]
    [[1, 1], [1, 1], [2, 1], [32, 1], [1, 1]]
    >>> [[x.item() for x in shared_wavefronts(lane * pitch, 16, everyone)] for pitch in (16, 32, 144)]
    [[4, 4], [8, 4], [4, 4]]
    """
    groups, starts, valid = _groups(addresses, size, active)
    words = starts[..., None] // BANK_BYTES + np.arange(max(size // BANK_BYTES, 1))
    valid = np.broadcast_to(valid[..., None], words.shape)
    count, most = len(addresses), groups
    busiest = _busiest(words.reshape(count * most, -1), valid.reshape(count * most, -1)).reshape(count, most)
    return Wavefronts(busiest.sum(axis=1), (busiest > 0).sum(axis=1))


def _groups(addresses: Rows, size: int, active: Lanes) -> tuple[int, Rows, Lanes]:
    """Divide the lanes into groups that share wavefronts: addresses and activity (accesses, groups, lanes)."""
    groups = max(size * LANES // _PASS_BYTES, 1)
    count = len(addresses)
    if groups == 1:
        return 1, addresses.reshape(count, 1, LANES), active.reshape(count, 1, LANES)
    pairs = groups // 2
    lane = np.arange(LANES)
    merged = np.zeros((count, pairs), np.bool_)
    for distance in _PAIRINGS:
        other = lane ^ distance
        agree = ~(active & active[:, other]) | (addresses == addresses[:, other])
        merged |= agree.reshape(count, pairs, -1).all(axis=-1)
    wide = np.broadcast_to(addresses.reshape(count, pairs, 1, -1), (count, pairs, 2, LANES // pairs))
    taken = active.reshape(count, pairs, 1, -1)
    first = np.arange(LANES // pairs) < LANES // groups
    halves = np.stack([first, ~first])
    chosen = np.where(merged[..., None, None], np.stack([first | True, first & False]), halves) & taken
    return groups, wide.reshape(count, groups, -1), chosen.reshape(count, groups, -1)


def _busiest(words: Rows, valid: Lanes) -> NDArray[np.int64]:
    """Return the number of different words in the busiest bank of each row: 0 if a row accesses nothing."""
    ordered = np.sort(np.where(valid, words, _NOTHING), axis=-1)
    first = ordered > _NOTHING
    first[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    row = np.arange(len(words))[:, None] * BANKS
    found = np.bincount((row + ordered % BANKS)[first], minlength=len(words) * BANKS)
    most: NDArray[np.int64] = found.reshape(len(words), BANKS).max(axis=1)
    return most


def global_sectors(addresses: Rows, size: int, active: Lanes) -> NDArray[np.int64]:
    """Count the different sectors of 32 bytes that each access to global memory touches.

    Examples
    --------
    >>> lane, everyone = np.arange(32)[None], np.ones((1, 32), bool)
    >>> [global_sectors(lane * pitch, 4, everyone).item() for pitch in (0, 4, 8, 128)]
    [1, 4, 8, 32]
    """
    return _distinct(_units(addresses, size, SEGMENT_BYTES), active)


def local_sectors(addresses: Rows, size: int, active: Lanes) -> NDArray[np.int64]:
    """Count the sectors of each access to local memory, where the words of the 32 lanes alternate.

    Examples
    --------
    >>> everyone = np.ones((1, 32), bool)
    >>> local_sectors(np.full((1, 32), 8), 4, everyone).item(), local_sectors(np.full((1, 32), 8), 8, everyone).item()
    (4, 8)
    """
    words = _units(addresses, size, BANK_BYTES)
    places = words * LANES + np.arange(LANES)[:, None]
    return _distinct(places * BANK_BYTES // SEGMENT_BYTES, active)


def colliding_lanes(addresses: Rows, active: Lanes) -> NDArray[np.int64]:
    """Count the lanes of each access whose address an earlier lane has too.

    Examples
    --------
    >>> colliding_lanes(np.arange(32)[None] // 4 * 4, np.ones((1, 32), bool)).item()
    24
    """
    repeated: NDArray[np.int64] = active.sum(axis=1) - _distinct(addresses[..., None], active)
    return repeated


def _units(addresses: Rows, size: int, unit: int) -> Rows:
    """Return the units that each lane's bytes touch: (accesses, 32, units)."""
    count = max(size // unit, 1)
    return addresses[..., None] // unit + np.arange(count)


def _distinct(units: Array, active: Lanes) -> NDArray[np.int64]:
    """Count the different numbers of each access, (accesses, 32, units), in its active lanes."""
    valid = np.broadcast_to(active[..., None], units.shape).reshape(len(units), -1)
    ordered = np.sort(np.where(valid, units.reshape(len(units), -1), _NOTHING), axis=-1)
    first = ordered > _NOTHING
    first[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    found: NDArray[np.int64] = first.sum(axis=1)
    return found
