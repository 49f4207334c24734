# SPDX-License-Identifier: MIT
"""Races if blocks are unordered: comparing whole blocks gives the same races as comparing every pair."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.ptx.memory.single_wave import instruction
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.races.byte_accesses import ByteAccesses, KnownAccesses
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK

BLOCKS, WARPS = 3, 2


class TellsAll(CausalityOrder):
    """The same order, without the knowledge that blocks are unordered."""

    are_blocks_unordered = False


def some_accesses(draw: np.random.Generator, order: CausalityOrder) -> ByteAccesses:
    """Some threads access some of three bytes."""
    local = np.sort(draw.choice(BLOCKS * WARPS * 32, draw.integers(1, 9), replace=False))
    stamps = order.stamps().reshape(-1)[local].astype(np.uint64)
    return ByteAccesses((local, 0 * local), draw.integers(0, 3, len(local)), local, stamps, order)


@pytest.mark.parametrize(
    "strengths", [(WEAK, WEAK), (WEAK, SYSTEM), (VOLATILE, VOLATILE), (BLOCK, SYSTEM), (BLOCK, BLOCK)]
)
def test_unordered_blocks_race_exactly_where_a_pair_of_accesses_does(strengths):
    draw = np.random.default_rng(1)
    found_any = False
    for _ in range(60):
        orders = [kind(BLOCKS, WARPS, uses_memory_order=False) for kind in (CausalityOrder, TellsAll)]
        recorded = [KnownAccesses(instruction("ld.u32"), strengths[0], shared=False) for _ in orders]
        for order in orders:
            order.begin(np.arange(BLOCKS))
        for _ in range(draw.integers(1, 5)):
            seed = int(draw.integers(1 << 30))
            for order, accesses in zip(orders, recorded, strict=True):
                accesses.add(some_accesses(np.random.default_rng(seed), order))
            blocks = draw.integers(0, BLOCKS, 1)
            for order in orders:
                order.meet(0, blocks)
        seed = int(draw.integers(1 << 30))
        results = []
        for order, accesses in zip(orders, recorded, strict=True):
            now = some_accesses(np.random.default_rng(seed), order)
            keys, entries, _ = accesses.racing(now, strengths[1], order, lambda: None)
            results.append(SimpleNamespace(keys=set(keys.tolist()), entries=set(entries.tolist())))
        assert results[0] == results[1]
        found_any |= bool(results[0].keys)
    assert found_any
