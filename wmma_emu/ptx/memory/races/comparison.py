# SPDX-License-Identifier: MIT
"""An access against those that are noted: with which of them it is in a race, and which it does not stand for."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.races.coding import Coding
from wmma_emu.ptx.memory.races.crowds import Crowds
from wmma_emu.ptx.memory.races.touch import BLOCK, SYSTEM, VOLATILE, WEAK, Order
from wmma_emu.ptx.threads import Array

__all__ = ["Comparison", "Verdict"]

_Mask = NDArray[np.bool_]


class Verdict(NamedTuple):
    """What a comparison says of each granule and thread, (granules, ..., G, W, 32).

    ``bad`` is in a race, ``outside`` with a thread of another warp, ``strong`` with a strong access; ``kept`` has to be
    kept beside what comes: it is not ordered before it, or in conflict with more. ``old`` are the numbers. Where
    ``observed``, the thread knows of the last atomic operation there, and so of all others before that.
    """

    old: Array
    bad: _Mask
    outside: _Mask
    strong: _Mask
    kept: _Mask
    observed: _Mask | None = None


class Comparison:
    """Compares accesses of a chunk with noted ones.

    Parameters
    ----------
    order : Order
    coding : Coding
    crowds : Crowds
    is_of_block : bool
        Whether only threads of one block come to the same granule: shared memory.
    """

    def __init__(self, order: Order, coding: Coding, crowds: Crowds, *, is_of_block: bool) -> None:
        self.order, self.coding, self.crowds, self.is_of_block = order, coding, crowds, is_of_block

    def __call__(
        self, old: Array, mine: Array, strength: int, observed: _Mask | None = None
    ) -> Verdict | None:  # fmt: skip
        """Compare ``old`` numbers (granules, ..., threads or narrower) with those of what comes, ``mine``.

        None where nothing is noted that matters: what the same thread did at the same time, or what precedes all that
        any thread of the block does from now on.
        """
        top = int(old.max())
        if not top:
            return None
        if self.is_of_block and self._is_over(top):
            return None
        other = (old != mine) & (old != 0)
        if not other.any():
            return None
        old = np.broadcast_to(old, other.shape)
        coding = self.coding
        chains = coding.are_chains(old)
        some = top > self.coding.last_access
        single = np.where(chains, coding.dtype.type(0), old) if some else old
        unordered = self.order.unordered(coding.stamps(single))
        strengths = coding.strengths(single)
        if observed is not None:
            unordered = unordered & ~(observed & (strengths >= BLOCK))
        bad = unordered if strength == WEAK else unordered & self._conflict(single, strengths, mine, strength)
        kept = unordered | ((strengths < strength) & (single != 0)) if strength else unordered
        strong = bad & (strengths >= BLOCK)
        outside = bad & self._are_of_other_warps(single, mine) if bad.any() else bad
        verdict = Verdict(old, bad, outside, strong, kept, observed)
        return self._with_chains(verdict, np.flatnonzero(chains & other), mine, strength) if some else verdict

    def _is_over(self, top: int) -> bool:
        """Tell whether all weak accesses up to a number precede what any thread of any block does now."""
        if top > self.coding.largest:
            return False
        return int(self.order.time(self.coding.dtype.type(top))) <= int(self.order.known.min())

    def _with_chains(self, verdict: Verdict, index: NDArray[np.int64], mine: Array, strength: int) -> Verdict:
        """Compare with every member of the chains at some places."""
        bad, outside, strong, kept = (np.array(x) for x in verdict[1:5])
        heads = self.coding.heads(verdict.old.reshape(-1)[index])
        if strength >= BLOCK and (self.is_of_block or strength == SYSTEM):
            at_ease = self.crowds.weakest(heads) >= (BLOCK if self.is_of_block else SYSTEM)
            kept.reshape(-1)[index[at_ease]] = True
            index, heads = index[~at_ease], heads[~at_ease]
        if self.is_of_block and len(index):
            blocks = index % self._threads // (self.order.now.shape[1] * 32)
            floor = self.order.known.min(axis=(1, 2)).astype(np.int64)
            over = self.order.time(self.crowds.latest(heads)) <= floor[blocks]
            index, heads = index[~over], heads[~over]
        mine = np.broadcast_to(mine, verdict.old.shape).reshape(-1)[index]
        threads = index % self._threads
        observed = verdict.observed
        if observed is not None:
            observed = np.broadcast_to(observed, verdict.old.shape).reshape(-1)[index]
        for which, members in self.crowds.pairs(heads, self.shortened):
            unordered = self.order.unordered_for(self.coding.stamps(members), threads[which])
            strengths = self.coding.strengths(members)
            if observed is not None:
                unordered = unordered & ~(observed[which] & (strengths >= BLOCK))
            races = unordered & self._conflict(members, strengths, mine[which], strength)
            bad.reshape(-1)[index[which[races]]] = True
            outside.reshape(-1)[index[which[races & self._are_of_other_warps(members, mine[which])]]] = True
            strong.reshape(-1)[index[which[races & (strengths >= BLOCK)]]] = True
            kept.reshape(-1)[index[which[unordered | (strengths < strength)]]] = True
        return verdict._replace(bad=bad, outside=outside, strong=strong, kept=kept)

    def are_of_others(self, old: Array, mine: Array) -> _Mask:
        """Say which numbers are not those of the same thread: chains, and accesses of other threads."""
        coding, order = self.coding, self.order
        others = order.threads_of(coding.stamps(old)) != order.threads_of(coding.stamps(mine))
        return np.asarray((old != 0) & (old != mine) & (others | coding.are_chains(old)))

    def racing(self, number: int, mine: int, strength: int, thread: int, *, observed: bool = False) -> list[int]:
        """List the stamps among those of one granule with which an access of one thread is in a race."""
        coding = self.coding
        one = np.array([number], coding.dtype)
        members = self.crowds.members(int(coding.heads(one)[0])) if coding.are_chains(one)[0] else one
        unordered = self.order.unordered_for(coding.stamps(members), np.full(len(members), thread))
        mine_too = np.full(len(members), mine, coding.dtype)
        bad = unordered & self._conflict(members, coding.strengths(members), mine_too, strength)
        if observed:
            bad &= coding.strengths(members) < BLOCK
        return [int(x) for x in coding.stamps(members)[bad]]

    def _are_of_other_warps(self, old: Array, mine: Array) -> _Mask:
        threads = self.order.threads_of
        return np.asarray(threads(self.coding.stamps(old)) >> 5 != threads(self.coding.stamps(mine)) >> 5)

    def shortened(self, members: Array) -> Array:
        """Keep the last access of each thread and strength: those before it are ordered before it."""
        threads = self.order.threads_of(self.coding.stamps(members))
        keys = threads * 4 + self.coding.strengths(members).astype(np.int64)
        _, last = np.unique(keys[::-1], return_index=True)
        return members[np.sort(len(members) - 1 - last)]

    @property
    def _threads(self) -> int:
        blocks, warps = self.order.now.shape
        return int(blocks * warps * 32)

    def _conflict(self, old: Array, strengths: Array, mine: Array, strength: int) -> Array:
        """Say which accesses are in conflict if nothing orders them: all but strong ones within their scopes."""
        if strength == WEAK:
            return np.ones(old.shape, np.bool_)
        weak = strengths == WEAK
        if strength == VOLATILE:
            weak = weak | (strengths == VOLATILE)
        if self.is_of_block or (strength == SYSTEM and not (strengths == BLOCK).any()):
            return np.asarray(weak)
        narrow = (strengths == BLOCK) | (strength == BLOCK)
        size = self.order.now.shape[1] * 32
        coding = self.coding
        elsewhere = self.order.threads_of(coding.stamps(old)) // size != self.order.threads_of(
            coding.stamps(np.broadcast_to(mine, old.shape))
        ) // size
        return np.asarray(weak | (narrow & elsewhere))
