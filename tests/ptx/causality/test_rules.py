# SPDX-License-Identifier: MIT
"""The rules of the causality order, one fact each: barriers, fences, releases and acquires, scopes."""

import numpy as np
import pytest

from wmma_emu.ptx.causality import CausalityOrder, Ordering

RELEASE, ACQUIRE = Ordering(True, False, True, True), Ordering(True, True, False, True)
RELAXED, FENCE = Ordering(True, False, False, True), Ordering(True, True, True, True)
FLAG = 64
"""The position of a word in global memory."""


class TwoBlocks:
    """Two blocks of two warps. A thread is (block, warp, lane)."""

    def __init__(self):
        self.order = CausalityOrder(2, 2)
        self.order.begin(np.arange(2))
        self.live = np.ones((2, 2, 32), bool)

    def access(self, *thread):
        return self.order.stamps()[thread]

    def happens_before(self, stamp, *thread):
        unordered = self.order.unordered(np.full((2, 2, 32), stamp, np.asarray(stamp).dtype))
        return not unordered[thread]

    def mask(self, *thread):
        mask = np.zeros((2, 2, 32), bool)
        mask[thread] = True
        return mask

    def store(self, ordering, *thread):
        self.order.before_write(self.mask(*thread))
        self.order.stored("global", tuple(np.array([x]) for x in thread), np.array([FLAG]), 4, ordering)

    def add(self, ordering, *thread):
        self.order.before_write(self.mask(*thread))
        self.order.updated("global", tuple(np.array([x]) for x in thread), np.array([FLAG]), 4, ordering)

    def load(self, ordering, *thread):
        self.order.loaded("global", tuple(np.array([x]) for x in thread), np.array([FLAG]), 4, ordering)

    def fence(self, *thread, wide=True):
        self.order.fence(self.mask(*thread), FENCE._replace(wide=wide))


@pytest.fixture
def launch():
    return TwoBlocks()


def test_an_access_happens_before_later_accesses_of_its_thread_and_of_no_other(launch):
    stamp = launch.access(0, 0, 3)
    assert launch.happens_before(stamp, 0, 0, 3)
    assert not launch.happens_before(stamp, 0, 0, 4)
    assert not launch.happens_before(stamp, 0, 1, 3)
    assert not launch.happens_before(stamp, 1, 0, 3)


def test_a_barrier_of_the_block_orders_all_its_threads_and_no_other_block(launch):
    stamp = launch.access(0, 0, 3)
    launch.order.meet(0, np.array([0]))
    assert launch.happens_before(stamp, 0, 0, 4) and launch.happens_before(stamp, 0, 1, 31)
    assert not launch.happens_before(stamp, 1, 0, 3)


def test_a_barrier_does_not_order_accesses_after_it(launch):
    launch.order.meet(0, np.array([0]))
    stamp = launch.access(0, 0, 3)
    assert not launch.happens_before(stamp, 0, 1, 3)


def test_a_barrier_of_a_warp_orders_only_its_lanes(launch):
    stamp = launch.access(0, 0, 3)
    launch.order.meet_lanes(launch.mask(0, 0), np.full((1, 1, 1), 0xFFFF_FFFF, np.uint32), launch.live)
    assert launch.happens_before(stamp, 0, 0, 31)
    assert not launch.happens_before(stamp, 0, 1, 3)


def test_a_barrier_of_some_lanes_orders_only_the_lanes_in_its_mask(launch):
    stamp = launch.access(0, 0, 3)
    low = launch.mask(0, 0) & (np.arange(32) < 16)
    launch.order.meet_lanes(low, np.full((1, 1, 1), 0xFFFF, np.uint32), launch.live)
    assert launch.happens_before(stamp, 0, 0, 15)
    assert not launch.happens_before(stamp, 0, 0, 16)


def test_an_acquire_orders_everything_before_the_release_that_it_reads(launch):
    stamp = launch.access(0, 0, 3)
    launch.store(RELEASE, 0, 0, 3)
    late = launch.access(0, 0, 3)
    launch.load(ACQUIRE, 1, 1, 7)
    assert launch.happens_before(stamp, 1, 1, 7)
    assert not launch.happens_before(late, 1, 1, 7)
    assert not launch.happens_before(stamp, 1, 1, 8)


def test_relaxed_accesses_order_nothing(launch):
    stamp = launch.access(0, 0, 3)
    launch.store(RELAXED, 0, 0, 3)
    launch.load(RELAXED, 1, 1, 7)
    assert not launch.happens_before(stamp, 1, 1, 7)


def test_a_fence_before_a_relaxed_store_and_one_after_a_relaxed_load_order_as_release_and_acquire(launch):
    stamp = launch.access(0, 0, 3)
    launch.fence(0, 0, 3)
    launch.store(RELAXED, 0, 0, 3)
    launch.load(RELAXED, 1, 1, 7)
    assert not launch.happens_before(stamp, 1, 1, 7)
    launch.fence(1, 1, 7)
    assert launch.happens_before(stamp, 1, 1, 7)


def test_a_fence_at_the_scope_of_the_block_does_not_order_other_blocks(launch):
    stamp = launch.access(0, 0, 3)
    launch.fence(0, 0, 3, wide=False)
    launch.store(RELAXED, 0, 0, 3)
    launch.load(ACQUIRE, 1, 1, 7)
    launch.load(ACQUIRE, 0, 1, 7)
    assert not launch.happens_before(stamp, 1, 1, 7)
    assert launch.happens_before(stamp, 0, 1, 7)


def test_atomic_operations_continue_a_release_sequence_and_plain_stores_end_it(launch):
    stamp = launch.access(0, 0, 3)
    launch.store(RELEASE, 0, 0, 3)
    launch.add(RELAXED, 0, 1, 0)
    launch.load(ACQUIRE, 1, 1, 7)
    assert launch.happens_before(stamp, 1, 1, 7)
    launch.store(RELAXED, 0, 1, 0)
    launch.load(ACQUIRE, 1, 1, 8)
    assert not launch.happens_before(stamp, 1, 1, 8)


def test_a_barrier_passes_a_fence_on_to_the_thread_that_stores_for_all(launch):
    stamp = launch.access(0, 0, 3)
    launch.fence(0, 0, 3)
    launch.order.meet(0, np.array([0]))
    launch.add(RELAXED, 0, 1, 0)
    launch.load(ACQUIRE, 1, 1, 7)
    assert launch.happens_before(stamp, 1, 1, 7)
