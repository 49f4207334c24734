# SPDX-License-Identifier: MIT
"""What is noted of each granule: its last write and its last read, or chains of several that nothing orders."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.races.coding import Coding
from wmma_emu.ptx.memory.races.comparison import Comparison, Verdict
from wmma_emu.ptx.memory.races.crowds import Crowds
from wmma_emu.ptx.memory.masks import wide
from wmma_emu.ptx.memory.races.granules import Granules, chosen_of
from wmma_emu.ptx.memory.races.listed import Entry
from wmma_emu.ptx.memory.races.touch import WEAK, Order, Touch
from wmma_emu.ptx.threads import Array

__all__ = ["Notes"]

_Mask = NDArray[np.bool_]


class Notes:
    """The writes and the reads of some bytes, by granule; see `Comparison` for ``is_of_block``.

    The positions of a touch are those of its bytes in all that is noted here.
    """

    def __init__(self, base: int, size: int, order: Order, *, is_of_block: bool, look: Callable[[], None]) -> None:
        coding = Coding(np.dtype(np.uint32))
        self._look = look
        self.compare = Comparison(order, coding, Crowds(coding.dtype), is_of_block=is_of_block, look=look)
        self.writes, self.reads = (Granules(base, size, coding.dtype) for _ in range(2))
        self.by_parts, self._is_refined, self.smallest = False, False, 4
        self._last_coded: tuple[Array, int, Array] | None = None

    @property
    def coding(self) -> Coding:
        """What the numbers of granules say."""
        return self.compare.coding

    @property
    def crowds(self) -> Crowds:
        """The chains."""
        return self.compare.crowds

    @property
    def bytes(self) -> int:
        """Of the host's memory."""
        return self.writes.bytes + self.reads.bytes + self.crowds.bytes

    def refine(self, touch: Touch) -> None:
        """Make the granules as small as an access is."""
        wanted = min(touch.size, touch.unit)
        if wanted >= self.writes.size:
            return
        # Threads that write bytes of one word come to global memory as a rule, and warps to a tile of shared memory.
        if self.compare.is_of_block and not self._is_refined and touch.size == touch.unit and touch.positions.ndim == 3:
            self.smallest, self.by_parts = min(self.smallest, wanted), True
        else:
            self.take_apart(wanted)

    def take_apart(self, wanted: int | None = None) -> None:
        """Keep numbers of granules as small as any access was, not by parts of words."""
        self.smallest = min(self.smallest, wanted or self.smallest)
        self.by_parts, self._is_refined = False, True
        self.writes.refine(self.smallest)
        self.reads.refine(self.smallest)

    def noted(self, granules: Granules, touch: Touch) -> Array:
        """Read what is noted where an access goes to, 0 where no thread takes part: by parts, of its words."""
        old = (granules.words if self.by_parts else granules.get)(touch, touch.positions)
        return old if touch.mask is None else np.where(touch.mask, old, old.dtype.type(0))

    def coded(self, touch: Touch) -> Array:
        """Give the number of each thread's access."""
        stamps, last = touch.stamps, self._last_coded
        if stamps is None:
            raise TypeError("an access without stamps")
        if last is not None and last[0] is stamps and last[1] == touch.strength:
            return last[2]
        coded = self._numbers(stamps, touch.strength)
        self._last_coded = stamps, touch.strength, coded
        return coded

    def _numbers(self, stamps: Array, strength: int) -> Array:
        coding = self.coding
        if (stamps.dtype.itemsize > 4 and coding.dtype.itemsize == 4) or int(stamps.max()) > coding.largest:
            self._recode()
        return self.coding.access(stamps, strength)

    def put_listed(self, granules: Granules, entries: list[Entry]) -> None:
        """Note accesses side by side that were only listed, in words where nothing is noted."""
        if not entries:
            return
        self.take_apart()
        more = 4 // granules.size
        self._numbers(max((x.stamps for x in entries), key=lambda x: (x.dtype.itemsize, int(x.max()))), 0)
        words = np.concatenate([x.words for x in entries]).astype(np.int64) * more
        values = np.concatenate([self._numbers(x.stamps, x.strength) for x in entries])
        slots = (words + np.arange(more)[:, None]).reshape(-1)
        granules.reach(words * 4 // more + granules.base, 4)
        self._join(granules, slots, np.tile(values, more), None)

    def _recode(self) -> None:
        """Go on with numbers of 64 bits."""
        old, new = self.coding, Coding(np.dtype(np.uint64))
        for granules in (self.writes, self.reads):
            granules.widen(new.recoded(granules.flat, old))
        self.compare.coding = new
        self._last_coded = None
        self.crowds.recode(lambda values: new.recoded(values, old))

    def put(self, granules: Granules, touch: Touch, mine: Array, verdict: Verdict | None) -> _Mask | None:
        """Note an access beside what the verdict keeps; return where several threads did so at once."""
        positions = touch.positions
        places, values = chosen_of(touch, positions, mine)
        if self.by_parts:
            if verdict is None and granules.put_parts(touch, places, values):
                return None
            self.take_apart()
        granules.put(touch, places, values)
        now = granules.get(touch, positions)
        clash = now != mine
        if touch.mask is not None:
            clash &= touch.mask
        kept = None if verdict is None or not verdict.kept.any() else verdict.kept
        several = bool(clash.any())
        if not several and kept is None:
            return None
        shape = np.broadcast_shapes(clash.shape, mine.shape, () if kept is None else kept.shape)
        concerned = np.broadcast_to(clash, shape)
        if kept is not None:
            concerned = concerned | kept
        slots = np.broadcast_to(granules.places(touch, positions), shape)
        if touch.mask is not None:
            slots = np.where(touch.mask, slots, np.int64(0))
        again = granules.are_among(slots, slots[concerned]) if several else concerned
        if touch.mask is not None:
            again = again & touch.mask
        if kept is not None and verdict is not None and verdict.observed is None and self.compare.is_apart:
            full = again & kept & self.are_full(verdict.old, touch.strength)
            if full.any():
                granules.flat[slots[full]] = verdict.old[full]
                left = again & ~full
                if left.any():
                    self._join(granules, slots[left], np.broadcast_to(mine, shape)[left],
                               np.where(kept, verdict.old, verdict.old.dtype.type(0))[left])
                return again if several else None
        old = None if kept is None else np.where(kept, verdict.old, verdict.old.dtype.type(0))[again]  # type: ignore[union-attr]
        self._join(granules, slots[again], np.broadcast_to(mine, shape)[again], old)
        return again if several else None

    def put_reads(self, touch: Touch) -> Touch | None:
        """Note reads where blocks are apart, as far as they meet those of other blocks; return what is left to note."""
        granules, positions, shape = self.reads, touch.positions, self.compare.order.now.shape
        mask = touch.mask
        if granules.is_used:
            full = self.are_full(granules.get(touch, positions), touch.strength).all(axis=0)
            if full.all():
                return None
            if full.any():
                mask = ~full if mask is None else mask & ~full
                if not mask.any():
                    return None
        if shape[0] > 2 and positions.shape[-3] == 1 and (mask is None or mask.ndim == 3):
            mask = _of_first_and_last(mask, shape[0])
        mine = self.coded(touch)
        touch = touch._replace(mask=mask)
        first, values = chosen_of(touch, positions, mine)
        slots = granules.places(touch, first)
        old = granules.flat[slots]
        values = np.broadcast_to(values, slots.shape)
        granules.flat[slots] = values
        is_noted = bool(old.any())
        clash = granules.flat[slots] != values
        granules.is_used = True
        if not is_noted and not clash.any():
            return None
        return self._beside(touch, slots, values, old, clash)

    def _beside(
        self, touch: Touch, slots: NDArray[np.int64], values: Array, old: Array, clash: _Mask
    ) -> Touch | None:  # fmt: skip
        """Let reads of two blocks stand side by side in each granule; return those of one block among themselves."""
        granules, coding = self.reads, self.coding
        block = self.compare.taken_apart(values).blocks
        first = granules.flat[slots]
        others = clash & (self.compare.taken_apart(first).blocks != block)
        granules.flat[slots[others]] = values[others]
        second = granules.flat[slots]
        several = second != first
        joins = several & ((values == first) | (values == second))
        if old.any():
            chains = coding.are_chains(old)
            single = self.compare.taken_apart(np.where(chains, old.dtype.type(0), old))
            far = ~chains & (old != 0) & (single.strengths == touch.strength) & (single.blocks != block)
            if chains.any():
                heads = coding.heads(old[chains])
                far[chains] = self.crowds.have_others(heads, touch.strength, block[chains])
            joins |= far & ~several & (values == first)
            several |= far
        if joins.any():
            self._join(granules, slots[joins], values[joins], old[joins])
        rest = ~several & (clash | (old != 0))
        if not rest.any():
            return None
        rest = granules.are_among(slots, slots[rest])
        granules.flat[slots[rest]] = old[rest]
        threads = rest.any(axis=0)
        if touch.mask is None:
            mask = threads.reshape(np.broadcast_shapes(touch.positions.shape, values.shape[1:]))
        else:
            shape = np.broadcast_shapes(touch.positions.shape, touch.mask.shape, self.coded(touch).shape)
            mask = np.zeros(shape, np.bool_)
            mask[wide(touch.mask, shape)] = threads
        return touch._replace(mask=mask)

    def are_full(self, numbers: Array, strength: int) -> _Mask:
        """Say which chains need no more accesses of a strength, where blocks are apart.

        Two of different blocks stand for all others: whoever is in conflict with any is in a race with one of the two.
        """
        found = np.zeros(numbers.shape, np.bool_)
        chains = self.coding.are_chains(numbers)
        if chains.any():
            found[chains] = self.crowds.have_several(self.coding.heads(numbers[chains]), strength)
        return found

    def _join(self, granules: Granules, slots: NDArray[np.int64], values: Array, old: Array | None) -> None:
        """Let accesses stand side by side in their granules, behind the ``old`` ones that are kept (0: none)."""
        coding, crowds = self.coding, self.crowds
        before, held = None, slots if old is None else slots[old != 0]
        if old is not None:
            granules.flat[held] = old[old != 0]  # one for all that come to a granule, to be read below
        slots, values = _ordered_pairs(slots, values)
        if self.compare.is_apart:
            slots, values = self._of_two_blocks(slots, values)
        begins = _begins(slots)
        unique, group = slots[begins], np.cumsum(begins) - 1
        if old is not None:
            before = np.where(granules.are_among(unique, held), granules.flat[unique], old.dtype.type(0))
        heads = np.zeros(len(unique), np.int64)
        if before is not None:
            chains = coding.are_chains(before)
            heads[chains] = coding.heads(before[chains])
            single = np.flatnonzero(~chains & (before != 0))
            if len(single):
                first = self.compare.taken_apart(before[single])
                heads[single] = crowds.append(np.zeros(len(single), np.int64), np.arange(len(single)), first)
            known = (heads > 0) & (crowds.last(heads) == values[begins])
            known &= np.bincount(group) == 1
            if known.any():
                granules.flat[unique[known]] = coding.chains(heads[known])
                left = ~known[group]
                if not left.any():
                    return
                slots, values, heads, unique = slots[left], values[left], heads[~known], unique[~known]
                group = np.cumsum(_begins(slots)) - 1
        alone = (np.bincount(group) == 1) & (heads == 0)
        if alone.any():
            granules.flat[unique[alone]] = values[alone[group]]
            left = ~alone[group]
            if not left.any():
                return
            slots, values, heads, unique = slots[left], values[left], heads[~alone], unique[~alone]
            group = np.cumsum(_begins(slots)) - 1
        heads = crowds.append(heads, group, self.compare.taken_apart(values))
        grown = crowds.grown(heads)
        if grown.any():
            heads[grown] = self._shortened(heads[grown])
        granules.flat[unique] = coding.chains(heads)

    def _of_two_blocks(self, slots: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
        """Leave out what others stand for, where blocks are apart: of each strength, accesses of two blocks do."""
        _, strengths, _, blocks = self.compare.taken_apart(values)
        begins = _begins(slots)
        begins[1:] |= strengths[1:] != strengths[:-1]
        start, group = np.flatnonzero(begins), np.cumsum(begins) - 1
        low, high = np.minimum.reduceat(blocks, start), np.maximum.reduceat(blocks, start)
        several = low != high
        if not several.any():
            return slots, values
        left = ~several[group]
        for block in (low, high):
            at = np.flatnonzero(blocks == block[group])
            left[at[np.append(True, np.diff(group[at]) != 0)]] = True
        return slots[left], values[left]

    def _shortened(self, heads: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give chains of the last access of each thread and strength: those before it are ordered before it."""
        found = heads.copy()
        for i, head in enumerate(heads.tolist()):
            self._look()
            members = self.crowds.members(head)
            left = self.compare.shortened(members)
            if len(left) < len(members):
                group = np.zeros(len(left), np.int64)
                found[i : i + 1] = self.crowds.append(group[:1], group, self.compare.taken_apart(left))
        self.crowds.keep_short(found)
        return found

    def forget(self, touch: Touch, verdict: Verdict) -> None:
        """Forget chains of reads that come before a weak write: whatever it is ordered before, they are."""
        if touch.strength != WEAK:
            return
        over = self.coding.are_chains(verdict.old)
        if over.any():
            slots = np.broadcast_to(self.reads.places(touch, touch.positions), over.shape)
            self.reads.flat[slots[over & ~verdict.kept]] = 0


def _of_first_and_last(mask: _Mask | None, blocks: int) -> _Mask:
    """Choose, for each place in a block, two blocks at most whose threads take part there."""
    found = np.zeros((blocks, *((1, 1) if mask is None else mask.shape[1:])), np.bool_)
    if mask is None or len(mask) == 1:
        found[[0, -1]] = True if mask is None else mask
        return found
    for last in (mask.argmax(axis=0), blocks - 1 - mask[::-1].argmax(axis=0)):
        np.put_along_axis(found, last[None], mask.any(axis=0, keepdims=True), axis=0)
    return found


def _begins(ordered: NDArray[np.int64]) -> _Mask:
    """Say where another number begins, in numbers that are in order."""
    return np.append(True, ordered[1:] != ordered[:-1])


def _ordered_pairs(slots: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Sort pairs of a slot and a value, each of them once: where both have 32 bits, as numbers of 64 bits.

    Examples
    --------
    >>> [x.tolist() for x in _ordered_pairs(np.array([5, 1, 5, 5]), np.array([7, 9, 6, 7], np.uint32))]
    [[1, 5, 5], [9, 6, 7]]
    """
    if values.dtype.itemsize > 4 or int(slots.max()) >> 32:
        order = np.lexsort((values, slots))
        slots, values = slots[order], values[order]
        fresh = _begins(slots)
        fresh[1:] |= values[1:] != values[:-1]
        return slots[fresh], values[fresh]
    pairs = slots.astype(np.uint64) << np.uint64(32) | values
    pairs.sort()
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    return (pairs >> np.uint64(32)).astype(np.int64), pairs.astype(np.uint32)
