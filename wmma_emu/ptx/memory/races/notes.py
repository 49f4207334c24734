# SPDX-License-Identifier: MIT
"""What is noted of each granule: its last write and its last read, or chains of several that nothing orders."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.races.apart import put_reads
from wmma_emu.ptx.memory.races.coding import Coding
from wmma_emu.ptx.memory.races.comparison import Comparison, Verdict
from wmma_emu.ptx.memory.races.crowds import Crowds
from wmma_emu.ptx.memory.races.granules import Granules, chosen_of
from wmma_emu.ptx.memory.races.joins import Joins
from wmma_emu.ptx.memory.races.listed import Entry
from wmma_emu.ptx.memory.resolved_access import WEAK, Access
from wmma_emu.ptx.threads import Array

_Mask = NDArray[np.bool_]


class Notes:
    """The writes and the reads of some bytes, by granule; see `Comparison` for ``is_of_block``.

    The positions of a touch are those of its bytes in all that is noted here.
    """

    def __init__(
        self, base: int, size: int, order: CausalityOrder, *, is_of_block: bool, look: Callable[[], None]
    ) -> None:
        coding = Coding(np.dtype(np.uint32))
        self.compare = Comparison(order, coding, Crowds(coding.dtype), is_of_block=is_of_block, look=look)
        self.joins = Joins(self.compare, look)
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

    def refine(self, touch: Access) -> None:
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

    def noted(self, granules: Granules, touch: Access) -> Array:
        """Read what is noted where an access goes to, 0 where no thread takes part: by parts, of its words."""
        old = (granules.words if self.by_parts else granules.get)(touch, touch.positions)
        return old if touch.mask is None else np.where(touch.mask, old, old.dtype.type(0))

    def coded(self, touch: Access) -> Array:
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
        self.joins.put(granules, slots, np.tile(values, more), None)

    def _recode(self) -> None:
        old, new = self.coding, Coding(np.dtype(np.uint64))
        for granules in (self.writes, self.reads):
            granules.flat = new.recoded(granules.flat, old)
        self.compare.coding = new
        self._last_coded = None
        self.crowds.recode(lambda values: new.recoded(values, old))

    def put(self, granules: Granules, touch: Access, mine: Array, verdict: Verdict | None) -> _Mask | None:
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
        joined = again
        if kept is not None and verdict is not None and verdict.observed is None and self.compare.is_apart:
            full = again & kept & self.joins.are_full(verdict.old, touch.strength)
            granules.flat[slots[full]] = verdict.old[full]
            joined = again & ~full
        if joined.any():
            old = (
                None
                if verdict is None or kept is None
                else np.where(kept, verdict.old, verdict.old.dtype.type(0))[joined]
            )
            self.joins.put(granules, slots[joined], np.broadcast_to(mine, shape)[joined], old)
        return again if several else None

    def put_reads(self, touch: Access) -> Access | None:
        """Note reads where blocks are apart, as far as they meet those of other blocks; return what is left to note."""
        return put_reads(self.joins, self.reads, touch, self.coded(touch))

    def forget(self, touch: Access, verdict: Verdict) -> None:
        """Forget chains of reads that come before a weak write: whatever it is ordered before, they are."""
        if touch.strength != WEAK:
            return
        over = self.coding.are_chains(verdict.old)
        if over.any():
            slots = np.broadcast_to(self.reads.places(touch, touch.positions), over.shape)
            self.reads.flat[slots[over & ~verdict.kept]] = 0
