# SPDX-License-Identifier: MIT
"""Comparison of an access with recorded ones: which of them race with it, and which must still be kept."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.races.access_chains import STRENGTHS, AccessChains, DecodedAccesses
from wmma_emu.ptx.memory.races.coding import Coding
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK, are_in_conflict
from wmma_emu.ptx.threads import Array

_Mask = NDArray[np.bool_]


class Verdict(NamedTuple):
    """The result of a comparison for each granule and thread, (granules, ..., G, W, 32).

    ``bad`` marks races, ``outside`` races with a thread of another warp, ``strong`` races with a strong access,
    ``strong_outside`` races with a strong access of another warp. ``kept`` marks recorded accesses that must be kept
    together with the new one: they do not happen before it, or conflict with more accesses. ``old`` are the recorded
    numbers. Where ``observed``, the last atomic operation on the granule, and all atomic operations before it, happen
    before the access.
    """

    old: Array
    bad: _Mask
    outside: _Mask
    strong: _Mask
    strong_outside: _Mask
    kept: _Mask
    observed: _Mask | None = None


class Comparison:
    """Compares accesses of a wave with recorded ones.

    ``is_of_block`` is whether only threads of one block access a granule: shared memory. ``check_time`` checks the time
    limit.
    """

    def __init__(
        self, order: CausalityOrder, coding: Coding, chains: AccessChains, *, is_of_block: bool,
        check_time: Callable[[], None],
    ) -> None:  # fmt: skip
        self.order, self.coding, self.chains, self.is_of_block = order, coding, chains, is_of_block
        self._check_time = check_time

    @property
    def are_blocks_unordered(self) -> bool:
        """Whether an access of one block never happens before an access of another block to these bytes."""
        return not self.is_of_block and self.order.are_blocks_unordered

    def __call__(
        self, old: Array, own_numbers: Array, strength: int, observed: _Mask | None = None, *, reads: bool = False
    ) -> Verdict | None:
        """Compare ``old`` numbers (granules, ..., threads or narrower) with those of a new access.

        Return None if no recorded access matters: it is of the same thread and time, or happens before everything that
        any thread of the block does from now on. For ``reads`` among reads, only ``kept`` is computed, and may mark too
        many.
        """
        top = int(old.max())
        if not top:
            return None
        if self.is_of_block and self._is_over(top):
            return None
        other = (old != own_numbers) & (old != 0)
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
        bad = unordered if strength == WEAK else unordered & self._conflict(single, strengths, own_numbers, strength)
        kept = unordered
        if strength:
            weaker = (strengths < strength) & (single != 0)
            if self.is_of_block and weaker.any():  # accesses before everything that follows need not be kept
                weaker &= self.order.time(coding.stamps(single)) > self._floor.reshape(-1, 1, 1)
            kept = unordered | weaker
        strong = bad & (strengths >= BLOCK)
        outside = bad & self._are_of_other_warps(single, own_numbers) if bad.any() else bad
        verdict = Verdict(old, bad, outside, strong, strong & outside, kept, observed)
        return (
            self._with_chains(verdict, np.flatnonzero(chains & other), own_numbers, strength, reads)
            if some
            else verdict
        )

    def are_irrelevant(self, old: Array) -> bool:
        """Return whether none of some numbers is an access that still matters."""
        top = int(old.max())
        return not top or (self.is_of_block and self._is_over(top))

    def _is_over(self, top: int) -> bool:
        """Return whether all weak accesses up to a number happen before everything that follows in any block."""
        if top > self.coding.largest:
            return False
        return int(self.order.time(self.coding.dtype.type(top))) <= int(self.order.known.min())

    @property
    def _floor(self) -> Array:
        """The time up to which all accesses of a block are known to all its threads, (G,)."""
        return np.asarray(self.order.known.min(axis=(1, 2)).astype(self.coding.dtype))

    def _with_chains(
        self, verdict: Verdict, index: NDArray[np.int64], own_numbers: Array, strength: int, reads: bool
    ) -> Verdict:  # fmt: skip
        """Compare with chains: by the summary of each if that suffices, else with every member."""
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
                index, heads = self._with_other_blocks(flat, index, heads, verdict, own_numbers, strength)
            self._with_members(flat, index, heads, verdict, own_numbers, strength)
        return Verdict(verdict.old, bad, outside, strong, strong_outside, kept, verdict.observed)

    def _are_over(self, heads: NDArray[np.int64], index: NDArray[np.int64], strength: int) -> tuple[_Mask, _Mask]:
        """Return the chains that happen before everything that follows in their block.

        The second mask has the chains whose conflicting members do.
        """
        blocks = index % self._threads // (self.order.now.shape[1] * 32)
        floor = self._floor[blocks]
        over, at_ease = np.ones(len(heads), np.bool_), np.ones(len(heads), np.bool_)
        for other in STRENGTHS:
            known = self.order.time(self.chains.latest(heads, other)) <= floor
            over &= known
            if are_in_conflict(other, strength, elsewhere=False):
                at_ease &= known
        return over, at_ease

    def _with_other_blocks(
        self, flat: tuple[_Mask, ...], index: NDArray[np.int64], heads: NDArray[np.int64], verdict: Verdict,
        own_numbers: Array, strength: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
        """Compare with the members of other blocks if blocks are unordered; return the chains that are left to
        compare.
        """
        bad, outside, strong, strong_outside, kept = flat
        stamps = self.coding.stamps(_at(own_numbers, verdict, index))
        blocks = self.order.threads_of(stamps) // (self.order.now.shape[1] * 32)
        unordered_blocks = np.ones(len(index), np.bool_)
        if not self.are_blocks_unordered:
            unordered_blocks &= ~self.order.know_others(index % self._threads)
        observed = None if verdict.observed is None else _at(verdict.observed, verdict, index)
        left = np.zeros(len(index), np.bool_)
        for other in STRENGTHS:
            present = self.chains.have(heads, other)
            if not present.any():
                continue
            far = present & self.chains.have_others(heads, other, blocks) & unordered_blocks
            if observed is not None and other >= BLOCK:
                far &= ~observed
            if are_in_conflict(other, strength, elsewhere=True):
                for mask in (bad, outside, *((strong, strong_outside) if other >= BLOCK else ())):
                    mask[index[far]] = True
            if are_in_conflict(other, strength, elsewhere=not self.are_blocks_unordered):
                left |= present & ~far
                present = far
            kept[index[present]] = True
        return index[left], heads[left]

    def _with_members(
        self, flat: tuple[_Mask, ...], index: NDArray[np.int64], heads: NDArray[np.int64], verdict: Verdict,
        own_numbers: Array, strength: int,
    ) -> None:  # fmt: skip
        bad, outside, strong, strong_outside, kept = flat
        observed = None if verdict.observed is None else _at(verdict.observed, verdict, index)
        own_numbers, threads = _at(own_numbers, verdict, index), index % self._threads
        for which, members in self.chains.pairs(heads):
            self._check_time()
            unordered = self.order.unordered_for(self.coding.stamps(members), threads[which])
            strengths = self.coding.strengths(members)
            if observed is not None:
                unordered = unordered & ~(observed[which] & (strengths >= BLOCK))
            races = unordered & self._conflict(members, strengths, own_numbers[which], strength)
            far, are_strong = races & self._are_of_other_warps(members, own_numbers[which]), strengths >= BLOCK
            bad[index[which[races]]] = True
            outside[index[which[far]]] = True
            strong[index[which[races & are_strong]]] = True
            strong_outside[index[which[far & are_strong]]] = True
            kept[index[which[unordered | (strengths < strength)]]] = True

    def decoded(self, numbers: Array) -> DecodedAccesses:
        """Decode the numbers of accesses."""
        stamps = self.coding.stamps(numbers)
        blocks = self.order.threads_of(stamps) // (self.order.now.shape[1] * 32)
        return DecodedAccesses(numbers, self.coding.strengths(numbers), stamps, blocks)

    def are_of_others(self, old: Array, own_numbers: Array) -> _Mask:
        """Return which numbers are chains, or accesses of other threads."""
        coding, order = self.coding, self.order
        others = order.threads_of(coding.stamps(old)) != order.threads_of(coding.stamps(own_numbers))
        return np.asarray((old != 0) & (old != own_numbers) & (others | coding.are_chains(old)))

    def racing(self, number: int, own_numbers: int, strength: int, thread: int, *, observed: bool = False) -> list[int]:
        """Return the stamps recorded for one granule with which an access of one thread races."""
        coding = self.coding
        one = np.array([number], coding.dtype)
        members = self.chains.members(int(coding.heads(one)[0])) if coding.are_chains(one)[0] else one
        unordered = self.order.unordered_for(coding.stamps(members), np.full(len(members), thread))
        mine_too = np.full(len(members), own_numbers, coding.dtype)
        bad = unordered & self._conflict(members, coding.strengths(members), mine_too, strength)
        if observed:
            bad &= coding.strengths(members) < BLOCK
        return [int(x) for x in coding.stamps(members)[bad]]

    def _are_of_other_warps(self, old: Array, own_numbers: Array) -> _Mask:
        threads = self.order.threads_of
        return np.asarray(threads(self.coding.stamps(old)) >> 5 != threads(self.coding.stamps(own_numbers)) >> 5)

    def shortened(self, members: Array) -> Array:
        """Keep the last access of each thread and strength: the earlier ones happen before it."""
        threads = self.order.threads_of(self.coding.stamps(members))
        keys = threads * 4 + self.coding.strengths(members).astype(np.int64)
        _, last = np.unique(keys[::-1], return_index=True)
        return members[np.sort(len(members) - 1 - last)]

    @property
    def _threads(self) -> int:
        blocks, warps = self.order.now.shape
        return int(blocks * warps * 32)

    def _conflict(self, old: Array, strengths: Array, own_numbers: Array, strength: int) -> Array:
        """Return which accesses conflict if they are unordered: all but strong accesses within their scopes."""
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
            != self.order.threads_of(coding.stamps(np.broadcast_to(own_numbers, old.shape))) // size
        )
        return np.asarray(weak | (narrow & elsewhere))


def _at(value: Array, verdict: Verdict, index: NDArray[np.int64]) -> Array:
    return np.broadcast_to(value, verdict.old.shape).reshape(-1)[index]
