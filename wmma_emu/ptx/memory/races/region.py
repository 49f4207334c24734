# SPDX-License-Identifier: MIT
"""Some memory of which every access is noted: the shared memory of a chunk of blocks, or one range of the heap."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.access import gather
from wmma_emu.ptx.memory.races.collisions import Collisions, in_granules, left_by_warps
from wmma_emu.ptx.memory.races.comparison import Verdict
from wmma_emu.ptx.memory.races.granules import Granules
from wmma_emu.ptx.memory.races.last_operations import LastOperations
from wmma_emu.ptx.memory.races.listed import Listed
from wmma_emu.ptx.memory.races.notes import Notes
from wmma_emu.ptx.memory.races.race import EQUAL, NEAR, RACE, Race
from wmma_emu.ptx.memory.races.settled import Settled, concerns_only
from wmma_emu.ptx.memory.resolved_access import BLOCK, LATER, SYSTEM, Access
from wmma_emu.ptx.threads import Active, Array

_LONGEST_LOG, _MOST_LOGGED = 1 << 12, 1 << 23
"""Reads that are listed at most, and the bytes of their addresses and masks."""

_MANY = 1 << 13
"""Bytes of addresses from which on a list of them costs more than the stamps: the pages are not the system's again."""

_Mask = NDArray[np.bool_]

_NOWHERE: _Mask = np.zeros(1, np.bool_)


class Region:
    """Who wrote and who read each granule of some bytes last.

    A granule is four bytes until an access of one or two bytes comes, from then on as small as that: bytes side by
    side, written by two threads, are no race. What is noted is replaced only by what comes after it and is in conflict
    with as much; accesses that nothing orders stand side by side, in chains. Reads are only listed until a write comes
    that they are not known to precede: between two barriers without a write, they cost nothing.

    ``base`` is the position of the first byte. ``is_of_block`` and ``look`` are those of `Comparison`; ``origin`` gives
    the positions of a touch that was listed without them.
    """

    def __init__(
        self, base: int, size: int, order: CausalityOrder, report: Callable[[Race, Active], None], *, is_of_block: bool,
        origin: Callable[[Array], NDArray[np.int64]] | None = None, look: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.order, self.report, self._origin = order, report, origin
        self.chunk: object = None
        self._is_of_block, self._extent = is_of_block, (base, size)
        self._look = look
        self._notes = Notes(base, size, order, is_of_block=is_of_block, look=look)
        self._is_written = self._is_read = False
        self._log: list[tuple[Access, int]] = []
        self._logged = 0
        self._listed = Listed(base, size, order.threads_of)
        self._settled_writes, self._settled_reads = Settled(order), Settled(order)
        self._latest: LastOperations | None = None

    @property
    def bytes(self) -> int:
        """Of the host's memory that is kept on these bytes."""
        return self._notes.bytes + self._listed.bytes

    def end_wave(self) -> None:
        """Note reads that are only listed: other blocks come."""
        self._flush()
        self._listed.end_wave()

    def read(self, touch: Access, active: Active) -> None:
        """Check a read against the writes, and list it."""
        if self._is_listed(touch, active, False):
            return
        self._bring_in(touch)
        self._notes.refine(touch)
        if self._is_written:
            verdict = self._verdict(self._notes.writes, touch, self._settled(self._settled_writes))
            if verdict is not None:
                self._report(touch, verdict, verdict.bad, "wrote", active, write=False)
        if self._log and self._settled(self._settled_reads) is None:
            self._drop_log()
        if self._is_of_block:
            self._settled_reads.notice(touch, active)
        few = touch.addresses.nbytes <= _MANY
        later = few and self._origin is not None
        self._log.append((touch._replace(positions=LATER) if later else touch, self.order.changes))
        self._logged += touch.addresses.nbytes + (0 if touch.mask is None else touch.mask.nbytes)
        if not few or len(self._log) > _LONGEST_LOG or self._logged > _MOST_LOGGED:
            self._flush()

    def write(self, touch: Access, active: Active, *, values: Array | None = None, view: Array | None = None) -> None:
        """Check a write against writes and reads, and note it.

        ``values`` are (elements, ..., threads or narrower), ``view`` the bytes as they are before it, in elements of
        the access's unit: where several store the same, it is another kind of race.
        """
        if self._is_listed(touch, active, True):
            return
        new = None if values is None or view is None else (values, view)
        verdict = self.check_write(touch, active, new)
        self._stamp(touch, active, verdict, values)

    def has(self, positions: NDArray[np.int64]) -> _Mask:
        """Say which positions are of this memory."""
        base, size = self._extent
        return np.asarray((positions >= base) & (positions < base + size))

    def observe(self, positions: NDArray[np.int64], size: int, stamps: Array) -> None:
        """Note who did atomic operations that return what they find, in the order in which they were done."""
        if self._latest is None:
            self._latest = LastOperations(*self._extent)
        self._latest.put(positions, size, stamps)

    def check_write(self, touch: Access, active: Active, new: tuple[Array, Array] | None = None) -> Verdict | None:
        """Check a write against what was written and read before it."""
        self._bring_in(touch)
        self._notes.refine(touch)
        verdict = None
        if self._is_written:
            verdict = self._verdict(self._notes.writes, touch, self._settled(self._settled_writes))
            if verdict is not None and verdict.bad.any():
                self._report_writes(touch, verdict, active, new)
        settled = self._settled(self._settled_reads)
        if settled is None:
            self._drop_log()
        elif not concerns_only(touch, settled):
            self._flush()
            found = self._verdict(self._notes.reads, touch, settled) if self._is_read else None
            if found is not None:
                self._report(touch, found, found.bad, "read", active, write=True)
                self._notes.forget(touch, found)
        return verdict

    def arrive(self, touch: Access, active: Active) -> None:
        """Note a write that was checked before it was on its way."""
        self._bring_in(touch)
        self._notes.refine(touch)
        verdict = None
        if self._is_written:
            verdict = self._verdict(self._notes.writes, touch, self._settled(self._settled_writes))
        self._stamp(touch, active, verdict, None)

    def _is_listed(self, touch: Access, active: Active, write: bool) -> bool:
        """List a strong access to words where all others were strong too, and so in no conflict; say whether it is."""
        if touch.strength < (BLOCK if self._is_of_block else SYSTEM) or min(touch.size, touch.unit) < 4:
            return False
        if self._log:
            if self._settled(self._settled_reads) is None:
                self._drop_log()
            self._flush()
        for granules, is_used in ((self._notes.writes, self._is_written), (self._notes.reads, self._is_read)):
            if is_used and not self._notes.compare.are_none(self._notes.noted(granules, touch)):
                return False
        if self._is_of_block:
            (self._settled_writes if write else self._settled_reads).notice(touch, active)
        self._listed.add(touch, write)
        return True

    def _bring_in(self, touch: Access) -> None:
        if not self._listed.meets(touch):
            return
        entries = self._listed.take()
        if self._settled(self._settled_writes) is None and self._settled(self._settled_reads) is None:
            return
        self._notes.put_listed(self._notes.writes, [x for x in entries if x.write])
        self._notes.put_listed(self._notes.reads, [x for x in entries if not x.write])
        self._is_written |= any(x.write for x in entries)
        self._is_read |= not all(x.write for x in entries)

    def _stamp(self, touch: Access, active: Active, verdict: Verdict | None, values: Array | None) -> None:
        if self._is_of_block:
            self._settled_writes.notice(touch, active)
        again = self._notes.put(self._notes.writes, touch, self._notes.coded(touch), verdict)
        if self._latest is not None:
            self._latest.end(touch)
        self._is_written = True
        if again is not None and touch.strength < (BLOCK if self._is_of_block else SYSTEM):
            self._report_collisions(touch, again, active, values)

    def _settled(self, accesses: Settled) -> _Mask | None:
        """Say in which blocks accesses are settled, None for all: nowhere if other blocks come to the bytes too."""
        return accesses.blocks() if self._is_of_block else _NOWHERE

    def _verdict(self, granules: Granules, touch: Access, settled: _Mask | None) -> Verdict | None:
        if settled is None or concerns_only(touch, settled):
            return None
        mine = self._notes.coded(touch)
        old = self._notes.noted(granules, touch)
        if settled.any():
            old = np.where(settled.reshape(-1, 1, 1), old.dtype.type(0), old)
        observed = None
        if self._latest is not None and granules is self._notes.writes and touch.strength < BLOCK:
            observed = None if self._notes.by_parts else self._latest.known(touch, granules, self.order)
        found = self._notes.compare(old, mine, touch.strength, observed)
        if found is None or not self._notes.by_parts:
            return found
        self._notes.take_apart()  # what matters is told byte by byte
        return self._verdict(granules, touch, settled)

    def _flush(self) -> None:
        for listed, changes in self._log:
            touch = self._left_of(listed)
            if touch is None:
                continue
            self._look()
            self._notes.refine(touch)
            self._is_read = True
            if self._notes.compare.is_apart:
                touch = self._notes.put_reads(touch)
                if touch is None:
                    continue
            verdict = self._kept_beside(touch, changes)
            if verdict is not None and self._notes.by_parts:
                self._notes.take_apart()
                verdict = self._kept_beside(touch, changes)
            self._notes.put(self._notes.reads, touch, self._notes.coded(touch), verdict)
        self._drop_log()

    def _drop_log(self) -> None:
        self._log.clear()
        self._logged = 0

    def _kept_beside(self, touch: Access, changes: int) -> Verdict | None:
        """Compare a read that was listed with the reads that are noted."""
        if not self._notes.reads.is_used:
            return None
        old, mine = self._notes.noted(self._notes.reads, touch), self._notes.coded(touch)
        if changes == self.order.changes:
            return self._notes.compare(old, mine, touch.strength, reads=True)
        if not old.any():
            return None
        other = self._notes.compare.are_of_others(old, mine)  # what is ordered now need not have been ordered then
        return Verdict(np.broadcast_to(old, other.shape), other, other, other, other, other)

    def _left_of(self, touch: Access) -> Access | None:
        """Find the positions of a read that was listed, and leave out the blocks in which it is settled by now."""
        if self._is_of_block and touch.times is not None:
            over = self._settled_reads.at(touch.times)
            if over.any():
                left = ~over.reshape(-1, 1, 1)
                mask = left if touch.mask is None else touch.mask & left
                if not mask.any():
                    return None
                touch = touch._replace(mask=mask)
        if touch.positions.size or self._origin is None:
            return touch
        positions = self._origin(touch.addresses)
        return touch._replace(
            positions=positions if touch.mask is None else np.where(touch.mask, positions, np.int64(0))
        )

    # What is said of it.

    def _report(
        self, touch: Access, verdict: Verdict, bad: _Mask, verb: str, active: Active, *, write: bool, kind: str = ""
    ) -> None:
        if not bad.any():
            return
        if not kind:
            far = bad & verdict.outside
            self._report(touch, verdict, far, verb, active, write=write, kind=RACE)
            self._report(touch, verdict, bad & ~far.any(axis=0), verb, active, write=write, kind=NEAR)
            return
        mine, warps = np.broadcast_to(self._notes.coded(touch), verdict.old.shape), self.order.now.shape[1]

        def other(at: tuple[int, ...]) -> list[int]:
            thread = (at[-3] * warps + at[-2]) * 32 + at[-1]
            seen = verdict.observed is not None and bool(np.broadcast_to(verdict.observed, bad.shape)[at])
            old = int(verdict.old[at])
            return self._notes.compare.racing(old, int(mine[at]), touch.strength, thread, observed=seen)

        self.report(Race(kind, touch, bad, verb, write, other), active)

    def _report_writes(
        self, touch: Access, verdict: Verdict, active: Active, new: tuple[Array, Array] | None
    ) -> None:  # fmt: skip
        bad, same = verdict.bad, np.zeros((), np.bool_)
        if new is not None and touch.strength < BLOCK:
            (values, view), size = new, self._notes.writes.size
            before = gather(view, touch.unit, touch.positions, size, touch.size // size)
            given = in_granules(values, size, bad.shape[1:])
            left = left_by_warps(touch, given, self._notes.writes.places(touch, touch.positions))
            equal = left == before  # no race with what left these bytes, if it was a plain store too
            same = equal & ~verdict.strong
            verdict = verdict._replace(outside=np.where(equal, verdict.strong_outside, verdict.outside))
        self._report(touch, verdict, bad & ~same, "wrote", active, write=True)
        self._report(touch, verdict, bad & same, "wrote", active, write=True, kind=EQUAL)

    def _report_collisions(self, touch: Access, again: _Mask, active: Active, values: Array | None) -> None:
        """Report threads that wrote to one place in the same instruction."""
        notes = self._notes
        stamps = np.broadcast_to(notes.coding.stamps(notes.coded(touch)), again.shape)
        places = notes.writes.places(touch, touch.positions)
        found = Collisions(touch, again, places, self.order.threads_of(stamps))
        given = None if values is None else in_granules(values, notes.writes.size, again.shape[1:])

        def other(at: tuple[int, ...]) -> list[int]:
            return [int(stamps[x]) for x in found.others(at)]

        for kind, bad in found.kinds(given, self.order.now.shape[1] * 32):
            if bad.any():
                self.report(Race(kind, touch, bad, "writes", True, other), active)
