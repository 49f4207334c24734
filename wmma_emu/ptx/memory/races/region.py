# SPDX-License-Identifier: MIT
"""Some memory of which every access is noted: the shared memory of a chunk of blocks, or one range of the heap."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.access import gather, in_passes
from wmma_emu.ptx.memory.masks import any_of, wide
from wmma_emu.ptx.memory.races.coding import Coding
from wmma_emu.ptx.memory.races.comparison import Comparison, Verdict
from wmma_emu.ptx.memory.races.crowds import Crowds
from wmma_emu.ptx.memory.races.granules import Granules, chosen_of
from wmma_emu.ptx.memory.races.touch import BLOCK, LATER, WEAK, Order, Touch
from wmma_emu.ptx.threads import Active, Array

__all__ = ["EQUAL", "LANES_AT_ONCE", "NEAR", "RACE", "Race", "Region"]

RACE, NEAR, LANES_AT_ONCE, EQUAL = "race", "race within a warp", "lanes store to one place", "race of equal bytes"
"""Kinds of findings."""

_LONGEST_LOG = 128
_MANY = 1 << 13
"""Bytes of addresses from which on a list of them costs more than the stamps: the pages are not the system's again."""

_Mask = NDArray[np.bool_]

_NOWHERE: _Mask = np.zeros(1, np.bool_)


class Race:
    """A race that was found: ``bad`` threads of an access, each of whose bytes another one has accessed.

    ``kind`` is that of the finding; ``verb`` says what the other did, "wrote" or "read", or "writes" in the same
    instruction; ``other`` gives the stamps of those that it is in a race with, for a place (granule, ..., G, W, lane).
    """

    def __init__(
        self, kind: str, touch: Touch, bad: _Mask, verb: str, write: bool,
        other: Callable[[tuple[int, ...]], list[int]],
    ) -> None:  # fmt: skip
        self.kind, self.touch, self.bad, self.verb, self.write, self.other = kind, touch, bad, verb, write, other


class Region:
    """Who wrote and who read each granule of some bytes last.

    A granule is four bytes until an access of one or two bytes comes, from then on as small as that: bytes side by
    side, written by two threads, are no race. What is noted is replaced only by what comes after it and is in conflict
    with as much; accesses that nothing orders stand side by side, in chains. Reads are only listed until a write comes
    that they are not known to precede: between two barriers without a write, they cost nothing.

    Parameters
    ----------
    base, size : int
        Position of the first byte, and how many there are.
    order : Order
    report : callable
        Takes each `Race`.
    is_of_block : bool
        Whether only threads of one block come to the same granule: shared memory.
    origin : callable
        Gives the positions of a touch that was listed without them.
    """

    def __init__(
        self, base: int, size: int, order: Order, report: Callable[[Race, Active], None], *, is_of_block: bool,
        origin: Callable[[Array], NDArray[np.int64]] | None = None,
    ) -> None:  # fmt: skip
        self.order, self.report, self._origin = order, report, origin
        self.chunk: object = None
        self._is_of_block = is_of_block
        coding = Coding(np.dtype(np.uint32))
        self._compare = Comparison(order, coding, Crowds(coding.dtype), is_of_block=is_of_block)
        self._writes, self._reads = (Granules(base, size, coding.dtype) for _ in range(2))
        self._is_written = self._is_read = False
        self._last_coded: tuple[Array, int, Array] | None = None
        self._log: list[tuple[Touch, int]] = []
        self._noted_writes, self._noted_reads = np.zeros((2, *order.now.shape), np.int32)

    def end_chunk(self) -> None:
        """Note reads that are only listed: other blocks come."""
        self._flush()

    def read(self, touch: Touch, active: Active) -> None:
        """Check a read against the writes, and list it."""
        self._refine(touch)
        if self._is_written:
            verdict = self._verdict(self._writes, touch, self._settled(self._noted_writes))
            if verdict is not None:
                self._note(touch, verdict, verdict.bad, "wrote", active, write=False)
        if self._log and self._is_of_block and self._settled(self._noted_reads).all():
            self._log.clear()
        self._notice(self._noted_reads, touch, active)
        few = touch.addresses.nbytes <= _MANY
        later = few and self._origin is not None
        self._log.append((touch._replace(positions=LATER) if later else touch, self.order.changes))
        if not few or len(self._log) > _LONGEST_LOG:
            self._flush()

    def write(self, touch: Touch, active: Active, *, values: Array | None = None, view: Array | None = None) -> None:
        """Check a write against writes and reads, and note it.

        ``values`` are (elements, ..., threads or narrower), ``view`` the bytes as they are before it, in elements of
        the access's unit: where several store the same, it is another kind of race.
        """
        new = None if values is None or view is None else (values, view)
        verdict = self.check_write(touch, active, new)
        self._stamp(touch, active, verdict, values)

    def check_write(self, touch: Touch, active: Active, new: tuple[Array, Array] | None = None) -> Verdict | None:
        """Check a write against what was written and read before it."""
        self._refine(touch)
        verdict = None
        if self._is_written:
            verdict = self._verdict(self._writes, touch, self._settled(self._noted_writes))
            if verdict is not None and verdict.bad.any():
                self._note_writes(touch, verdict, active, new)
        settled = self._settled(self._noted_reads)
        if self._is_of_block and settled.all():
            self._log.clear()
        elif not self._concerns_only(touch, settled):
            self._flush()
            if self._is_read:
                found = self._verdict(self._reads, touch, settled)
                if found is not None:
                    self._note(touch, found, found.bad, "read", active, write=True)
                    self._forget(touch, found)
        return verdict

    def arrive(self, touch: Touch, active: Active) -> None:
        """Note a write that was checked before it was on its way."""
        self._refine(touch)
        verdict = self._verdict(self._writes, touch, self._settled(self._noted_writes)) if self._is_written else None
        self._stamp(touch, active, verdict, None)

    def _stamp(self, touch: Touch, active: Active, verdict: Verdict | None, values: Array | None) -> None:
        self._notice(self._noted_writes, touch, active)
        mine = self._coded(touch)
        again = self._put(self._writes, touch, mine, verdict)
        self._is_written = True
        if again is not None and (touch.strength < BLOCK or not self._is_of_block):
            self._note_collisions(touch, again, active, mine, values)

    def _forget(self, touch: Touch, verdict: Verdict) -> None:
        """Forget chains of reads that come before a weak write: whatever it is ordered before, they are."""
        if touch.strength != WEAK:
            return
        over = self._compare.coding.are_chains(verdict.old)
        if over.any():
            slots = np.broadcast_to(self._reads.places(touch, self._positions(touch)), over.shape)
            gone = slots[over & ~verdict.kept]
            self._reads.flat[gone[~np.isin(gone, slots[over & verdict.kept])]] = 0

    # What an access is compared with, and what is noted of it.

    def _coded(self, touch: Touch) -> Array:
        stamps, last = touch.stamps, self._last_coded
        if stamps is None:
            raise TypeError("an access without stamps")
        if last is not None and last[0] is stamps and last[1] == touch.strength:
            return last[2]
        coding = self._compare.coding
        if (stamps.dtype.itemsize > 4 and coding.dtype.itemsize == 4) or int(stamps.max()) > coding.largest:
            self._recode()
            coding = self._compare.coding
        coded = coding.access(stamps, touch.strength)
        self._last_coded = stamps, touch.strength, coded
        return coded

    def _recode(self) -> None:
        """Go on with numbers of 64 bits."""
        old, new = self._compare.coding, Coding(np.dtype(np.uint64))
        for granules in (self._writes, self._reads):
            granules.widen(new.recoded(granules.flat, old))
        self._compare.coding = new
        self._last_coded = None
        self._compare.crowds.recode(lambda values: new.recoded(values, old))

    def _verdict(self, granules: Granules, touch: Touch, settled: _Mask) -> Verdict | None:
        """Compare an access with what is noted, but for blocks in which all of that is settled."""
        if self._concerns_only(touch, settled):
            return None
        mine = self._coded(touch)
        old = granules.get(touch, self._positions(touch))
        if touch.mask is not None and old.any():
            old = np.where(touch.mask, old, old.dtype.type(0))
        if settled.any():
            old = np.where(settled.reshape(-1, 1, 1), old.dtype.type(0), old)
        return self._compare(old, mine, touch.strength)

    def _put(self, granules: Granules, touch: Touch, mine: Array, verdict: Verdict | None) -> _Mask | None:
        """Note an access beside what the verdict keeps; return where several threads did so at once."""
        positions = self._positions(touch)
        places, values = chosen_of(touch, positions, mine)
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
        old = None if kept is None else np.where(kept, verdict.old, verdict.old.dtype.type(0))[again]  # type: ignore[union-attr]
        self._join(granules, slots[again], np.broadcast_to(mine, shape)[again], old)
        return again if several else None

    def _join(self, granules: Granules, slots: NDArray[np.int64], values: Array, old: Array | None) -> None:
        """Let accesses stand side by side in their granules, behind the ``old`` ones that are kept (0: none)."""
        coding, crowds = self._compare.coding, self._compare.crowds
        before, held = None, slots if old is None else slots[old != 0]
        if old is not None:
            granules.flat[held] = old[old != 0]  # one for all that come to a granule, to be read below
        slots, values = _ordered_pairs(slots, values)
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
                first = before[single]
                heads[single] = crowds.append(
                    np.zeros(len(single), np.int64), np.arange(len(single)), first, coding.strengths(first),
                    coding.stamps(first),
                )  # fmt: skip
            known = (heads > 0) & (crowds.last(heads) == values[begins])
            known &= np.bincount(group) == 1
            if known.any():
                granules.flat[unique[known]] = coding.chains(heads[known])
                left = ~known[group]
                if not left.any():
                    return
                slots, values, heads, unique = slots[left], values[left], heads[~known], unique[~known]
                group = np.cumsum(_begins(slots)) - 1
        strengths, stamps = coding.strengths(values), coding.stamps(values)
        granules.flat[unique] = coding.chains(crowds.append(heads, group, values, strengths, stamps))

    def _flush(self) -> None:
        """Note the reads that are only listed."""
        for touch, changes in self._log:
            positions = self._positions(touch)
            touch = touch._replace(positions=positions)
            if self._is_of_block and touch.times is not None:
                over = self._precede(touch.times)
                if over.any():
                    left = ~over.reshape(-1, 1, 1)
                    touch = touch._replace(mask=left if touch.mask is None else touch.mask & left)
                    if not touch.mask.any():  # type: ignore[union-attr]
                        continue
            self._refine(touch)
            mine = self._coded(touch)
            verdict = None
            if self._is_read:
                old = self._reads.get(touch, positions)
                if touch.mask is not None:
                    old = np.where(touch.mask, old, old.dtype.type(0))
                if changes == self.order.changes:
                    verdict = self._compare(old, mine, touch.strength)
                elif old.any():  # what is ordered now need not have been ordered then
                    other = self._compare.are_of_others(old, mine)
                    verdict = Verdict(np.broadcast_to(old, other.shape), other, other, other, other)
            self._put(self._reads, touch, mine, verdict)
            self._is_read = True
        self._log.clear()

    def _positions(self, touch: Touch) -> NDArray[np.int64]:
        if touch.positions.size or self._origin is None:
            return touch.positions
        positions = self._origin(touch.addresses)
        return positions if touch.mask is None else np.where(touch.mask, positions, np.int64(0))

    def _refine(self, touch: Touch) -> None:
        wanted = min(touch.size, touch.unit)
        if wanted < self._writes.size:
            self._writes.refine(wanted)
            self._reads.refine(wanted)

    # Whether all that was noted comes before all that comes now.

    def _settled(self, noted: NDArray[np.int32]) -> _Mask:
        """Say in which blocks all that was noted precedes what any thread of the block does now."""
        if not self._is_of_block:
            return _NOWHERE
        if not noted.any():
            return np.ones(len(noted), np.bool_)
        over = self._precede(noted)
        noted[over] = 0
        return over

    def _precede(self, times: NDArray[np.int32]) -> _Mask:
        """Say in which blocks what the warps did up to some times precedes what any thread of the block does now."""
        return np.asarray((self.order.known >= times[:, None, :]).all(axis=(1, 2)))

    def _concerns_only(self, touch: Touch, settled: _Mask) -> bool:
        """Tell whether an access is one of settled blocks alone."""
        if settled.all():
            return True
        if touch.mask is None or not settled.any():
            return False
        return not (any_of(touch.mask) & ~settled.reshape(-1, 1, 1)).any()

    def _notice(self, noted: NDArray[np.int32], touch: Touch, active: Active) -> None:
        if not self._is_of_block or touch.times is None:
            return
        if active is None:
            np.maximum(noted, touch.times, out=noted)
        else:
            np.maximum(noted, np.where(any_of(active).any(axis=-1), touch.times, 0), out=noted)

    # What is said of it.

    def _note(
        self, touch: Touch, verdict: Verdict, bad: _Mask, verb: str, active: Active, *, write: bool, kind: str = ""
    ) -> None:
        if not bad.any():
            return
        if not kind:
            self._note(touch, verdict, bad & verdict.outside, verb, active, write=write, kind=RACE)
            far = (bad & verdict.outside).any(axis=0)
            self._note(touch, verdict, bad & ~far, verb, active, write=write, kind=NEAR)
            return
        mine, shape = np.broadcast_to(self._coded(touch), verdict.old.shape), self.order.now.shape

        def other(at: tuple[int, ...]) -> list[int]:
            thread = (at[-3] * shape[1] + at[-2]) * 32 + at[-1]
            return self._compare.racing(int(verdict.old[at]), int(mine[at]), touch.strength, thread)

        self.report(Race(kind, touch, bad, verb, write, other), active)

    def _note_writes(
        self, touch: Touch, verdict: Verdict, active: Active, new: tuple[Array, Array] | None
    ) -> None:  # fmt: skip
        bad, same = verdict.bad, np.zeros((), np.bool_)
        if new is not None and touch.strength < BLOCK:
            values, view = new
            before = gather(view, touch.unit, touch.positions, self._writes.size, touch.size // self._writes.size)
            new_bytes = self._left(touch, _in_granules(values, self._writes.size, bad.shape[1:]))
            same = (new_bytes == before) & ~verdict.strong
        self._note(touch, verdict, bad & ~same, "wrote", active, write=True)
        self._note(touch, verdict, bad & same, "wrote", active, write=True, kind=EQUAL)

    def _note_collisions(
        self, touch: Touch, again: _Mask, active: Active, mine: Array, values: Array | None
    ) -> None:  # fmt: skip
        """Note where threads wrote one place in the same instruction, what differs and what does not."""
        if touch.strength > BLOCK:
            return
        slots = np.broadcast_to(self._writes.places(touch, self._positions(touch)), again.shape)[again]
        order = np.argsort(slots, kind="stable")
        begins = np.flatnonzero(np.append(True, np.diff(slots[order]) != 0))
        counts = np.diff(np.append(begins, len(slots)))

        def differs(of: Array) -> _Mask:
            value = np.broadcast_to(of, again.shape)[again][order]
            unlike = np.maximum.reduceat(value, begins) != np.minimum.reduceat(value, begins)
            out = np.empty(len(slots), np.bool_)
            out[order] = np.repeat(unlike, counts)
            return out

        raced, threads = differs(mine), self.order.threads_of(self._compare.coding.stamps(mine))
        if touch.strength >= BLOCK:
            if touch.strength == BLOCK:
                far = raced & differs(threads // (self.order.now.shape[1] * 32))
                self._report_collisions(RACE, touch, again, far, active, slots)
            return
        # CUDA's guide allows lanes of a warp to write one place in one instruction; which of them stays is left open.
        several = raced & differs(threads >> 5)
        if values is None:
            far, near = several, raced
        else:
            given = _in_granules(values, self._writes.size, again.shape[1:])
            far = several & differs(self._left(touch, given))
            near = raced & self._differ_in_warps(given, threads, again, slots)
        self._report_collisions(RACE, touch, again, far, active, slots)
        self._report_collisions(LANES_AT_ONCE, touch, again, near & ~far, active, slots)
        self._report_collisions(EQUAL, touch, again, several & ~far & ~near, active, slots)

    def _report_collisions(
        self, kind: str, touch: Touch, again: _Mask, chosen: _Mask, active: Active, slots: NDArray[np.int64]
    ) -> None:  # fmt: skip
        if not chosen.any():
            return
        bad = np.zeros(again.shape, np.bool_)
        bad[again] = chosen
        stamps = self._compare.coding.stamps(np.broadcast_to(self._coded(touch), again.shape))
        places = np.broadcast_to(self._writes.places(touch, self._positions(touch)), again.shape)

        def other(at: tuple[int, ...]) -> list[int]:
            found = np.unique(stamps[again][slots == places[at]])
            return [int(x) for x in found if x != stamps[at]]

        self.report(Race(kind, touch, bad, "writes", True, other), active)

    def _differ_in_warps(self, given: Array, threads: Array, again: _Mask, slots: NDArray[np.int64]) -> _Mask:
        """Say where lanes of one warp give one place different bytes."""
        warps = np.broadcast_to(threads >> 5, again.shape)[again]
        _, group = np.unique(np.stack((slots, warps)), axis=1, return_inverse=True)
        value = np.broadcast_to(given, again.shape)[again]
        order = np.argsort(group, kind="stable")
        begins = np.flatnonzero(np.diff(group[order], prepend=-1))
        unlike = np.maximum.reduceat(value[order], begins) != np.minimum.reduceat(value[order], begins)
        return np.asarray(unlike[group])

    def _left(self, touch: Touch, given: Array) -> Array:
        """Give each lane the bytes that its warp leaves where it stores them: see `in_passes`."""
        positions = self._positions(touch)
        slots = np.broadcast_to(self._writes.places(touch, positions), given.shape)
        if touch.mask is not None:
            slots = np.where(touch.mask, slots, -1 - np.arange(32))
        rank = np.empty(32, np.int64)
        rank[in_passes(np.arange(32), touch.size)] = np.arange(32)
        later = np.broadcast_to(rank, given.shape)
        by_warp = np.moveaxis(slots, 0, -2).reshape(-1, given.shape[0], 32)
        if (np.sort(by_warp[:, 0], axis=-1)[:, 1:] != np.sort(by_warp[:, 0], axis=-1)[:, :-1]).all():
            return given
        warps = np.broadcast_to(np.arange(given[0].size // 32).reshape(*given.shape[1:-1], 1), given.shape)
        keys = np.lexsort((later.ravel(), slots.ravel(), warps.ravel()))
        same = (np.diff(slots.ravel()[keys]) == 0) & (np.diff(warps.ravel()[keys]) == 0)
        group = np.cumsum(np.append(True, ~same)) - 1
        last = np.append(np.flatnonzero(~same), len(keys) - 1)
        out = np.empty(given.size, given.dtype)
        out[keys] = given.ravel()[keys[last]][group]
        return out.reshape(given.shape)


def _in_granules(values: Array, size: int, shape: tuple[int, ...]) -> Array:
    """Give the bytes of a store, (elements, ...), as numbers of the granules: (granules, *shape)."""
    full = np.ascontiguousarray(np.moveaxis(wide(values, (len(values), *shape)), 0, -1))
    return np.moveaxis(full.view(f"u{size}"), -1, 0)


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
