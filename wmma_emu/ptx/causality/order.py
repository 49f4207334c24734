# SPDX-License-Identifier: MIT
"""The causality order between all threads of a launch: stamps of accesses, and which of them precede others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality.lane_meetings import LaneMeetings
from wmma_emu.ptx.causality.memory_order import MemoryOrder
from wmma_emu.ptx.causality.ordering import synchronises_through_memory
from wmma_emu.ptx.program.program import PtxInstruction

_Mask = NDArray[np.bool_]
_Stamps = NDArray[Any]
"""Stamps, of uint32 or uint64."""

_LANE_BITS = 5


class CausalityOrder(MemoryOrder):
    """The order of a launch: PTX ISA 9.1, Memory Consistency Model, Causality Order.

    An access is stamped with the number of its thread in the launch and the time of its warp; times begin at 1, and
    advance at each synchronisation of the warp. `unordered` returns where the access of a stamp is not known to happen
    before what a thread does now. One order lives through all waves of a launch; `begin` sets which blocks run.

    Stamps are numbers below 2**31, or below 2**63 from the time on that does not fit (`dtype`): the same numbers in
    wider words, so that stored ones are only widened.

    ``ends_barriers`` is whether the program has mbarrier.inval, for which the order of execution counts too: lanes that
    wait for each other in a shuffle, a vote or a match.

    ``uses_memory_order`` is whether anything may be released to words of memory and found there, see
    `synchronises_through_memory`: if not, strong accesses and fences cost nothing.

    Examples
    --------
    >>> order = CausalityOrder(2, 2)
    >>> order.begin(np.arange(2))
    >>> stamp = order.stamps()[0, 0, 3]
    >>> order.thread_of(stamp)
    (0, 0, 3)
    >>> unordered = order.unordered(np.full((2, 2, 32), stamp))
    >>> unordered[0, 0, 2:5], unordered[:, 1, 0]
    (array([ True, False,  True]), array([ True,  True]))
    >>> order.meet_all()
    >>> unordered = order.unordered(np.full((2, 2, 32), stamp))
    >>> unordered[0].any(), unordered[1].all()
    (np.False_, np.True_)
    """

    def __init__(self, blocks: int, warps: int, *, uses_memory_order: bool = True, ends_barriers: bool = False) -> None:
        self._ends_barriers, self._in_execution = ends_barriers, False
        self._meetings: LaneMeetings | None = None
        super().__init__(blocks, warps)
        self.uses_memory_order = uses_memory_order
        self.bits = max((blocks * warps * LANES - 1).bit_length(), 1)
        self.dtype: Any = np.uint32
        self._numbers: dict[Any, _Stamps] = {}
        self._actors: NDArray[np.intp] | None = None

    @property
    def are_blocks_unordered(self) -> bool:
        """Whether an access of one block never happens before an access of another."""
        return not self.uses_memory_order

    def begin(self, blocks: NDArray[np.int64]) -> None:
        """Set which blocks of the grid run from now on, all of whose threads start."""
        super().begin(blocks)
        self._meetings = LaneMeetings(self.now.shape) if self._ends_barriers else None
        first = np.asarray(blocks, np.uint64).reshape(-1, 1, 1) * np.uint64(self.warps)
        self._first = first
        warp = first + np.arange(self.warps, dtype=np.uint64).reshape(1, -1, 1)
        numbers = (warp << np.uint64(_LANE_BITS)) + np.arange(LANES, dtype=np.uint64)
        self._numbers = {np.uint64: numbers, np.uint32: numbers.astype(np.uint32)}

    @contextmanager
    def acting(self, lanes: NDArray[np.intp]) -> Iterator[None]:
        """Let one lane of each warp, (G, W), act for all lanes, which access memory for a copy that this lane issued.

        Examples
        --------
        >>> order = CausalityOrder(1, 1)
        >>> order.begin(np.arange(1))
        >>> with order.acting(np.array([[3]])):
        ...     stamp = order.stamps()[0, 0, 7]
        >>> order.thread_of(stamp)
        (0, 0, 3)
        """
        numbers, index = self._numbers, lanes[..., None]
        self._numbers = {
            kind: np.broadcast_to(np.take_along_axis(x, index, axis=2), x.shape) for kind, x in numbers.items()
        }
        self._stamps, self._actors = None, lanes
        try:
            yield
        finally:
            self._numbers, self._stamps, self._actors = numbers, None, None

    def lanes_met(self, together: NDArray[np.uint32]) -> None:
        """Record with which lanes each lane executes an instruction that waits for them, 0 for other lanes."""
        if self._meetings is not None:
            self.tick(self._meetings.note(together, self.now), learns=False)

    @contextmanager
    def in_execution(self) -> Iterator[None]:
        """Count an access as ordered if its lane has waited for one that is, in an instruction of the warp.

        PTX does not order memory accesses by such an instruction. But it states when lanes continue, and that is what
        matters for the end of an mbarrier: that no instruction uses it any more.
        """
        self._in_execution = self._meetings is not None
        try:
            yield
        finally:
            self._in_execution = False

    def _executed_before(
        self, owners: NDArray[np.int64], times: NDArray[np.int64], threads: NDArray[np.int64]
    ) -> _Mask:  # fmt: skip
        """Return which accesses of this wave precede what threads do now, because their lanes met one whose do."""
        found = np.zeros(len(owners), np.bool_)
        first = self._first[:, 0, 0].astype(np.int64)
        order = np.argsort(first)
        g = order[np.searchsorted(first, owners // LANES, side="right", sorter=order) - 1]
        w, meetings = owners // LANES - first[g], self._meetings
        at = np.flatnonzero((w >= 0) & (w < self.warps))
        if meetings is None or not len(at):
            return found
        self._in_execution = False  # whether a lane knows of a meeting is a question of the order of memory
        for time, lanes in meetings.since(g[at], w[at], owners[at] % LANES, times[at]):
            for lane in range(LANES):
                met = np.flatnonzero(lanes >> np.uint32(lane) & 1)
                stamps = time[met] << self.bits | owners[at[met]] // LANES * LANES + lane
                found[at[met]] |= ~self.unordered_for(stamps.astype(np.uint64), threads[at[met]])
        self._in_execution = True
        return found

    def acting_lane(self, at: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return the block, the warp and the lane that acts for the one at an index, (..., block, warp, lane)."""
        block, warp, lane = at[-3:]
        return (block, warp, lane if self._actors is None else self._actors[block, warp])

    def know_others(self, threads: NDArray[np.int64]) -> _Mask:
        """Return which threads of the wave, or the lanes that act for them, may know of accesses of other blocks."""
        if self._actors is not None:
            warps = threads // LANES
            threads = warps * LANES + self._actors.reshape(-1)[warps]
        return super().know_others(threads)

    def stamps(self, active: NDArray[np.bool_] | None = None) -> _Stamps:
        """Return the stamp of an access by each thread now; 0, which means "never", for threads that are not active.

        The stamps are of ``dtype``, (G, W, 32), and read-only.
        """
        if self._stamps is None:
            if int(self.now.max()) >> (31 - self.bits if self.bits < 31 else 0):
                self.dtype = np.uint64
            times = self.now.astype(self.dtype)[..., None] << self.dtype(self.bits)
            self._stamps = times | self._numbers[self.dtype]
            self._stamps.flags.writeable = False
        found = self._stamps
        return found if active is None else np.where(active, found, found.dtype.type(0))

    def unordered(self, stamps: _Stamps) -> NDArray[np.bool_]:
        """Return where the access of a stamp is not known to happen before what the thread at this index does now.

        Stamps broadcast to (..., G, W, 32). A thread's own accesses, and the stamp 0, precede everything.
        """
        kind = stamps.dtype.type
        threads = stamps & kind((1 << self.bits) - 1)
        found: NDArray[np.bool_] = (threads != self._numbers[kind]) & (stamps != 0)
        if not found.any():
            return found
        times = stamps >> kind(self.bits)
        warps = (threads >> kind(_LANE_BITS)) - self._first.astype(kind)
        in_wave = warps < kind(self.warps)
        found &= ~(in_wave & (times <= self.known_times(np.where(in_wave, warps, kind(0)).astype(np.int64))))
        if self.knows_lanes and found.any():
            found &= ~self._known_by_lanes(threads, times, found)
        if self._in_execution and found.any():
            at = np.nonzero(found)
            who = np.ravel_multi_index(at[-3:], (*self.now.shape, LANES))
            owners, then = (np.broadcast_to(x, found.shape)[at].astype(np.int64) for x in (threads, times))
            found[at] = ~self._executed_before(owners, then, who)
        return found

    def _known_by_lanes(self, threads: _Stamps, times: _Stamps, queried: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the ``queried`` accesses single lanes know, although not all lanes of their warp do."""
        out = np.zeros(queried.shape, np.bool_)
        at = np.nonzero(queried)
        shape = queried.shape
        out[at] = self.lanes_know(
            self.acting_lane(at),
            np.broadcast_to(threads, shape)[at].astype(np.int64),
            np.broadcast_to(times, shape)[at].astype(np.int64),
        )  # fmt: skip
        return out

    def unordered_for(self, stamps: _Stamps, threads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the same for a list of accesses, each with a thread of the current wave, counted from 0."""
        kind = stamps.dtype.type
        g, w, lane = np.unravel_index(threads, (*self.now.shape, LANES))
        owners = stamps & kind((1 << self.bits) - 1)
        found: NDArray[np.bool_] = (owners != self._numbers[kind][g, w, lane]) & (stamps != 0)
        times = stamps >> kind(self.bits)
        warps = (owners >> kind(_LANE_BITS)) - self._first.astype(kind)[g, 0, 0]
        in_wave = warps < kind(self.warps)
        found &= ~(in_wave & (times <= self.known[g, w, np.where(in_wave, warps, kind(0)).astype(np.int64)]))
        if self.knows_lanes and found.any():
            at = np.flatnonzero(found)
            which = self.acting_lane((g[at], w[at], lane[at]))
            found[at] = ~self.lanes_know(which, owners[at].astype(np.int64), times[at].astype(np.int64))
        if self._in_execution and found.any():
            at = np.flatnonzero(found)
            found[at] = ~self._executed_before(owners[at].astype(np.int64), times[at].astype(np.int64), threads[at])
        return found

    def threads_of(self, stamps: _Stamps) -> NDArray[np.int64]:
        """Return the thread numbers of stamps in the whole launch."""
        return np.asarray((stamps & stamps.dtype.type((1 << self.bits) - 1)).astype(np.int64))

    def thread_of(self, stamp: int | np.unsignedinteger) -> tuple[int, int, int]:
        """Return the thread of a stamp: its block in the grid, its warp in the block, its lane."""
        thread = int(stamp) & ((1 << self.bits) - 1)
        warp = thread >> _LANE_BITS
        return warp // self.warps, warp % self.warps, thread % LANES

    def time(self, stamps: _Stamps) -> _Stamps:
        """Return the times of stamps: in one warp, an earlier access never has a later time."""
        found: _Stamps = stamps >> stamps.dtype.type(self.bits)
        return found


def _keep_nothing(self: CausalityOrder, *_: Any, **__: Any) -> None:
    """Ignore the call, since races are not checked."""


class _DisabledOrder(CausalityOrder):
    meet_all = meet = meet_warpgroups = complete = arrive = learn = meet_lanes = see_released = _keep_nothing

    def release(self, participants: _Mask, live: _Mask, *, relaxed: bool = False) -> tuple[NDArray[np.int32], None]:
        return np.zeros_like(self.now), None


def order_of_launch(
    blocks: int, warps: int, instructions: Sequence[PtxInstruction], *, is_used: bool = True
) -> CausalityOrder:  # fmt: skip
    """Make the order of a launch of ``blocks`` blocks with ``warps`` warps each.

    ``instructions`` is the program, which determines whether threads can synchronise through words of memory. Unless
    the order ``is_used`` (races are checked), it keeps nothing, and must not be queried.
    """
    if not is_used:
        return _DisabledOrder(blocks, warps, uses_memory_order=False)
    return CausalityOrder(
        blocks, warps, uses_memory_order=synchronises_through_memory(instructions),
        ends_barriers=any(x.mnemonic == "mbarrier" and "inval" in x.modifiers for x in instructions),
    )  # fmt: skip
