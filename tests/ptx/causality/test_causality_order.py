# SPDX-License-Identifier: MIT
"""The causality order of a launch against a reference that follows the events one by one."""

import numpy as np
import pytest

from tests.ptx.causality.reference import Reference
from wmma_emu.ptx.causality import CausalityOrder, Ordering, memory_order, order_of_launch

BLOCKS, WARPS, LANES = 2, 3, 4
WAVES = 2
MOST, ASKED = 120, 24
MASKS = (0b1111, 0b0011, 0b1100, 0b0101, 0b0111)


class Trace:
    """Random events, applied to the order and to the reference."""

    def __init__(self, seed, kinds):
        self.rng = np.random.default_rng(seed)
        self.order, self.reference = CausalityOrder(BLOCKS * WAVES, WARPS), Reference()
        self.kinds = kinds
        self.events = []

    def run(self, steps):
        for wave in range(WAVES):
            self.order.begin(np.arange(BLOCKS) + wave * BLOCKS)
            self.live = np.zeros((BLOCKS, WARPS, 32), bool)
            self.live[..., :LANES] = True
            for key in [x for x in self.reference.words if x[0] == "shared"]:
                del self.reference.words[key]
            self.reference.released, self.reference.released_fences = {}, {}
            self.phase = np.zeros((BLOCKS, WARPS), np.int32), self.order.no_pieces((BLOCKS,))
            for _ in range(steps):
                kind = str(self.rng.choice(self.kinds))
                getattr(self, kind)()
                self.access()
                self.compare(kind)

    def compare(self, kind):
        """Query some of the events, also old ones: chains of knowledge take many steps."""
        known = self.events[-MOST:]
        events = [known[i] for i in self.rng.permutation(len(known))[:ASKED].tolist()]
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
        number = int(self.rng.integers(2))
        self.order.meet(number, blocks)
        for g in blocks:
            self.reference.empty((g, number))
            self.reference.meet([self.name(g, w, x) for w in range(WARPS) for x in range(LANES)], of_block=True)

    def lanes_meet(self):
        participants = self.some(0.8)
        masks = self.rng.choice(MASKS, self.live.shape).astype(np.uint32)
        if self.rng.random() < 0.5:
            masks[:] = 0b1111
        self.order.meet_lanes(participants, masks, self.live)
        for g, w in np.argwhere(participants.any(axis=-1)):
            for mask in MASKS:
                group = [x for x in np.flatnonzero(participants[g, w]) if masks[g, w, x] == mask and mask >> x & 1]
                self.reference.meet([self.name(g, w, x) for x in group], of_block=False)

    def all_lanes_meet(self):
        self.order.meet_lanes(None, np.full((1, 1, 1), 0xFFFFFFFF, np.uint32), self.live)
        for g, w in np.ndindex(BLOCKS, WARPS):
            self.reference.meet([self.name(g, w, x) for x in range(LANES)], of_block=False)

    def arrive(self):
        participants, number = self.some(), int(self.rng.integers(2))
        self.order.arrive(number, participants, self.live)
        for g in range(BLOCKS):
            mine = [self.name(*at) for at in np.argwhere(participants) if at[0] == g]
            self.reference.arrive((g, number), mine)

    def complete(self):
        number, participants = int(self.rng.integers(2)), self.some()
        blocks = np.flatnonzero(self.rng.random(BLOCKS) < 0.5)
        self.order.complete(number, blocks, participants, self.live)
        for g in blocks:
            mine = [self.name(*at) for at in np.argwhere(participants) if at[0] == g]
            self.reference.complete((g, number), mine)
            self.reference.empty((g, number))

    def fence(self):
        participants, ordering = self.some(), self.ordering()
        self.order.fence(participants, ordering)
        for thread in self.names(participants):
            self.reference.fence(thread, ordering)

    def words_of_threads(self):
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
        participants, ordering, (space, positions) = self.some(), self.ordering(), self.words_of_threads()
        for at in np.argwhere(participants):
            self.note(at, self.reference.read(self.word(space, positions, at), self.name(*at), ordering))
        self.order.loaded(space, np.nonzero(participants), positions[participants], 4, ordering)

    def store(self):
        self.write("stored", is_atomic=False)

    def update(self):
        self.write("updated", is_atomic=True)

    def write(self, method, *, is_atomic):
        participants, ordering, (space, positions) = (
            self.some(0.3),
            self.ordering(self.rng.random() < 0.7),
            self.words_of_threads(),
        )
        turn = self.rng.permutation(int(participants.sum()))
        at = tuple(x[turn] for x in np.nonzero(participants))
        self.order.before_write(participants)
        for one in zip(*at, strict=True):
            word = self.word(space, positions, one)
            self.note(one, self.reference.write(word, self.name(*one), ordering, is_atomic=is_atomic))
        getattr(self.order, method)(space, at, positions[at], 4, ordering)

    def phase_arrivals(self):
        """Arrivals at a barrier in memory, some relaxed: these release what was known at the last fences."""
        participants, relaxed = self.some(), bool(self.rng.random() < 0.4)
        times, pieces = self.order.release(participants, self.live, relaxed=relaxed)
        np.maximum(self.phase[0], times, out=self.phase[0])
        if pieces is not None:
            self.phase[1][:] = self.order.knowledge.join(self.phase[1], pieces)
        for thread in self.names(participants):
            if relaxed:
                self.reference.arrive_relaxed((thread[0], "phase"), thread)
            else:
                self.reference.arrive((thread[0], "phase"), [thread], of_block=False)

    def phase_waits(self):
        """Tests of a barrier in memory, some relaxed: the next fence acquires what these find."""
        participants, relaxed = self.some(), bool(self.rng.random() < 0.4)
        if relaxed:
            self.order.see_released(participants, *self.phase)
        else:
            self.order.learn(participants, self.live, *self.phase)
        for thread in self.names(participants):
            if relaxed:
                self.reference.see_released((thread[0], "phase"), thread)
            else:
                self.reference.complete((thread[0], "phase"), [thread])


BARRIERS = ("meet_all", "meet_of_some_blocks", "arrive", "complete")
LANES_OF_WARPS = ("lanes_meet", "all_lanes_meet")
MEMORY = ("fence", "load", "store", "update")
PHASES = ("phase_arrivals", "phase_waits")


GROUPS = {
    "barriers": BARRIERS,
    "barriers of some threads": ("arrive", "complete"),
    "lanes": LANES_OF_WARPS,
    "barriers and lanes": BARRIERS + LANES_OF_WARPS,
    "memory": MEMORY,
    "memory and barriers": MEMORY + BARRIERS,
    "barriers in memory": PHASES + MEMORY,
    "all": MEMORY + BARRIERS + LANES_OF_WARPS + PHASES,
}


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kinds", GROUPS.values(), ids=GROUPS)
def test_the_order_agrees_with_the_reference_on_random_traces(kinds, seed):
    Trace(seed, kinds).run(15)


def order_of(blocks=1, warps=2):
    order = CausalityOrder(blocks, warps)
    order.begin(np.arange(blocks))
    return order


def is_ordered(order, stamp):
    """The threads of the wave before which an access is ordered, (G, W, 32)."""
    return ~order.unordered(np.full((*order.now.shape, 32), stamp, np.asarray(stamp).dtype))


def only(order, g, w, lane):
    participants = np.zeros((*order.now.shape, 32), bool)
    participants[g, w, lane] = True
    return participants


ACQUIRE, RELEASE = Ordering(True, True, False, True), Ordering(True, False, True, True)


def test_a_stamp_names_its_thread():
    order = CausalityOrder(1000, 3)
    order.begin(np.array([7, 998]))
    order.meet_all()
    stamps = order.stamps()
    assert order.thread_of(stamps[1, 2, 31]) == (998, 2, 31)
    assert order.thread_of(stamps[0, 0, 0]) == (7, 0, 0)
    assert set(order.time(stamps).ravel().tolist()) == {2}


def test_inactive_threads_have_no_stamp():
    order = order_of()
    stamps = order.stamps(only(order, 0, 1, 5))
    assert np.argwhere(stamps).tolist() == [[0, 1, 5]]
    assert not order.unordered(np.zeros((1, 2, 32), np.uint32)).any()


def test_stamps_that_no_longer_fit_become_wider_and_keep_their_numbers():
    order = order_of()
    before = order.stamps()[0, 0, 1]
    order.now += 1 << 25
    order.tick()
    after = order.stamps()
    assert (before.dtype, after.dtype) == (np.uint32, np.uint64)
    assert order.thread_of(after[0, 1, 9]) == (0, 1, 9)
    assert not is_ordered(order, before.astype(np.uint64))[0, 1, 0]
    order.meet_all()
    assert is_ordered(order, before.astype(np.uint64)).all()
    assert is_ordered(order, after[0, 1, 9]).all()
    assert int(after.max()) < 2**63


def test_a_launch_of_very_many_threads_has_wide_stamps_from_the_start():
    order = CausalityOrder(1 << 24, 32)
    order.begin(np.array([1 << 23]))
    assert order.stamps().dtype == np.uint64
    assert order.thread_of(order.stamps()[0, 31, 30]) == (1 << 23, 31, 30)


def test_a_release_in_one_wave_is_acquired_in_a_later_one():
    order = CausalityOrder(2, 1)
    order.begin(np.array([0]))
    stamp = order.stamps()[0, 0, 3]
    first = (np.array([0]), np.array([0]), np.array([3]))
    order.stored("global", first, np.array([64]), 4, RELEASE)
    late = order.stamps()[0, 0, 3]
    order.begin(np.array([1]))
    order.loaded("global", first, np.array([64]), 4, ACQUIRE)
    assert np.argwhere(is_ordered(order, stamp)).tolist() == [[0, 0, 3]]
    assert not is_ordered(order, late).any()


def test_shared_memory_is_new_in_each_wave():
    order = CausalityOrder(2, 1)
    order.begin(np.array([0]))
    stamp = order.stamps()[0, 0, 3]
    first = (np.array([0]), np.array([0]), np.array([3]))
    order.stored("shared", first, np.array([64]), 4, RELEASE)
    order.begin(np.array([1]))
    order.loaded("shared", first, np.array([64]), 4, ACQUIRE)
    assert not is_ordered(order, stamp).any()


def test_every_word_of_a_wide_store_is_released():
    order = order_of(blocks=2, warps=1)
    stamp = order.stamps()[0, 0, 0]
    order.stored("global", (np.array([0]), np.array([0]), np.array([0])), np.array([64]), 16, RELEASE)
    order.loaded("global", (np.array([1]), np.array([0]), np.array([0])), np.array([76]), 4, ACQUIRE)
    order.loaded("global", (np.array([1]), np.array([0]), np.array([1])), np.array([80]), 4, ACQUIRE)
    assert is_ordered(order, stamp)[1, 0, :2].tolist() == [True, False]


def test_a_wide_load_finds_releases_to_each_of_its_words():
    order = order_of(blocks=2, warps=1)
    stamp = order.stamps()[0, 0, 0]
    order.stored("global", (np.array([0]), np.array([0]), np.array([0])), np.array([76]), 4, RELEASE)
    order.loaded("global", (np.array([1]), np.array([0]), np.array([0])), np.array([64]), 16, ACQUIRE)
    order.loaded("global", (np.array([1]), np.array([0]), np.array([1])), np.array([64]), 8, ACQUIRE)
    assert is_ordered(order, stamp)[1, 0, :2].tolist() == [True, False]


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0xFF])
def test_a_lane_releases_fences_of_other_lanes_before_a_barrier_of_the_warp(mask):
    order = order_of(blocks=2, warps=1)
    fence, relaxed = Ordering(True, True, True, True), Ordering(True, False, False, True)
    stamp = order.stamps()[0, 0, 3]
    order.fence(only(order, 0, 0, 3), fence)
    live = np.ones((2, 1, 32), bool)
    order.meet_lanes(live & (mask >> np.arange(32) & 1 == 1), np.full((1, 1, 1), mask, np.uint32), live)
    for lane, position in ((5, 64), (9, 128)):
        order.stored("global", (np.array([0]), np.array([0]), np.array([lane])), np.array([position]), 4, relaxed)
    for lane, position in ((0, 64), (1, 128)):
        order.loaded("global", (np.array([1]), np.array([0]), np.array([lane])), np.array([position]), 4, ACQUIRE)
    assert is_ordered(order, stamp)[1, 0, :2].tolist() == [True, mask == 0xFFFFFFFF]


def test_the_last_of_several_stores_to_a_word_remains():
    order = order_of(blocks=1, warps=1)
    stamps = order.stamps()[0, 0]
    order.stored("global", (np.zeros(2, int), np.zeros(2, int), np.array([4, 2])), np.array([64, 64]), 4, RELEASE)
    order.loaded("global", (np.array([0]), np.array([0]), np.array([9])), np.array([64]), 4, ACQUIRE)
    assert [is_ordered(order, stamps[x])[0, 0, 9] for x in (4, 2)] == [False, True]


def test_accesses_of_exited_threads_are_ordered_by_a_barrier_of_all_threads():
    order = order_of()
    live = np.ones((1, 2, 32), bool)
    live[0, 0, 3:] = False
    stamp = order.stamps()[0, 0, 20]
    order.meet(0, np.array([0]))
    assert is_ordered(order, stamp).all()


def test_a_launch_that_releases_too_much_treats_earlier_accesses_as_ordered(monkeypatch):
    monkeypatch.setattr(memory_order, "MOST_KEPT", 40)
    order = order_of(blocks=2, warps=1)
    everyone = tuple(x.ravel() for x in np.indices((2, 1, 32)))
    first = order.stamps()[0, 0, 0]
    assert not is_ordered(order, first)[1].any()
    order.updated("global", everyone, np.full(64, 64), 4, RELEASE)
    assert is_ordered(order, first).all()
    assert not is_ordered(order, order.stamps()[0, 0, 0])[1].any()
    order.loaded("global", everyone, np.full(64, 64), 4, ACQUIRE)
    assert not is_ordered(order, order.stamps()[0, 0, 0])[1].any()


def test_accesses_of_earlier_waves_are_ordered_too_when_a_launch_forgets(monkeypatch):
    monkeypatch.setattr(memory_order, "MOST_KEPT", 40)
    order = CausalityOrder(2, 1)
    order.begin(np.array([0]))
    earlier = order.stamps()[0, 0, 5]
    order.begin(np.array([1]))
    assert not is_ordered(order, earlier).any()
    everyone = tuple(x.ravel() for x in np.indices((1, 1, 32)))
    order.updated("global", everyone, np.full(32, 64), 4, RELEASE)
    order.updated("global", everyone, np.full(32, 64), 4, RELEASE)
    assert is_ordered(order, earlier).all()


def test_an_unused_order_keeps_nothing():
    order = order_of_launch(4, 2, [], is_used=False)
    order.begin(np.arange(4))
    live = np.ones((4, 2, 32), bool)
    order.meet_all()
    order.arrive(1, live, live)
    order.complete(1, np.arange(4), live, live)
    order.meet_lanes(live & (np.arange(32) < 16), np.full((1, 1, 1), 0xFFFF, np.uint32), live)
    assert (order.now == 1).all()
    assert not order.knows_lanes
    assert not order.uses_memory_order


class ListedTrace(Trace):
    """The same, asked about a list of accesses, each for one thread."""

    def compare(self, kind):
        events = self.events[-MOST:]
        threads = np.flatnonzero(self.live.reshape(-1))
        for i in self.rng.permutation(len(events))[:6].tolist():
            stamp, event = events[i]
            unordered = self.order.unordered_for(np.full(len(threads), stamp, np.uint32), threads)
            expected = [not self.reference.precedes(event, self.name(*at)) for at in np.argwhere(self.live)]
            assert unordered.tolist() == expected, (kind, event)


@pytest.mark.parametrize("kinds", GROUPS.values(), ids=GROUPS)
def test_the_order_of_listed_accesses_is_that_of_the_reference(kinds):
    ListedTrace(1, kinds).run(15)
