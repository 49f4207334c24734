# SPDX-License-Identifier: MIT
"""Wavefronts, sectors and patterns against counts of Python, lane by lane."""

import numpy as np
import pytest

from wmma_emu.ptx.profile.patterns import patterns_of
from wmma_emu.ptx.profile.wavefronts import colliding_lanes, global_sectors, local_sectors, shared_wavefronts

SHAPE = (3, 4, 32)


def groups_of(addresses, size, active):
    """Return the lanes that share wavefronts, as lists."""
    lanes = [x for x in range(32) if active[x]]
    width = min(32, 128 // size) if size >= 4 else 32
    groups = [[x for x in lanes if x // width == i] for i in range(32 // width)]
    if width == 32:
        return groups
    joined = []
    for i in range(0, len(groups), 2):
        pair = groups[i] + groups[i + 1]
        alike = any(
            all(x ^ far not in pair or addresses[x] == addresses[x ^ far] for x in pair) for far in (1, 2)
        )  # fmt: skip
        joined += [pair] if alike else groups[i : i + 2]
    return joined


def wavefronts_of(addresses, size, active):
    """Count wavefronts and groups of one access."""
    needed = found = 0
    for group in groups_of(addresses, size, active):
        words = {(int(addresses[x]) + byte) // 4 for x in group for byte in range(size)}
        needed += max([sum(word % 32 == bank for word in words) for bank in range(32)]) if group else 0
        found += bool(group)
    return needed, found


def drawn(size, seed):
    rng = np.random.default_rng(seed)
    addresses = rng.integers(0, rng.choice([4, 16, 300]), (40, 32)) * size
    addresses[:10] = addresses[:10, ::2].repeat(2, axis=1)  # pairs of lanes at one address
    return addresses, rng.random((40, 32)) < rng.choice([0.3, 1.0])


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_busiest_bank_of_each_group_decides_the_wavefronts(size, seed):
    addresses, active = drawn(size, seed)
    found = shared_wavefronts(addresses, size, active)
    expected = [wavefronts_of(x, size, y) for x, y in zip(addresses, active, strict=True)]
    assert list(zip(*(x.tolist() for x in found), strict=True)) == expected


@pytest.mark.parametrize("size", [1, 4, 16])
def test_sectors_and_collisions_are_counted_as_sets(size):
    addresses, active = drawn(size, 3)
    sectors, collisions = global_sectors(addresses, size, active), colliding_lanes(addresses, active)
    for i, row in enumerate(addresses):
        own = [int(x) for x in row[active[i]]]
        assert sectors[i] == len({(x + byte) // 32 for x in own for byte in range(size)})
        assert collisions[i] == len(own) - len(set(own))


def test_words_of_lanes_alternate_in_local_memory():
    everyone = np.ones((1, 32), bool)
    found = [local_sectors(np.arange(32)[None] * pitch, 4, everyone).item() for pitch in (0, 4, 8)]
    assert found == [4, 32, 32]


@pytest.mark.parametrize("unit", [4, 32])
@pytest.mark.parametrize("masked", [False, True])
def test_patterns_have_the_costs_of_all_accesses(unit, masked):
    rng = np.random.default_rng(unit)
    base = rng.integers(0, 50, (*SHAPE[:2], 1)) * 4
    addresses = (base + np.arange(32) * 4).astype(np.uint64)
    addresses[0, 1] = rng.integers(0, 1000, 32) * 4
    mask = rng.random(SHAPE) < 0.4 if masked else None
    if masked:
        mask[1] = False
    found = patterns_of(addresses, mask, SHAPE, unit)
    active = np.ones(SHAPE, bool) if mask is None else mask
    rows, lanes = addresses.astype(np.int64).reshape(-1, 32), active.reshape(-1, 32)
    assert found.counts.sum() == lanes.any(axis=1).sum()
    cost = global_sectors if unit == 32 else lambda *x: shared_wavefronts(*x).needed
    assert cost(found.addresses, 4, found.active) @ found.counts == cost(rows, 4, lanes).sum()


@pytest.mark.parametrize("narrow", [(1, 1, 1), (1, 4, 1), (3, 1, 32), (2, 1, 4, 32)])
def test_narrow_addresses_stand_for_all_warps(narrow):
    addresses = np.broadcast_to(np.arange(narrow[-1], dtype=np.uint64) * np.uint64(4), narrow).copy()
    found = patterns_of(addresses, None, SHAPE, 32)
    assert found.counts.sum() == 12 * (2 if len(narrow) == 4 else 1)
