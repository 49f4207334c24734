# SPDX-License-Identifier: MIT
"""Memory whose accesses are all recorded: the shared memory of a wave of blocks, or one range of the heap."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.access import gather
from wmma_emu.ptx.memory.races.collisions import Collisions, in_granules, left_by_warps
from wmma_emu.ptx.memory.races.comparison import Verdict
from wmma_emu.ptx.memory.races.deferred_accesses import DeferredAccesses
from wmma_emu.ptx.memory.races.granules import Granules
from wmma_emu.ptx.memory.races.last_operations import LastOperations
from wmma_emu.ptx.memory.races.race import EQUAL, NEAR, RACE, Race
from wmma_emu.ptx.memory.races.recorded_accesses import RecordedAccesses
from wmma_emu.ptx.memory.races.settled import Settled, concerns_only
from wmma_emu.ptx.memory.resolved_access import BLOCK, LATER, SYSTEM, Access
from wmma_emu.ptx.threads import Active, Array

_LONGEST_LOG, _MOST_LOGGED = 1 << 12, 1 << 23
"""The largest number of logged reads, and of bytes of their addresses and masks."""

_MANY = 1 << 13
"""Bytes of addresses from which a log of them costs more than stamps, since their pages stay allocated."""

_Mask = NDArray[np.bool_]

_NOWHERE: _Mask = np.zeros(1, np.bool_)


class Region:
    """The last writes and reads of each granule of some bytes.

    A granule is four bytes until an access of one or two bytes is made, and has the size of that access from then on:
    adjacent bytes that are written by two threads do not race. A recorded access is replaced only by one that it
    happens before and that conflicts with as many accesses; unordered accesses are joined in chains. Reads are only
    logged until there is a write that they are not known to precede: between two barriers without a write, they cost
    nothing.

    ``base`` is the position of the first byte. ``is_of_block`` and ``check_time`` are as in `Comparison`; ``origin``
    returns the positions of an access that was logged without them.
    """

    def __init__(
        self, base: int, size: int, order: CausalityOrder, report: Callable[[Race, Active], None], *, is_of_block: bool,
        origin: Callable[[Array], NDArray[np.int64]] | None = None, check_time: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.order, self.report, self._origin = order, report, origin
        self.wave: object = None
        self._is_of_block, self._extent = is_of_block, (base, size)
        self._check_time = check_time
        self._recorded = RecordedAccesses(base, size, order, is_of_block=is_of_block, check_time=check_time)
        self._is_written = self._is_read = False
        self._log: list[tuple[Access, int]] = []
        self._logged = 0
        self._deferred = DeferredAccesses(base, size, order.threads_of)
        self._settled_writes, self._settled_reads = Settled(order), Settled(order)
        self._latest: LastOperations | None = None

    @property
    def bytes(self) -> int:
        """Bytes of host memory in use for these bytes."""
        return self._recorded.bytes + self._deferred.bytes

    def end_wave(self) -> None:
        """Record logged reads, since other blocks follow."""
        self._flush()
        self._deferred.end_wave()

    def read(self, access: Access, active: Active) -> None:
        """Check a read against the writes, and log it."""
        if self._defers(access, active, False):
            return
        self._record_deferred(access)
        self._recorded.refine(access)
        if self._is_written:
            verdict = self._verdict(self._recorded.writes, access, self._settled(self._settled_writes))
            if verdict is not None:
                self._report(access, verdict, verdict.bad, "wrote", active, write=False)
        if self._log and self._settled(self._settled_reads) is None:
            self._drop_log()
        if self._is_of_block:
            self._settled_reads.notice(access, active)
        few = access.addresses.nbytes <= _MANY
        later = few and self._origin is not None
        self._log.append((access._replace(positions=LATER) if later else access, self.order.changes))
        self._logged += access.addresses.nbytes + (0 if access.mask is None else access.mask.nbytes)
        if not few or len(self._log) > _LONGEST_LOG or self._logged > _MOST_LOGGED:
            self._flush()

    def write(self, access: Access, active: Active, *, values: Array | None = None, view: Array | None = None) -> None:
        """Check a write against writes and reads, and record it.

        ``values`` are (elements, ..., threads or narrower), ``view`` the bytes before the write, in elements of the
        access's unit: if several threads store the same bytes, the race is of another kind.
        """
        if self._defers(access, active, True):
            return
        new = None if values is None or view is None else (values, view)
        verdict = self.check_write(access, active, new)
        self._stamp(access, active, verdict, values)

    def has(self, positions: NDArray[np.int64]) -> _Mask:
        """Return which positions are in this memory."""
        base, size = self._extent
        return np.asarray((positions >= base) & (positions < base + size))

    def observe(self, positions: NDArray[np.int64], size: int, stamps: Array) -> None:
        """Record atomic operations that return the old value, in the order in which they were done."""
        if self._latest is None:
            self._latest = LastOperations(*self._extent)
        self._latest.put(positions, size, stamps)

    def check_write(self, access: Access, active: Active, new: tuple[Array, Array] | None = None) -> Verdict | None:
        """Check a write against the writes and reads before it."""
        self._record_deferred(access)
        self._recorded.refine(access)
        verdict = None
        if self._is_written:
            verdict = self._verdict(self._recorded.writes, access, self._settled(self._settled_writes))
            if verdict is not None and verdict.bad.any():
                self._report_writes(access, verdict, active, new)
        settled = self._settled(self._settled_reads)
        if settled is None:
            self._drop_log()
        elif not concerns_only(access, settled):
            self._flush()
            found = self._verdict(self._recorded.reads, access, settled) if self._is_read else None
            if found is not None:
                self._report(access, found, found.bad, "read", active, write=True)
                self._recorded.forget(access, found)
        return verdict

    def arrive(self, access: Access, active: Active) -> None:
        """Record a write that was checked when it was issued."""
        self._record_deferred(access)
        self._recorded.refine(access)
        verdict = None
        if self._is_written:
            verdict = self._verdict(self._recorded.writes, access, self._settled(self._settled_writes))
        self._stamp(access, active, verdict, None)

    def _defers(self, access: Access, active: Active, write: bool) -> bool:
        """Return whether a strong access was deferred, since only strong accesses have used its words.

        Strong accesses do not conflict with each other here.
        """
        if access.strength < (BLOCK if self._is_of_block else SYSTEM) or min(access.size, access.unit) < 4:
            return False
        if self._log:
            if self._settled(self._settled_reads) is None:
                self._drop_log()
            self._flush()
        for granules, is_used in ((self._recorded.writes, self._is_written), (self._recorded.reads, self._is_read)):
            if is_used and not self._recorded.compare.are_irrelevant(self._recorded.recorded(granules, access)):
                return False
        if self._is_of_block:
            (self._settled_writes if write else self._settled_reads).notice(access, active)
        self._deferred.add(access, write)
        return True

    def _record_deferred(self, access: Access) -> None:
        if not self._deferred.meets(access):
            return
        entries = self._deferred.take()
        if self._settled(self._settled_writes) is None and self._settled(self._settled_reads) is None:
            return
        self._recorded.put_deferred(self._recorded.writes, [x for x in entries if x.write])
        self._recorded.put_deferred(self._recorded.reads, [x for x in entries if not x.write])
        self._is_written |= any(x.write for x in entries)
        self._is_read |= not all(x.write for x in entries)

    def _stamp(self, access: Access, active: Active, verdict: Verdict | None, values: Array | None) -> None:
        if self._is_of_block:
            self._settled_writes.notice(access, active)
        again = self._recorded.put(self._recorded.writes, access, self._recorded.encoded(access), verdict)
        if self._latest is not None:
            self._latest.end(access)
        self._is_written = True
        if again is not None and access.strength < (BLOCK if self._is_of_block else SYSTEM):
            self._report_collisions(access, again, active, values)

    def _settled(self, accesses: Settled) -> _Mask | None:
        """Return in which blocks accesses are settled, None for all: in no block if several blocks access the bytes."""
        return accesses.blocks() if self._is_of_block else _NOWHERE

    def _verdict(self, granules: Granules, access: Access, settled: _Mask | None) -> Verdict | None:
        if settled is None or concerns_only(access, settled):
            return None
        own = self._recorded.encoded(access)
        old = self._recorded.recorded(granules, access)
        if settled.any():
            old = np.where(settled.reshape(-1, 1, 1), old.dtype.type(0), old)
        observed = None
        if self._latest is not None and granules is self._recorded.writes and access.strength < BLOCK:
            observed = None if self._recorded.by_parts else self._latest.known(access, granules, self.order)
        found = self._recorded.compare(old, own, access.strength, observed)
        if found is None or not self._recorded.by_parts:
            return found
        self._recorded.split()  # compare byte by byte
        return self._verdict(granules, access, settled)

    def _flush(self) -> None:
        for logged, changes in self._log:
            access = self._unsettled_part(logged)
            if access is None:
                continue
            self._check_time()
            self._recorded.refine(access)
            self._is_read = True
            if self._recorded.compare.are_blocks_unordered:
                access = self._recorded.put_reads(access)
                if access is None:
                    continue
            verdict = self._kept_with(access, changes)
            if verdict is not None and self._recorded.by_parts:
                self._recorded.split()
                verdict = self._kept_with(access, changes)
            self._recorded.put(self._recorded.reads, access, self._recorded.encoded(access), verdict)
        self._drop_log()

    def _drop_log(self) -> None:
        self._log.clear()
        self._logged = 0

    def _kept_with(self, access: Access, changes: int) -> Verdict | None:
        """Compare a logged read with the recorded reads."""
        if not self._recorded.reads.is_used:
            return None
        old, own = self._recorded.recorded(self._recorded.reads, access), self._recorded.encoded(access)
        if changes == self.order.changes:
            return self._recorded.compare(old, own, access.strength, reads=True)
        if not old.any():
            return None
        other = self._recorded.compare.are_of_others(
            old, own
        )  # accesses that are ordered now may have been unordered then
        return Verdict(np.broadcast_to(old, other.shape), other, other, other, other, other)

    def _unsettled_part(self, access: Access) -> Access | None:
        """Compute the positions of a logged read, without the blocks in which it is settled by now."""
        if self._is_of_block and access.times is not None:
            over = self._settled_reads.at(access.times)
            if over.any():
                left = ~over.reshape(-1, 1, 1)
                mask = left if access.mask is None else access.mask & left
                if not mask.any():
                    return None
                access = access._replace(mask=mask)
        if access.positions.size or self._origin is None:
            return access
        positions = self._origin(access.addresses)
        return access._replace(
            positions=positions if access.mask is None else np.where(access.mask, positions, np.int64(0))
        )

    # Reports.

    def _report(
        self, access: Access, verdict: Verdict, bad: _Mask, verb: str, active: Active, *, write: bool, kind: str = ""
    ) -> None:
        if not bad.any():
            return
        if not kind:
            far = bad & verdict.outside
            self._report(access, verdict, far, verb, active, write=write, kind=RACE)
            self._report(access, verdict, bad & ~far.any(axis=0), verb, active, write=write, kind=NEAR)
            return
        own, warps = np.broadcast_to(self._recorded.encoded(access), verdict.old.shape), self.order.now.shape[1]

        def other(at: tuple[int, ...]) -> list[int]:
            block, warp, lane = self.order.acting_lane(at)
            thread = (int(block) * warps + int(warp)) * 32 + int(lane)
            seen = verdict.observed is not None and bool(np.broadcast_to(verdict.observed, bad.shape)[at])
            old = int(verdict.old[at])
            return self._recorded.compare.racing(old, int(own[at]), access.strength, thread, observed=seen)

        self.report(Race(kind, access, bad, verb, write, other), active)

    def _report_writes(
        self, access: Access, verdict: Verdict, active: Active, new: tuple[Array, Array] | None
    ) -> None:  # fmt: skip
        bad, same = verdict.bad, np.zeros((), np.bool_)
        if new is not None and access.strength < BLOCK:
            (values, view), size = new, self._recorded.writes.size
            before = gather(view, access.unit, access.positions, size, access.size // size)
            given = in_granules(values, size, bad.shape[1:])
            left = left_by_warps(access, given, self._recorded.writes.indices(access, access.positions))
            equal = left == before  # it does not race with the plain store that left these bytes
            same = equal & ~verdict.strong
            verdict = verdict._replace(outside=np.where(equal, verdict.strong_outside, verdict.outside))
        self._report(access, verdict, bad & ~same, "wrote", active, write=True)
        self._report(access, verdict, bad & same, "wrote", active, write=True, kind=EQUAL)

    def _report_collisions(self, access: Access, again: _Mask, active: Active, values: Array | None) -> None:
        """Report threads that wrote to one address in the same instruction."""
        recorded = self._recorded
        stamps = np.broadcast_to(recorded.coding.stamps(recorded.encoded(access)), again.shape)
        granules = recorded.writes.indices(access, access.positions)
        found = Collisions(access, again, granules, self.order.threads_of(stamps))
        given = None if values is None else in_granules(values, recorded.writes.size, again.shape[1:])

        def other(at: tuple[int, ...]) -> list[int]:
            return [int(stamps[x]) for x in found.others(at)]

        for kind, bad in found.kinds(given, self.order.now.shape[1] * 32):
            self._check_time()
            if bad.any():
                self.report(Race(kind, access, bad, "writes", True, other), active)
