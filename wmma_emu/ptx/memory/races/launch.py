# SPDX-License-Identifier: MIT
"""Races on global memory: one region for each range of the heap that a launch may write, through all its waves."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.access_messages import location_in_heap
from wmma_emu.ptx.memory.address_map import Range
from wmma_emu.ptx.memory.footprint import require_within
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.locks import Locks
from wmma_emu.ptx.memory.races.race import RacedBytes
from wmma_emu.ptx.memory.races.region import Region
from wmma_emu.ptx.memory.races.reports import RaceReports
from wmma_emu.ptx.memory.races.sides import Sides
from wmma_emu.ptx.memory.races.suspects import Suspects
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.program.polling import NO_POLLS, Polls
from wmma_emu.ptx.program.written import Written
from wmma_emu.ptx.threads import Threads


class UnwatchedWriteError(Exception):
    """A store to a range of the heap that was expected to be only read: the launch restarts."""

    def __init__(self, found: frozenset[int]) -> None:
        super().__init__("a range is written that was expected to be only read")
        self.found = found


def ranges_written(heap: GlobalMemory, parameters: bytes, written: Written) -> frozenset[int]:
    """Return the indices of the heap's ranges that a launch may write, if they can be determined before it."""
    size, ranges = heap.size, heap.ranges
    if written.anything:
        return frozenset(range(len(ranges)))
    words = [int.from_bytes(parameters[x : x + 8], "little") for x in written.parameters]
    addresses = [heap.objects[x].address if x in heap.objects else x for x in words]
    positions = [x for address in addresses if 0 <= (x := heap.placement.position_of(address)) < size]
    positions += [heap.variables.position_at("global", x) for x in written.variables]
    return frozenset(found for x in positions if (found := heap.range_at(x)) >= 0)


class _Group(NamedTuple):
    """The first position of some ranges, and the end."""

    lo: int
    hi: int


_FEW_RANGES = 32
"""The number of ranges up to which each has its own region; the time of an access grows with the regions in it."""

_NEAR = 1 << 10
"""The bytes between ranges of one region: more than between arrays at host addresses, less than a red zone."""


def _groups_of(ranges: Sequence[Range]) -> list[_Group]:
    """Return the group of each range: the range itself, or, of many ranges, also those next to it.

    Examples
    --------
    >>> [(x.lo, x.hi) for x in _groups_of([Range(k * 512, k * 512 + 8, 0, True, "") for k in range(40)])[:2]]
    [(0, 19976), (0, 19976)]
    """
    groups = [_Group(r.lo, r.hi) for r in ranges]
    if len(groups) <= _FEW_RANGES:
        return groups
    merged: list[_Group] = []
    for group in groups:
        if merged and group.lo - merged[-1].hi < _NEAR:
            merged[-1] = merged[-1]._replace(hi=group.hi)
        else:
            merged.append(group)
    ends = [x.hi for x in merged]
    return [merged[bisect_left(ends, group.hi)] for group in groups]


class LaunchRaces:
    """The ranges of the heap that are watched for races, by their indices.

    ``watched`` is None to watch all ranges. All arrays are mapped. ``locks`` records which threads hold which locks,
    ``raced`` the bytes in races, and ``suspects`` all loads and stores of its bytes. ``check_time`` checks the time
    limit.
    """

    def __init__(
        self, heap: GlobalMemory, order: CausalityOrder, watched: frozenset[int] | None = None,
        polls: Polls = NO_POLLS, locks: Locks | None = None, raced: RacedBytes | None = None,
        suspects: Suspects | None = None, check_time: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.raced, self.suspects = raced, suspects
        for x in (raced, suspects):
            if x is not None:
                x.begin()
        if suspects is not None:
            suspects.check_time = check_time
        self._heap, self._order, self.polls, self.locks, self.check_time = heap, order, polls, locks, check_time
        ranges = heap.ranges
        self._groups = _groups_of(ranges)
        needed = {self._groups[i] for i in (range(len(ranges)) if watched is None else watched)}
        self.watched = frozenset(i for i, group in enumerate(self._groups) if group in needed)
        self._regions: dict[_Group, tuple[Region, Sides]] = {}

    def end_wave(self) -> None:
        """Record logged reads, since other blocks follow."""
        for region, _ in self._regions.values():
            region.end_wave()

    def require_memory(self, other_bytes: int) -> None:
        """Refuse to keep more than the launch may use; ``other_bytes`` are in use in addition to the arrays."""
        kept = sum(region.bytes for region, _ in self._regions.values())
        needed = self._heap.bytes_used + other_bytes + kept
        require_within(self._heap.limit, needed, "the launch's arrays, with the records of the check for races,")

    def of(
        self, found: int, access: Access, write: bool, reporter: Reporter, threads: Threads
    ) -> list[tuple[Region, Sides, Access]]:
        """Return the regions of an access, each with its sides and the part of the access in it.

        ``found`` is the range of the access, -1 for several. A write to a range that is not watched raises an
        `UnwatchedWriteError`.
        """
        if found >= 0:
            if found in self.watched:
                return [(*self._region(self._groups[found], reporter, threads), access)]
            if write and (access.mask is None or access.mask.any()):
                raise UnwatchedWriteError(frozenset((found,)))
            return []
        parts, lost = [], set[int]()
        used = np.ones((1, 1, 1), np.bool_) if access.mask is None else access.mask
        groups = {self._groups[i]: i for i in self._heap.ranges_at(access.positions)}
        for group, i in groups.items():
            if not write and i not in self.watched:
                continue
            mask: NDArray[np.bool_] = (access.positions >= group.lo) & (access.positions < group.hi) & used
            if not mask.any():
                continue
            if i in self.watched:
                positions = np.where(mask, access.positions, group.lo & -32)
                parts.append((*self._region(group, reporter, threads), access._replace(positions=positions, mask=mask)))
            else:
                lost.add(i)
        if lost:
            raise UnwatchedWriteError(frozenset(lost))
        return parts

    def _region(self, group: _Group, reporter: Reporter, threads: Threads) -> tuple[Region, Sides]:
        """Return the region of a group of ranges, and the accesses to it."""
        if group not in self._regions:
            size = group.hi - group.lo
            region = Region(
                group.lo, size, self._order, lambda race, active: None, is_of_block=False, check_time=self.check_time
            )
            self._regions[group] = region, Sides()
        region, sides = self._regions[group]
        if region.wave is not threads:
            region.wave = threads
            region.report = RaceReports(
                self._order, reporter, threads, sides,
                lambda address, size: location_in_heap(self._heap, address, size), self._heap.placement.address_at,
                lambda: self._heap.buffer, raced=self.raced,
            )  # fmt: skip
        return region, sides
