# SPDX-License-Identifier: MIT
"""Vector clocks: what happened before what, against sets of events that are handed on one by one."""

import numpy as np
import pytest

from wmma_emu.ptx.clocks import Clocks

BLOCKS, WARPS = 3, 5


class Histories:
    """The same as sets: each warp knows events (warp, number); every synchronisation hands sets on."""

    def __init__(self):
        self.known = [[{(w, 1)} for w in range(WARPS)] for _ in range(BLOCKS)]
        self.handed_over = [set() for _ in range(BLOCKS)]
        self.last = np.ones((BLOCKS, WARPS), int)

    def meet(self, g, warps):
        told = self.tell(g, warps)
        for w in warps:
            self.known[g][w] |= told

    def tell(self, g, warps):
        told = set().union(*(self.known[g][w] for w in warps))
        for w in warps:
            self._go_on(g, w, set())
        return told

    def hand_over(self, g, w):
        self.handed_over[g] |= self.known[g][w]
        self._go_on(g, w, self.handed_over[g])

    def _go_on(self, g, w, learnt):
        self.last[g, w] += 1
        self.known[g][w] = self.known[g][w] | learnt | {(w, int(self.last[g, w]))}


def assert_same(clocks, histories):
    for g in range(BLOCKS):
        for w in range(WARPS):
            for v in range(WARPS):
                latest = max((n for x, n in histories.known[g][w] if x == v), default=0)
                assert clocks.seen[g, w, v] == latest


@pytest.mark.parametrize("seed", range(20))
def test_a_warp_has_seen_what_was_handed_on_to_it(seed):
    rng = np.random.default_rng(seed)
    clocks, histories = Clocks(BLOCKS, WARPS), Histories()
    for _ in range(30):
        kind = rng.integers(3)
        if kind == 0:
            blocks = np.flatnonzero(rng.random(BLOCKS) < 0.7)
            members = rng.random((len(blocks), WARPS)) < 0.6
            clocks.learn(blocks, members, clocks.tell(blocks, members))
            for g, row in zip(blocks, members, strict=True):
                histories.meet(g, np.flatnonzero(row)) if row.any() else None
        elif kind == 1:
            clocks.synchronise_all()
            for g in range(BLOCKS):
                histories.meet(g, range(WARPS))
        else:
            who = np.argwhere(rng.random((BLOCKS, WARPS)) < 0.4)
            clocks.hand_over(who[:, 0], who[:, 1])
            for g, w in who:
                histories.hand_over(g, w)
        assert_same(clocks, histories)
