# SPDX-License-Identifier: MIT
"""The causality order of a launch against a reference that follows the events one by one."""

import numpy as np
import pytest

from tests.ptx.causality.reference import Reference
from wmma_emu.ptx.causality import CausalityOrder, Ordering

BLOCKS, WARPS, LANES = 3, 2, 4
CHUNKS = 2
MASKS = (0b1111, 0b0011, 0b1100, 0b0101, 0b0111)


class Trace:
    """Random events, told to both."""

    def __init__(self, seed, kinds):
        self.rng = np.random.default_rng(seed)
        self.order, self.reference = CausalityOrder(BLOCKS * CHUNKS, WARPS), Reference()
        self.kinds = kinds
        self.events = []

    def run(self, steps):
        for chunk in range(CHUNKS):
            self.order.begin(np.arange(BLOCKS) + chunk * BLOCKS)
            self.live = np.zeros((BLOCKS, WARPS, 32), bool)
            self.live[..., :LANES] = True
            for key in [x for x in self.reference.words if x[0] == "shared"]:
                del self.reference.words[key]
            self.reference.told = {}
            for _ in range(steps):
                kind = str(self.rng.choice(self.kinds))
                getattr(self, kind)()
                self.access()
                self.compare(kind)

    def compare(self, kind):
        events = self.events[-24:]
        stamps = np.array([stamp for stamp, _ in events], np.uint32).reshape(-1, 1, 1, 1)
        unordered = self.order.unordered(np.broadcast_to(stamps, (len(events), BLOCKS, WARPS, 32)))
        for at in np.argwhere(self.live):
            thread = self.name(*at)
            for found, (_, event) in zip(unordered[(slice(None), *at)], events, strict=True):
                assert found != self.reference.precedes(event, thread), (kind, event, thread, bool(found))

    def name(self, g, w, lane):
        return int(self.order.blocks[g]), int(w), int(lane)

    def names(self, mask):
        return [self.name(*at) for at in np.argwhere(mask)]

    def some(self, chance=0.5):
        """A mask of live threads: whole warps, or lanes."""
        lanes = self.rng.random(self.live.shape) < chance
        warps = self.rng.random((BLOCKS, WARPS, 1)) < chance
        return self.live & (warps if self.rng.random() < 0.5 else lanes)

    def ordering(self, reads=True):
        acquires, releases, wide = self.rng.random(3) < 0.5
        return Ordering(True, bool(acquires), bool(releases), bool(wide), reads)

    def note(self, at, event):
        self.events.append((int(self.order.stamps()[tuple(at)]), event))

    def access(self):
        for at in np.argwhere(self.some(0.3)):
            self.note(at, self.reference.access(self.name(*at)))

    def meet_all(self):
        self.order.meet_all()
        for g in range(BLOCKS):
            self.reference.meet([self.name(g, w, x) for w in range(WARPS) for x in range(LANES)], of_block=True)

    def meet_of_some_blocks(self):
        blocks = np.flatnonzero(self.rng.random(BLOCKS) < 0.5)
        self.order.meet(3, blocks)
        for g in blocks:
            self.reference.told.pop((g, 3), None)
            self.reference.meet([self.name(g, w, x) for w in range(WARPS) for x in range(LANES)], of_block=True)

    def lanes_meet(self):
        who = self.some(0.8)
        masks = self.rng.choice(MASKS, self.live.shape).astype(np.uint32)
        if self.rng.random() < 0.5:
            masks[:] = 0b1111
        self.order.meet_lanes(who, masks, self.live)
        for g, w in np.argwhere(who.any(axis=-1)):
            for mask in MASKS:
                group = [x for x in np.flatnonzero(who[g, w]) if masks[g, w, x] == mask and mask >> x & 1]
                self.reference.meet([self.name(g, w, x) for x in group], of_block=False)

    def all_lanes_meet(self):
        self.order.meet_lanes(None, np.full((1, 1, 1), 0xFFFFFFFF, np.uint32), self.live)
        for g, w in np.ndindex(BLOCKS, WARPS):
            self.reference.meet([self.name(g, w, x) for x in range(LANES)], of_block=False)

    def arrive(self):
        who, number = self.some(), int(self.rng.integers(2))
        self.order.arrive(number, who, self.live)
        for g in range(BLOCKS):
            mine = [self.name(*at) for at in np.argwhere(who) if at[0] == g]
            self.reference.arrive((g, number), mine)

    def complete(self):
        number, who = int(self.rng.integers(2)), self.some()
        blocks = np.flatnonzero(self.rng.random(BLOCKS) < 0.5)
        self.order.complete(number, blocks, who, self.live)
        for g in blocks:
            mine = [self.name(*at) for at in np.argwhere(who) if at[0] == g]
            self.reference.complete((g, number), mine)
            self.reference.told.pop((g, number), None)

    def fence(self):
        who, ordering = self.some(), self.ordering()
        self.order.fence(who, ordering)
        for thread in self.names(who):
            self.reference.fence(thread, ordering)

    def place(self):
        """A space, and a word of it for each block."""
        space = str(self.rng.choice(("shared", "global")))
        word = int(self.rng.integers(2)) * 4
        positions = np.full(self.live.shape, word)
        if space == "shared":
            positions = positions + np.arange(BLOCKS).reshape(-1, 1, 1) * 64
        return space, positions

    def word(self, space, positions, at):
        block = int(self.order.blocks[at[0]]) if space == "shared" else None
        return space, block, int(positions[tuple(at)])

    def load(self):
        who, ordering, (space, positions) = self.some(), self.ordering(), self.place()
        for at in np.argwhere(who):
            self.note(at, self.reference.read(self.word(space, positions, at), self.name(*at), ordering))
        self.order.loaded(space, np.nonzero(who), positions[who], 4, ordering)

    def store(self):
        self.write("stored", is_atomic=False)

    def update(self):
        self.write("updated", is_atomic=True)

    def write(self, method, *, is_atomic):
        who, ordering, (space, positions) = self.some(0.3), self.ordering(self.rng.random() < 0.7), self.place()
        turn = self.rng.permutation(int(who.sum()))
        at = tuple(x[turn] for x in np.nonzero(who))
        self.order.before_write(who)
        for one in zip(*at, strict=True):
            word = self.word(space, positions, one)
            self.note(one, self.reference.write(word, self.name(*one), ordering, is_atomic=is_atomic))
        getattr(self.order, method)(space, at, positions[at], 4, ordering)


BARRIERS = ("meet_all", "meet_of_some_blocks", "arrive", "complete")
LANES_OF_WARPS = ("lanes_meet", "all_lanes_meet")
MEMORY = ("fence", "load", "store", "update")


GROUPS = {
    "barriers": BARRIERS,
    "lanes": LANES_OF_WARPS,
    "barriers and lanes": BARRIERS + LANES_OF_WARPS,
    "memory": MEMORY,
    "memory and barriers": MEMORY + BARRIERS,
    "all": MEMORY + BARRIERS + LANES_OF_WARPS,
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kinds", GROUPS.values(), ids=GROUPS)
def test_the_order_is_that_of_the_reference(kinds, seed):
    Trace(seed, kinds).run(15)
