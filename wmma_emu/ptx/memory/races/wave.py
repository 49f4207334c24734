# SPDX-License-Identifier: MIT
"""Races of one wave of blocks: on its shared memory, and on global memory, which all waves of a launch share."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.memory.races.launch import LaunchRaces
from wmma_emu.ptx.memory.races.race import SHARED
from wmma_emu.ptx.memory.races.region import Region
from wmma_emu.ptx.memory.races.reports import RaceReports
from wmma_emu.ptx.memory.races.sides import Sides
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.resolved_access import Access, ResolvedAccess
from wmma_emu.ptx.memory.windows import Window
from wmma_emu.ptx.threads import Active, Array, Threads

_COMMON = ("global", "shared")

_OFTEN = 8
"""Accesses to global memory after which the memory in use is counted again."""


class Moment(NamedTuple):
    """The time of an access: its stamps, and the times of the warps."""

    stamps: Array
    times: NDArray[np.int32]


class WaveRaces:
    """Records the accesses of a wave and compares them.

    ``other_bytes`` is the host memory that the wave uses otherwise.
    """

    def __init__(
        self, launch: LaunchRaces, shared: Window, order: CausalityOrder, reporter: Reporter, threads: Threads,
        other_bytes: int = 0,
    ) -> None:  # fmt: skip
        self._other_bytes, self._count = other_bytes, 0
        self._launch, self._order, self._reporter, self._threads = launch, order, reporter, threads
        self._shared_window, self._sides = shared, Sides()
        self._shared: Region | None = None
        self._now: Moment | None = None
        self.polls, self.locks = launch.polls, launch.locks
        if shared.size:
            report = RaceReports(
                order, reporter, threads, self._sides,
                lambda address, size: reporter.location("shared", address, size), lambda x: x % shared.stride,
                lambda: shared.flat, raced=launch.raced, numbers=self._numbers_in_shared,
            )  # fmt: skip
            self._shared = Region(
                0,
                len(shared.flat),
                order,
                report,
                is_of_block=True,
                origin=self._positions,
                check_time=launch.check_time,
            )

    def _positions(self, addresses: Array) -> NDArray[np.int64]:
        positions: NDArray[np.int64] = addresses.view(np.int64)
        return positions if self._shared_window.origin is None else positions + self._shared_window.origin

    def _numbers_in_shared(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number bytes of shared memory through all blocks of the launch."""
        block, offset = np.divmod(positions, self._shared_window.stride)
        return SHARED + self._threads.blocks[block] * self._shared_window.stride + offset

    def _numbers(self, space: str) -> "Callable[[NDArray[np.int64]], NDArray[np.int64]]":
        return self._numbers_in_shared if space == "shared" else lambda x: x

    def undefined_by_race(
        self, resolved: ResolvedAccess, undefined: Undefined | None, origins: Origins
    ) -> Undefined | None:
        """Return the bits of a load that are undefined: because it races, or because undefined bits were stored."""
        suspects = self._launch.suspects
        if suspects is None or resolved.space not in _COMMON:
            return undefined
        lost = suspects.lost(resolved, self._numbers(resolved.space), self._order, origins)
        if lost is None or undefined is None:
            return undefined if lost is None else lost
        return Undefined(lost.bits | undefined.bits, np.where(lost.bits != 0, lost.origin, undefined.origin))

    def now(self) -> Moment:
        """Return the current time."""
        stamps = self._order.stamps(None)
        if self._now is None or self._now.stamps is not stamps:
            self._now = Moment(stamps, self._order.now.copy())
        return self._now

    def _parts(self, resolved: ResolvedAccess, write: bool) -> list[tuple[Region, Sides, Access]]:
        access = resolved.access
        if resolved.space == "shared":
            return [] if self._shared is None else [(self._shared, self._sides, access)]
        if resolved.space != "global":
            return []
        if self._count % _OFTEN == 0:
            self._launch.require_memory(self._other_bytes)
        self._count += 1
        return self._launch.of(resolved.found, access, write, self._reporter, self._threads)

    def read(self, resolved: ResolvedAccess, active: Active) -> None:
        """Check and record a read."""
        for region, sides, access in self._parts(resolved, False):
            region.read(access, active)
            self._remember(sides, access, False, resolved)
        self._suspect(resolved, write=False)

    def check_write(self, resolved: ResolvedAccess, active: Active) -> None:
        """Check a write that is recorded when it arrives."""
        for region, _, access in self._parts(resolved, True):
            region.check_write(access, active)
        self._suspect(resolved, write=True, arrives=False)

    def write(
        self, resolved: ResolvedAccess, active: Active, values: Array | None, view: Callable[[int], Array]
    ) -> None:
        """Check and record a write of values, None if they are unknown; ``view`` returns the bytes before the write."""
        for region, sides, access in self._parts(resolved, True):
            region.write(access, active, values=values, view=None if values is None else view(access.unit))
            self._remember(sides, access, True, resolved)
        self._suspect(resolved, write=True)

    def arrive(self, resolved: ResolvedAccess, mask: Active, moment: Moment) -> None:
        """Record a write that was checked when it began, for the threads of a mask."""
        access = resolved.access._replace(mask=mask, stamps=moment.stamps, times=moment.times)
        for region, sides, part in self._parts(resolved._replace(access=access), True):
            region.arrive(part, mask)
            self._remember(sides, part, True, resolved)
        self._suspect(resolved._replace(access=access), write=True)

    def _suspect(self, resolved: ResolvedAccess, *, write: bool, arrives: bool = True) -> None:
        """Pass an access to the suspects, if there are any."""
        suspects, is_shared = self._launch.suspects, resolved.space == "shared"
        if suspects is None or resolved.space not in _COMMON:
            return
        numbers = self._numbers(resolved.space)
        if write:
            suspects.store(resolved.access, numbers, self._order, shared=is_shared, arrives=arrives)
        else:
            suspects.load(resolved.access, numbers, self._order, shared=is_shared)

    def observe(self, resolved: ResolvedAccess, turn: NDArray[np.intp] | None) -> None:
        """Record atomic operations that return the old value, in the order of the threads, or in the order ``turn``."""
        access = resolved.access
        stamps = self.now().stamps if access.stamps is None else access.stamps
        mask = np.broadcast_to(True if access.mask is None else access.mask, stamps.shape)
        positions, stamps = np.broadcast_to(access.positions, mask.shape)[mask], stamps[mask]
        if turn is not None:
            positions, stamps = positions[turn], stamps[turn]
        for region, _, part in self._parts(resolved, True):
            inside = slice(None) if part is access else region.has(positions)
            region.observe(positions[inside], access.size, stamps[inside])

    def _remember(self, sides: Sides, access: Access, write: bool, resolved: ResolvedAccess) -> None:
        if self.locks is not None:
            self.locks.accessed(access, resolved.space, write)
        origin = self._shared_window.origin if resolved.space == "shared" else None
        sides.remember(access, write, self._threads.blocks, origin)
