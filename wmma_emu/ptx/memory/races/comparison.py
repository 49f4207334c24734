# SPDX-License-Identifier: MIT
"""An access against those that are noted: with which of them it is in a race, and which it does not stand for."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.races.coding import Coding
from wmma_emu.ptx.memory.races.crowds import STRENGTHS, Crowds, Members
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK, are_in_conflict
from wmma_emu.ptx.threads import Array

_Mask = NDArray[np.bool_]


class Verdict(NamedTuple):
    """What a comparison says of each granule and thread, (granules, ..., G, W, 32).

    ``bad`` is in a race, ``outside`` with a thread of another warp, ``strong`` with a strong access, ``strong_outside``
    with a strong access of another warp; ``kept`` has to be kept beside what comes: it is not ordered before it, or in
    conflict with more. ``old`` are the numbers. Where ``observed``, the thread knows of the last atomic operation
    there, and so of all others before that.
    """

    old: Array
    bad: _Mask
    outside: _Mask
    strong: _Mask
    strong_outside: _Mask
    kept: _Mask
    observed: _Mask | None = None


class Comparison:
    """Compares accesses of a chunk with noted ones.

    ``is_of_block`` says whether only threads of one block come to the same granule: shared memory. ``look`` looks at
    the clock, and raises if there is no time left.
    """

    def __init__(
        self, order: CausalityOrder, coding: Coding, crowds: Crowds, *, is_of_block: bool, look: Callable[[], None]
    ) -> None:  # fmt: skip
        self.order, self.coding, self.crowds, self.is_of_block = order, coding, crowds, is_of_block
        self._look = look

    @property
    def is_apart(self) -> bool:
        """Whether what one block does is never ordered before what another one does there."""
        return not self.is_of_block and self.order.are_apart

    def __call__(
        self, old: Array, mine: Array, strength: int, observed: _Mask | None = None, *, reads: bool = False
    ) -> Verdict | None:
        """Compare ``old`` numbers (granules, ..., threads or narrower) with those of what comes, ``mine``.

        None where nothing is noted that matters: what the same thread did at the same time, or what precedes all that
        any thread of the block does from now on. Of ``reads`` among reads, only ``kept`` is told, and may be too much.
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
        kept = unordered
        if strength:
            weaker = (strengths < strength) & (single != 0)
            if self.is_of_block and weaker.any():  # what precedes all that comes need not be kept
                weaker &= self.order.time(coding.stamps(single)) > self._floor.reshape(-1, 1, 1)
            kept = unordered | weaker
        strong = bad & (strengths >= BLOCK)
        outside = bad & self._are_of_other_warps(single, mine) if bad.any() else bad
        verdict = Verdict(old, bad, outside, strong, strong & outside, kept, observed)
        return self._with_chains(verdict, np.flatnonzero(chains & other), mine, strength, reads) if some else verdict

    def are_none(self, old: Array) -> bool:
        """Tell whether some numbers are those of no access that matters any more."""
        top = int(old.max())
        return not top or (self.is_of_block and self._is_over(top))

    def _is_over(self, top: int) -> bool:
        """Tell whether all weak accesses up to a number precede what any thread of any block does now."""
        if top > self.coding.largest:
            return False
        return int(self.order.time(self.coding.dtype.type(top))) <= int(self.order.known.min())

    @property
    def _floor(self) -> Array:
        """Up to which time everything is known to all threads of its block, (G,)."""
        return np.asarray(self.order.known.min(axis=(1, 2)).astype(self.coding.dtype))

    def _with_chains(
        self, verdict: Verdict, index: NDArray[np.int64], mine: Array, strength: int, reads: bool
    ) -> Verdict:  # fmt: skip
        """Compare with the chains at some places: by what is known of the whole of each, and else with every member."""
        bad, outside, strong, strong_outside, kept = masks = [np.array(x) for x in verdict[1:6]]
        flat = tuple(x.reshape(-1) for x in masks)
        heads = self.coding.heads(verdict.old.reshape(-1)[index])
        if self.is_of_block:
            over, at_ease = self._are_over(heads, index, strength)
            flat[-1][index[at_ease & ~over]] = True
            left = ~(over | at_ease)
            index, heads = index[left], heads[left]
        if reads:
            flat[-1][index] = True
        elif len(index):
            if not self.is_of_block:
                index, heads = self._beside_other_blocks(flat, index, heads, verdict, mine, strength)
            self._with_members(flat, index, heads, verdict, mine, strength)
        return Verdict(verdict.old, bad, outside, strong, strong_outside, kept, verdict.observed)

    def _are_over(self, heads: NDArray[np.int64], index: NDArray[np.int64], strength: int) -> tuple[_Mask, _Mask]:
        """Say for which chains all members precede what comes in their block, and for which those in conflict do."""
        blocks = index % self._threads // (self.order.now.shape[1] * 32)
        floor = self._floor[blocks]
        over, at_ease = np.ones(len(heads), np.bool_), np.ones(len(heads), np.bool_)
        for other in STRENGTHS:
            known = self.order.time(self.crowds.latest(heads, other)) <= floor
            over &= known
            if are_in_conflict(other, strength, elsewhere=False):
                at_ease &= known
        return over, at_ease

    def _beside_other_blocks(
        self, flat: tuple[_Mask, ...], index: NDArray[np.int64], heads: NDArray[np.int64], verdict: Verdict,
        mine: Array, strength: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
        """Compare with the members of other blocks, where nothing orders blocks; return what is left to compare."""
        bad, outside, strong, strong_outside, kept = flat
        stamps = self.coding.stamps(_at(mine, verdict, index))
        blocks = self.order.threads_of(stamps) // (self.order.now.shape[1] * 32)
        apart = np.ones(len(index), np.bool_)
        if not self.is_apart:
            apart &= ~self.order.know_others(index % self._threads)
        observed = None if verdict.observed is None else _at(verdict.observed, verdict, index)
        left = np.zeros(len(index), np.bool_)
        for other in STRENGTHS:
            there = self.crowds.have(heads, other)
            if not there.any():
                continue
            far = there & self.crowds.have_others(heads, other, blocks) & apart
            if observed is not None and other >= BLOCK:
                far &= ~observed
            if are_in_conflict(other, strength, elsewhere=True):
                for mask in (bad, outside, *((strong, strong_outside) if other >= BLOCK else ())):
                    mask[index[far]] = True
            if are_in_conflict(other, strength, elsewhere=not self.is_apart):
                left |= there & ~far
                there = far
            kept[index[there]] = True
        return index[left], heads[left]

    def _with_members(
        self, flat: tuple[_Mask, ...], index: NDArray[np.int64], heads: NDArray[np.int64], verdict: Verdict,
        mine: Array, strength: int,
    ) -> None:  # fmt: skip
        bad, outside, strong, strong_outside, kept = flat
        observed = None if verdict.observed is None else _at(verdict.observed, verdict, index)
        mine, threads = _at(mine, verdict, index), index % self._threads
        for which, members in self.crowds.pairs(heads):
            self._look()
            unordered = self.order.unordered_for(self.coding.stamps(members), threads[which])
            strengths = self.coding.strengths(members)
            if observed is not None:
                unordered = unordered & ~(observed[which] & (strengths >= BLOCK))
            races = unordered & self._conflict(members, strengths, mine[which], strength)
            far, are_strong = races & self._are_of_other_warps(members, mine[which]), strengths >= BLOCK
            bad[index[which[races]]] = True
            outside[index[which[far]]] = True
            strong[index[which[races & are_strong]]] = True
            strong_outside[index[which[far & are_strong]]] = True
            kept[index[which[unordered | (strengths < strength)]]] = True

    def taken_apart(self, numbers: Array) -> Members:
        """Say what the numbers of accesses tell."""
        stamps = self.coding.stamps(numbers)
        blocks = self.order.threads_of(stamps) // (self.order.now.shape[1] * 32)
        return Members(numbers, self.coding.strengths(numbers), stamps, blocks)

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
        elsewhere = (
            self.order.threads_of(coding.stamps(old)) // size
            != self.order.threads_of(coding.stamps(np.broadcast_to(mine, old.shape))) // size
        )
        return np.asarray(weak | (narrow & elsewhere))


def _at(value: Array, verdict: Verdict, index: NDArray[np.int64]) -> Array:
    return np.broadcast_to(value, verdict.old.shape).reshape(-1)[index]
