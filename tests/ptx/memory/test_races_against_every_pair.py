# SPDX-License-Identifier: MIT
"""The noted accesses of a region against the definition: random programs, every pair of accesses to every byte."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ptx.memory.chunks import instruction
from tests.ptx.memory.every_pair import EveryPair, Knowledge
from wmma_emu.ptx.memory.races.race import EQUAL, LANES_AT_ONCE, NEAR, RACE
from wmma_emu.ptx.memory.races.region import Region
from wmma_emu.ptx.memory.races.touch import BLOCK, SYSTEM, VOLATILE, WEAK, Touch

BLOCKS, WARPS, BYTES = 2, 2, 32
SOME_LANES = (0, 5)

_WIDE = (1 << 21) - 2
"""A time a little before stamps are more than 32 bits hold, with what is said of each access."""

_lists = st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True)
_access = st.tuples(
    st.just("access"), _lists, st.sampled_from([1, 2, 4, 4, 4, 8]), st.lists(st.integers(0, 7), min_size=8, max_size=8),
    st.booleans(), st.sampled_from([WEAK, WEAK, WEAK, VOLATILE, BLOCK, SYSTEM]),
    st.lists(st.integers(0, 1), min_size=8, max_size=8),
)  # fmt: skip
_meet = st.tuples(st.just("meet"), _lists)
_tell = st.tuples(st.just("tell"), st.integers(0, 7), st.integers(0, 7))
_whole = st.tuples(st.just("block"), st.integers(0, 1))
_chunk = st.tuples(st.just("chunk"))
_traces = st.lists(st.one_of(_access, _access, _access, _meet, _tell, _whole, _chunk), min_size=1, max_size=25)


class Both:
    """A region and the definition, side by side."""

    def __init__(self, *, is_of_block: bool, start: int) -> None:
        self.is_of_block = is_of_block
        self.order = Knowledge(2 * BLOCKS, WARPS)
        self.order.times[:] = start
        self.order.begin([0, 1])
        self.pairs = EveryPair(self.order, is_of_block=is_of_block)
        self.memory = np.zeros(BYTES * (BLOCKS if is_of_block else 1), np.uint8)
        self.found: list = []
        self.region = Region(
            0, len(self.memory), self.order, lambda race, active: self.found.append(race), is_of_block=is_of_block
        )  # fmt: skip

    def thread(self, k: int) -> int:
        """Number a thread of the chunk in the launch: two lanes of each warp take part."""
        block, warp, lane = k // 4, k // 2 % 2, SOME_LANES[k % 2]
        return int(self.order.mine[block, warp, lane])

    def access(self, who, size, places, write, strength, numbers) -> None:
        shape = self.order.shape
        strength = strength if strength != VOLATILE or self.is_of_block else WEAK
        mask, positions = np.zeros(shape, bool), np.zeros(shape, np.int64)
        data = np.zeros((1, *shape), f"u{size}")
        threads, where, values = [], [], []
        for k in sorted(who):
            at = k // 4, k // 2 % 2, SOME_LANES[k % 2]
            mask[at] = True
            positions[at] = places[k] * size % BYTES + (at[0] * BYTES if self.is_of_block else 0)
            data[(0, *at)] = numbers[k] * 0x0101010101010101 % (1 << (8 * size))
            threads.append(self.thread(k))
            where.append(int(positions[at]))
            values.append(data[(0, *at)].tobytes())
        addresses = positions.astype(np.uint64)
        touch = Touch(
            instruction("st.u32" if write else "ld.u32"), positions, addresses, size, size, mask, self.order.stamps(),
            self.order.now.copy(), strength,
        )  # fmt: skip
        self.found.clear()
        if write:
            self.region.write(touch, mask, values=data, view=self.memory.view(f"u{size}"))
        else:
            self.region.read(touch, mask)
        expected = self.pairs.access(threads, where, size, values, self.memory.tobytes(), write, strength)
        found: dict[str, set[int]] = {kind: set() for kind in (RACE, NEAR, LANES_AT_ONCE, EQUAL)}
        for race in self.found:
            bad = np.broadcast_to(race.bad, (race.bad.shape[0], *shape)).any(axis=0) & mask
            found[race.kind].update(self.order.mine[bad].tolist())
            self.require_other_sides(race)
        assert worst(found) == worst(expected)
        if write:
            for position, value in zip(where, values, strict=True):
                self.memory[position : position + size] = np.frombuffer(value, np.uint8)

    def require_other_sides(self, race) -> None:
        """Every race names another access."""
        full = np.broadcast_to(race.bad, (race.bad.shape[0], *self.order.shape)) & race.touch.mask
        for at in np.argwhere(full)[:2]:
            assert race.other(tuple(at.tolist()))

    def run(self, trace) -> None:
        for kind, *what in trace:
            if kind == "access":
                self.access(*what)
            elif kind == "meet":
                self.order.meet([self.thread(k) for k in what[0]])
            elif kind == "tell":
                self.order.hand_over(self.thread(what[0]), self.thread(what[1]))
            elif kind == "block":
                self.order.meet(self.order.mine[what[0]].reshape(-1).tolist())
            elif not self.is_of_block and self.order.blocks[0] == 0:
                self.region.end_chunk()
                self.order.begin([2, 3])


def worst(found: dict[str, set[int]]) -> dict[int, str]:
    """The worst that is said of each thread: a race, one within its warp, one of equal bytes."""
    names = {RACE: "race", NEAR: "in its warp", LANES_AT_ONCE: "in its warp", EQUAL: "equal"}
    return {x: names[kind] for kind in (EQUAL, LANES_AT_ONCE, NEAR, RACE) for x in found[kind]}


@pytest.mark.parametrize("is_of_block", [True, False], ids=["shared", "global"])
@given(trace=_traces, start=st.sampled_from([1, 1, _WIDE]))
@settings(max_examples=150, deadline=None)
def test_races_are_those_of_the_definition(is_of_block, trace, start):
    Both(is_of_block=is_of_block, start=start).run(trace)


