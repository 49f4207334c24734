# SPDX-License-Identifier: MIT
"""The recorded accesses of a region against the definition: random programs, every pair of accesses to every byte."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ptx.memory.every_pair import EveryPair, Knowledge
from tests.ptx.memory.single_wave import instruction
from wmma_emu.ptx.memory.races.race import EQUAL, LANES_AT_ONCE, NEAR, RACE
from wmma_emu.ptx.memory.races.region import Region
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK, Access

BLOCKS, WARPS, BYTES = 3, 2, 32
THREADS = BLOCKS * WARPS * 2
SOME_LANES = (0, 5)

_WIDE = (1 << 21) - 2
"""A time shortly before stamps, with the strength of each access, no longer fit in 32 bits."""

_lists = st.lists(st.integers(0, THREADS - 1), min_size=1, max_size=8, unique=True)
_access = st.tuples(
    st.just("access"), _lists, st.sampled_from([1, 2, 4, 4, 4, 8]),
    st.one_of(st.lists(st.integers(0, 7), min_size=THREADS, max_size=THREADS),
              st.integers(0, 1).map(lambda word: [word] * THREADS)),
    st.booleans(), st.sampled_from([WEAK, WEAK, WEAK, VOLATILE, BLOCK, SYSTEM]),
    st.lists(st.integers(0, 1), min_size=THREADS, max_size=THREADS),
)  # fmt: skip
_meet = st.tuples(st.just("meet"), _lists)
_tell = st.tuples(st.just("tell"), st.integers(0, THREADS - 1), st.integers(0, THREADS - 1))
_whole = st.tuples(st.just("block"), st.integers(0, BLOCKS - 1))
_wave = st.tuples(st.just("wave"))
_traces = st.lists(st.one_of(_access, _access, _access, _meet, _tell, _whole, _wave), min_size=1, max_size=25)


class Both:
    """A region and the definition, side by side.

    ``memory`` is "shared", "global", or "unordered": global memory of unordered blocks.
    """

    def __init__(self, memory: str, *, start: int) -> None:
        self.is_of_block = is_of_block = memory == "shared"
        self.order = Knowledge(2 * BLOCKS, WARPS)
        self.order.are_blocks_unordered = memory == "unordered"
        self.order.times[:] = start
        self.order.begin(list(range(BLOCKS)))
        self.pairs = [EveryPair(self.order, is_of_block=is_of_block, lenient=x) for x in (True, False)]
        self.memory = np.zeros(BYTES * (BLOCKS if is_of_block else 1), np.uint8)
        self.found: list = []
        self.region = Region(
            0, len(self.memory), self.order, lambda race, active: self.found.append(race), is_of_block=is_of_block
        )  # fmt: skip

    def thread(self, k: int) -> int:
        """Number a thread of the wave in the launch: two lanes of each warp take part."""
        block, warp, lane = k // 4, k // 2 % 2, SOME_LANES[k % 2]
        return int(self.order.mine[block, warp, lane])

    def access(self, threads, size, words, write, strength, numbers) -> None:
        shape = self.order.shape
        strength = strength if strength != VOLATILE or self.is_of_block else WEAK
        mask, positions = np.zeros(shape, bool), np.zeros(shape, np.int64)
        data = np.zeros((1, *shape), f"u{size}")
        threads, where, values = [], [], []
        for k in sorted(threads):
            at = k // 4, k // 2 % 2, SOME_LANES[k % 2]
            mask[at] = True
            positions[at] = words[k] * size % BYTES + (at[0] * BYTES if self.is_of_block else 0)
            data[(0, *at)] = numbers[k] * 0x0101010101010101 % (1 << (8 * size))
            threads.append(self.thread(k))
            where.append(int(positions[at]))
            values.append(data[(0, *at)].tobytes())
        addresses = positions.astype(np.uint64)
        if len(set(where)) == 1 and mask.any(axis=(1, 2)).sum() > 1:
            positions = np.full((1, 1, 1), where[0])  # as wide as an address is that all threads have
        accessed = Access(
            instruction("st.u32" if write else "ld.u32"), positions, addresses, size, size, mask, self.order.stamps(),
            self.order.now.copy(), strength,
        )  # fmt: skip
        self.found.clear()
        if write:
            self.region.write(accessed, mask, values=data, view=self.memory.view(f"u{size}"))
        else:
            self.region.read(accessed, mask)
        before = self.memory.tobytes()
        least, most = (worst(x.access(threads, where, size, values, before, write, strength)) for x in self.pairs)
        found: dict[str, set[int]] = {kind: set() for kind in (RACE, NEAR, LANES_AT_ONCE, EQUAL)}
        for race in self.found:
            bad = np.broadcast_to(race.bad, (race.bad.shape[0], *shape)).any(axis=0) & mask
            found[race.kind].update(self.order.mine[bad].tolist())
            self.require_other_sides(race)
        said = worst(found)
        assert least.keys() == said.keys() == most.keys()
        assert all(least[x] <= said[x] <= most[x] for x in said)
        if write:
            for position, value in zip(where, values, strict=True):
                self.memory[position : position + size] = np.frombuffer(value, np.uint8)

    def require_other_sides(self, race) -> None:
        """Every race names another access."""
        full = np.broadcast_to(race.bad, (race.bad.shape[0], *self.order.shape)) & race.access.mask
        for at in np.argwhere(full)[:2]:
            assert race.other(tuple(at.tolist()))

    def run(self, trace) -> None:
        for kind, *what in trace:
            if kind == "access":
                self.access(*what)
            elif kind == "meet":
                blocks = range(BLOCKS) if self.order.are_blocks_unordered else [None]
                for block in blocks:
                    met = [self.thread(k) for k in what[0] if block in (None, k // 4)]
                    if met:
                        self.order.meet(met)
            elif kind == "tell":
                if self.order.are_blocks_unordered and what[0] // 4 != what[1] // 4:
                    continue
                self.order.hand_over(self.thread(what[0]), self.thread(what[1]))
            elif kind == "block":
                self.order.meet(self.order.mine[what[0]].reshape(-1).tolist())
            elif not self.is_of_block and self.order.blocks[0] == 0:
                self.region.end_wave()
                self.order.begin(list(range(BLOCKS, 2 * BLOCKS)))


def worst(found: dict[str, set[int]]) -> dict[int, int]:
    """The worst finding of each thread: a race of equal bytes, one within its warp, a race."""
    names = {EQUAL: 1, LANES_AT_ONCE: 2, NEAR: 2, RACE: 3}
    return {x: names[kind] for kind in names for x in found[kind]}


def store(*threads, strength=WEAK, word=0, value=0):
    """Some threads store a word."""
    return "access", list(threads), 4, [word] * THREADS, True, strength, [value] * THREADS


def load(*threads, strength=WEAK, word=0):
    """Some threads load a word."""
    return "access", list(threads), 4, [word] * THREADS, False, strength, [0] * THREADS


TRACES = {
    "a plain store, then atomic operations of the same thread and of another": [
        store(0), store(0, strength=SYSTEM), store(2, strength=SYSTEM),
    ],
    "a plain store before atomic operations, ordered before the second one": [
        store(0), store(0, strength=SYSTEM), ("tell", 0, 2), store(2, strength=SYSTEM), store(4, strength=SYSTEM),
        store(6, strength=SYSTEM),
    ],
    "a read that is ordered before another reader later": [
        store(4, word=1), load(0), load(2), ("tell", 2, 6), ("tell", 0, 2), store(6), store(4),
    ],
    "a read that is ordered before a lane after its own read": [
        load(0), load(2), ("tell", 2, 3), ("tell", 0, 2), store(3),
    ],
    "readers that are ordered before one of two writers": [
        load(0, 2), ("tell", 0, 3), ("tell", 2, 3), store(1, 3), ("tell", 1, 2), store(2, value=1),
    ],
    "an operation of the block after one of the system": [store(0, strength=SYSTEM), store(4, strength=BLOCK)],
    "an operation of the system after one of the block": [store(4, strength=BLOCK), store(0, strength=SYSTEM)],
    "a word after its halves": [
        load(0, 2), ("access", [2], 1, [3] * 8, True, WEAK, [1] * 8), ("tell", 2, 3), store(3), load(1),
    ],
    "settled in one block only": [
        load(0, 2), load(4, 6), ("block", 0), store(1), store(5), ("block", 1), load(3, 7),
    ],
    "atomic operations, then a barrier, then a plain load and another": [
        store(0), ("block", 0), store(1, 2, 3, strength=BLOCK), ("block", 0), load(0, 2), store(1, strength=SYSTEM),
    ],
    "many readers that are ordered one after the other": [
        load(0, 1, 2, 3), load(0, 1, 2, 3), ("tell", 0, 3), ("tell", 1, 3), store(3), ("tell", 2, 3), store(3),
    ],
    "a store of equal bytes, after a store of another warp and an atomic operation of the same thread": [
        ("access", [3], 1, [1] * THREADS, True, WEAK, [0] * THREADS),
        ("access", [0, 1], 1, [1] * THREADS, True, BLOCK, [0, 1] + [0] * 10),
        ("access", [0], 1, [1] * THREADS, True, WEAK, [1] * THREADS),
    ],
}  # fmt: skip


@pytest.mark.parametrize("memory", ["shared", "global", "unordered"])
@pytest.mark.parametrize("name", TRACES)
def test_a_chosen_trace_has_the_races_of_the_definition(name, memory):
    Both(memory, start=1).run(TRACES[name])


@pytest.mark.parametrize("memory", ["shared", "global", "unordered"])
@given(trace=_traces, start=st.sampled_from([1, 1, _WIDE]))
@settings(max_examples=150, deadline=None)
def test_random_traces_have_the_races_of_the_definition(memory, trace, start):
    Both(memory, start=start).run(trace)
