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


def shared_wavefronts(addresses: Rows, size: int, active: Lanes, *, joins: bool = True) -> Wavefronts:
    """Count the wavefronts of accesses to shared memory.

    A warp accesses 128 bytes at a time: lanes with 8 bytes in two groups of 16, lanes with 16 bytes in four groups of
    8. The busiest bank of a group decides how many wavefronts it takes; lanes at one word share it. Loads join
    (``joins``) two groups if every lane has the address of its neighbour at a distance of 1, or every lane of that at a
    distance of 2; stores, ldmatrix and stmatrix never do.

    Examples
    --------
    >>> lane, everyone = np.arange(32)[None], np.ones((1, 32), bool)
    >>> [[x.item() for x in shared_wavefronts(lane * pitch, 4, everyone)] for pitch in (0, 4, 8, 128, 132)]
    [[1, 1], [1, 1], [2, 1], [32, 1], [1, 1]]
    >>> [[x.item() for x in shared_wavefronts(lane * pitch, 16, everyone)] for pitch in (16, 32, 144)]
    [[4, 4], [8, 4], [4, 4]]
    >>> [shared_wavefronts(lane // 2 * 8, 8, everyone, joins=x).needed.item() for x in (True, False)]
    [1, 2]
    """
    groups = max(size * LANES // _PASS_BYTES, 1)
    count = len(addresses)
    if joins and groups > 1:
        starts, valid = _joined(addresses, groups, active)
    else:
        starts, valid = addresses.reshape(count, groups, -1), active.reshape(count, groups, -1)
    words = _words(starts, size)
    valid = np.broadcast_to(valid[..., None], words.shape)
    busiest = _busiest(words.reshape(count * groups, -1), valid.reshape(count * groups, -1)).reshape(count, groups)
    return Wavefronts(busiest.sum(axis=1), (busiest > 0).sum(axis=1))


def lane_groups(addresses: NDArray[np.int64], size: int, active: NDArray[np.bool_], *, joins: bool) -> list[list[int]]:
    """Return the lanes of each group that takes its wavefronts together, as `shared_wavefronts` counts them.

    Examples
    --------
    >>> lane, everyone = np.arange(32), np.ones(32, bool)
    >>> [[len(x) for x in lane_groups(lane // 2 * 8, 8, everyone, joins=joins)] for joins in (True, False)]
    [[32], [16, 16]]
    """
    groups = max(size * LANES // _PASS_BYTES, 1)
    lanes = np.arange(LANES)
    if joins and groups > 1:
        _, valid = _joined(addresses[None], groups, active[None])
        members = np.repeat(lanes.reshape(groups // 2, -1), 2, axis=0)
    else:
        valid, members = active.reshape(1, groups, -1), lanes.reshape(groups, -1)
    return [found for mine, of_group in zip(members, valid[0], strict=True) if (found := mine[of_group].tolist())]


def atomic_wavefronts(addresses: Rows, size: int, active: Lanes) -> Wavefronts:
    """Count the wavefronts of atomic operations on shared memory: lanes at one word wait for each other too.

    Examples
    --------
    >>> lane, everyone = np.arange(32)[None], np.ones((1, 32), bool)
    >>> [atomic_wavefronts(lane * pitch, 4, everyone).needed.item() for pitch in (0, 4, 8)]
    [32, 1, 2]
    """
    groups = max(size * LANES // _PASS_BYTES, 1)
    most = _busiest_group(addresses, size, active, groups)
    return Wavefronts(most.sum(axis=1), (most > 0).sum(axis=1))


def copy_wavefronts(source: Rows, target: Rows, size: int, active: Lanes) -> Wavefronts:
    """Count the wavefronts of ``cp.async.ca``, which moves words from the banks of the L1 cache to those of shared
    memory: the busier of the two decides, and lanes at one word do not share it.

    Examples
    --------
    >>> lane, everyone = np.arange(32)[None], np.ones((1, 32), bool)
    >>> [copy_wavefronts(lane * pitch, lane * 4, 4, everyone).needed.item() for pitch in (0, 4, 8)]
    [32, 1, 2]
    """
    groups = max(size * LANES // _PASS_BYTES, 1)
    most = np.maximum(*(_busiest_group(x, size, active, groups) for x in (source, target)))
    return Wavefronts(most.sum(axis=1), (most > 0).sum(axis=1))


def _joined(addresses: Rows, groups: int, active: Lanes) -> tuple[Rows, Lanes]:
    """Divide the lanes into groups, after joining pairs of groups whose lanes agree: (accesses, groups, lanes)."""
    count, pairs = len(addresses), groups // 2
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
    return wide.reshape(count, groups, -1), chosen.reshape(count, groups, -1)


def _words(starts: Rows, size: int) -> Rows:
    """Return the words of each access, on a new axis."""
    found: Rows = starts[..., None] // BANK_BYTES + np.arange(max(size // BANK_BYTES, 1))
    return found


def _busiest_group(addresses: Rows, size: int, active: Lanes, groups: int) -> NDArray[np.int64]:
    """Return how many words of the lanes are in the busiest bank of each group, equal words counted again."""
    count = len(addresses)
    words = _words(addresses, size).reshape(count * groups, -1)
    valid = np.repeat(active, words.size // active.size, axis=1).reshape(count * groups, -1)
    return _most_in_a_bank(words, valid).reshape(count, groups)


def _busiest(words: Rows, valid: Lanes) -> NDArray[np.int64]:
    """Count the different words in the busiest bank of each row: 0 if a row accesses nothing."""
    ordered = np.sort(np.where(valid, words, _NOTHING), axis=-1)
    first = ordered > _NOTHING
    first[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return _most_in_a_bank(ordered, first)


def _most_in_a_bank(words: Rows, valid: Lanes) -> NDArray[np.int64]:
    """Return the number of valid words in the busiest bank of each row."""
    row = np.arange(len(words))[:, None] * BANKS
    found = np.bincount((row + words % BANKS)[valid], minlength=len(words) * BANKS)
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


def atomic_sectors(addresses: Rows, size: int, active: Lanes) -> NDArray[np.int64]:
    """Count the sectors of atomic operations on global memory: lanes at one address take turns, and each turn counts
    its sectors.

    Examples
    --------
    >>> lane, everyone = np.arange(32)[None], np.ones((1, 32), bool)
    >>> [atomic_sectors(x, 4, everyone).item() for x in (lane * 0, lane * 4, lane // 2 * 4)]
    [32, 4, 4]
    """
    order = np.argsort(np.where(active, addresses, _NOTHING), axis=1, kind="stable")
    ordered, taken = np.take_along_axis(addresses, order, 1), np.take_along_axis(active, order, 1)
    lane = np.arange(LANES)
    begins = np.ones(ordered.shape, np.bool_)
    begins[:, 1:] = (ordered[:, 1:] != ordered[:, :-1]) | ~taken[:, :-1]
    turn = lane - np.maximum.accumulate(np.where(begins, lane, 0), axis=1)
    return _distinct((ordered // SEGMENT_BYTES * LANES + turn)[..., None], taken)


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
