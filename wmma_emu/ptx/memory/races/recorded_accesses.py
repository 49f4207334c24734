# SPDX-License-Identifier: MIT
"""The recorded accesses of each granule: its last write and its last read, or chains of several unordered ones."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.races.access_chains import AccessChains
from wmma_emu.ptx.memory.races.coding import Coding
from wmma_emu.ptx.memory.races.comparison import Comparison, Verdict
from wmma_emu.ptx.memory.races.deferred_accesses import Entry
from wmma_emu.ptx.memory.races.granules import Granules, chosen_of
from wmma_emu.ptx.memory.races.joins import Joins
from wmma_emu.ptx.memory.races.unordered_blocks import put_reads
from wmma_emu.ptx.memory.resolved_access import WEAK, Access
from wmma_emu.ptx.threads import Array

_Mask = NDArray[np.bool_]


class RecordedAccesses:
    """The writes and the reads of some bytes, by granule; see `Comparison` for ``is_of_block``.

    The positions of an access are positions in this memory.
    """

    def __init__(
        self, base: int, size: int, order: CausalityOrder, *, is_of_block: bool, check_time: Callable[[], None]
    ) -> None:
        coding = Coding(np.dtype(np.uint32))
        self.compare = Comparison(
            order, coding, AccessChains(coding.dtype), is_of_block=is_of_block, check_time=check_time
        )
        self.joins = Joins(self.compare, check_time)
        self.writes, self.reads = (Granules(base, size, coding.dtype) for _ in range(2))
        self.by_parts, self._is_refined, self.smallest = False, False, 4
        self._last_encoded: tuple[Array, int, Array] | None = None

    @property
    def coding(self) -> Coding:
        """The encoding of the numbers of granules."""
        return self.compare.coding

    @property
    def chains(self) -> AccessChains:
        """The chains of unordered accesses."""
        return self.compare.chains

    @property
    def bytes(self) -> int:
        """Bytes of host memory in use."""
        return self.writes.bytes + self.reads.bytes + self.chains.bytes

    def refine(self, access: Access) -> None:
        """Split the granules to the size of an access."""
        smallest_wanted = min(access.size, access.unit)
        if smallest_wanted >= self.writes.size:
            return
        # Usually different threads write the bytes of a word in global memory, and one warp those in shared memory.
        if (
            self.compare.is_of_block
            and not self._is_refined
            and access.size == access.unit
            and access.positions.ndim == 3
        ):
            self.smallest, self.by_parts = min(self.smallest, smallest_wanted), True
        else:
            self.split(smallest_wanted)

    def split(self, smallest_wanted: int | None = None) -> None:
        """Keep one number for granules as small as any access was, rather than words by parts."""
        self.smallest = min(self.smallest, smallest_wanted or self.smallest)
        self.by_parts, self._is_refined = False, True
        self.writes.refine(self.smallest)
        self.reads.refine(self.smallest)

    def recorded(self, granules: Granules, access: Access) -> Array:
        """Read the numbers recorded for an access, 0 where no thread takes part; by parts, those of its words."""
        old = (granules.words if self.by_parts else granules.get)(access, access.positions)
        return old if access.mask is None else np.where(access.mask, old, old.dtype.type(0))

    def encoded(self, access: Access) -> Array:
        """Return the number of each thread's access."""
        stamps, last = access.stamps, self._last_encoded
        if stamps is None:
            raise TypeError("an access without stamps")
        if last is not None and last[0] is stamps and last[1] == access.strength:
            return last[2]
        coded = self._numbers(stamps, access.strength)
        self._last_encoded = stamps, access.strength, coded
        return coded

    def _numbers(self, stamps: Array, strength: int) -> Array:
        coding = self.coding
        if (stamps.dtype.itemsize > 4 and coding.dtype.itemsize == 4) or int(stamps.max()) > coding.largest:
            self._recode()
        return self.coding.access(stamps, strength)

    def put_deferred(self, granules: Granules, entries: list[Entry]) -> None:
        """Record deferred accesses together, for words without recorded accesses."""
        if not entries:
            return
        self.split()
        more = 4 // granules.size
        self._numbers(max((x.stamps for x in entries), key=lambda x: (x.dtype.itemsize, int(x.max()))), 0)
        words = np.concatenate([x.words for x in entries]).astype(np.int64) * more
        values = np.concatenate([self._numbers(x.stamps, x.strength) for x in entries])
        slots = (words + np.arange(more)[:, None]).reshape(-1)
        granules.extend(words * 4 // more + granules.base, 4)
        self.joins.put(granules, slots, np.tile(values, more), None)

    def _recode(self) -> None:
        old, new = self.coding, Coding(np.dtype(np.uint64))
        for granules in (self.writes, self.reads):
            granules.flat = new.recoded(granules.flat, old)
        self.compare.coding = new
        self._last_encoded = None
        self.chains.recode(lambda values: new.recoded(values, old))

    def put(self, granules: Granules, access: Access, own: Array, verdict: Verdict | None) -> _Mask | None:
        """Record an access together with those that the verdict keeps; return where several threads wrote at once."""
        positions = access.positions
        chosen, values = chosen_of(access, positions, own)
        if self.by_parts:
            if verdict is None and granules.put_parts(access, chosen, values):
                return None
            self.split()
        granules.put(access, chosen, values)
        now = granules.get(access, positions)
        clash = now != own
        if access.mask is not None:
            clash &= access.mask
        kept = None if verdict is None or not verdict.kept.any() else verdict.kept
        several = bool(clash.any())
        if not several and kept is None:
            return None
        shape = np.broadcast_shapes(clash.shape, own.shape, () if kept is None else kept.shape)
        concerned = np.broadcast_to(clash, shape)
        if kept is not None:
            concerned = concerned | kept
        slots = np.broadcast_to(granules.indices(access, positions), shape)
        if access.mask is not None:
            slots = np.where(access.mask, slots, np.int64(0))
        again = granules.are_among(slots, slots[concerned]) if several else concerned
        if access.mask is not None:
            again = again & access.mask
        joined = again
        if kept is not None and verdict is not None and verdict.observed is None and self.compare.are_blocks_unordered:
            full = again & kept & self.joins.are_full(verdict.old, access.strength)
            granules.flat[slots[full]] = verdict.old[full]
            joined = again & ~full
        if joined.any():
            old = (
                None
                if verdict is None or kept is None
                else np.where(kept, verdict.old, verdict.old.dtype.type(0))[joined]
            )
            self.joins.put(granules, slots[joined], np.broadcast_to(own, shape)[joined], old)
        return again if several else None

    def put_reads(self, access: Access) -> Access | None:
        """Record reads if blocks are unordered, where they meet reads of other blocks; return the remaining reads."""
        return put_reads(self.joins, self.reads, access, self.encoded(access))

    def forget(self, access: Access, verdict: Verdict) -> None:
        """Discard chains of reads that happen before a weak write: they happen before everything that follows it."""
        if access.strength != WEAK:
            return
        over = self.coding.are_chains(verdict.old)
        if over.any():
            slots = np.broadcast_to(self.reads.indices(access, access.positions), over.shape)
            self.reads.flat[slots[over & ~verdict.kept]] = 0
