# SPDX-License-Identifier: MIT
"""Who races with whom: blocks that are apart are compared as a whole, and give what every pair gives."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.ptx.memory.single_wave import instruction
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.races.byte_accesses import ByteAccesses, KnownAccesses
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK

BLOCKS, WARPS = 3, 2


class TellsAll(CausalityOrder):
    """The same order, of which it is not known that blocks are apart."""

    are_blocks_unordered = False


def encounter(draw: np.random.Generator, order: CausalityOrder) -> ByteAccesses:
    """Some threads access some of three bytes."""
    local = np.sort(draw.choice(BLOCKS * WARPS * 32, draw.integers(1, 9), replace=False))
    stamps = order.stamps().reshape(-1)[local].astype(np.uint64)
    return ByteAccesses((local, 0 * local), draw.integers(0, 3, len(local)), local, stamps, order)


@pytest.mark.parametrize(
    "strengths", [(WEAK, WEAK), (WEAK, SYSTEM), (VOLATILE, VOLATILE), (BLOCK, SYSTEM), (BLOCK, BLOCK)]
)
def test_blocks_that_are_apart_race_as_every_pair_of_accesses_says(strengths):
    draw = np.random.default_rng(1)
    found_any = False
    for _ in range(60):
        orders = [kind(BLOCKS, WARPS, uses_memory_order=False) for kind in (CausalityOrder, TellsAll)]
        noted = [KnownAccesses(instruction("ld.u32"), strengths[0], shared=False) for _ in orders]
        for order in orders:
            order.begin(np.arange(BLOCKS))
        for _ in range(draw.integers(1, 5)):
            seed = int(draw.integers(1 << 30))
            for order, accesses in zip(orders, noted, strict=True):
                accesses.add(encounter(np.random.default_rng(seed), order))
            met = draw.integers(0, BLOCKS, 1)
            for order in orders:
                order.meet(0, met)
        seed = int(draw.integers(1 << 30))
        said = []
        for order, accesses in zip(orders, noted, strict=True):
            now = encounter(np.random.default_rng(seed), order)
            keys, who, _ = accesses.racing(now, strengths[1], order, lambda: None)
            said.append(SimpleNamespace(keys=set(keys.tolist()), who=set(who.tolist())))
        assert said[0] == said[1]
        found_any |= bool(said[0].keys)
    assert found_any
