# SPDX-License-Identifier: MIT
"""Races of one chunk of blocks: on its shared memory, and on global memory, which all chunks of a launch share."""

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

_OFTEN = 16
"""Accesses to global memory after which it is counted anew what is kept of them."""


class Moment(NamedTuple):
    """When an access is made: its stamps, and the times of the warps."""

    stamps: Array
    times: NDArray[np.int32]


class WaveRaces:
    """Notes the accesses of a chunk and compares them; ``beside`` is what the chunk takes of the host's memory."""

    def __init__(
        self, launch: LaunchRaces, shared: Window, order: CausalityOrder, reporter: Reporter, threads: Threads,
        beside: int = 0,
    ) -> None:  # fmt: skip
        self._beside, self._count = beside, 0
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
                0, len(shared.flat), order, report, is_of_block=True, origin=self._positions, look=launch.look
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

    def doubted(self, reached: ResolvedAccess, undefined: Undefined | None, origins: Origins) -> Undefined | None:
        """Say which bits of a load are undefined: because it is in a race, or because of what was stored there."""
        suspects = self._launch.suspects
        if suspects is None or reached.space not in _COMMON:
            return undefined
        lost = suspects.lost(reached, self._numbers(reached.space), self._order, origins)
        if lost is None or undefined is None:
            return undefined if lost is None else lost
        return Undefined(lost.bits | undefined.bits, np.where(lost.bits != 0, lost.origin, undefined.origin))

    def now(self) -> Moment:
        """Return the present moment."""
        stamps = self._order.stamps(None)
        if self._now is None or self._now.stamps is not stamps:
            self._now = Moment(stamps, self._order.now.copy())
        return self._now

    def _parts(self, reached: ResolvedAccess, write: bool) -> list[tuple[Region, Sides, Access]]:
        touch = reached.access
        if reached.space == "shared":
            return [] if self._shared is None else [(self._shared, self._sides, touch)]
        if reached.space != "global":
            return []
        if self._count % _OFTEN == 0:
            self._launch.require_memory(self._beside)
        self._count += 1
        return self._launch.of(reached.found, touch, write, self._reporter, self._threads)

    def read(self, reached: ResolvedAccess, active: Active) -> None:
        """Check and note a read."""
        for region, sides, touch in self._parts(reached, False):
            region.read(touch, active)
            self._remember(sides, touch, False, reached)
        self._suspect(reached, write=False)

    def check_write(self, reached: ResolvedAccess, active: Active) -> None:
        """Check a write that is noted when it arrives."""
        for region, _, touch in self._parts(reached, True):
            region.check_write(touch, active)
        self._suspect(reached, write=True, arrives=False)

    def write(
        self, reached: ResolvedAccess, active: Active, values: Array | None, view: Callable[[int], Array]
    ) -> None:
        """Check and note a write of values, None where they are not known; ``view`` gives the bytes before it."""
        for region, sides, touch in self._parts(reached, True):
            region.write(touch, active, values=values, view=None if values is None else view(touch.unit))
            self._remember(sides, touch, True, reached)
        self._suspect(reached, write=True)

    def arrive(self, reached: ResolvedAccess, mask: Active, moment: Moment) -> None:
        """Note a write that was checked when it began, for the threads of a mask."""
        touch = reached.access._replace(mask=mask, stamps=moment.stamps, times=moment.times)
        for region, sides, part in self._parts(reached._replace(access=touch), True):
            region.arrive(part, mask)
            self._remember(sides, part, True, reached)
        self._suspect(reached._replace(access=touch), write=True)

    def _suspect(self, reached: ResolvedAccess, *, write: bool, arrives: bool = True) -> None:
        """Tell of an access whoever asks who races with whom."""
        suspects, is_shared = self._launch.suspects, reached.space == "shared"
        if suspects is None or reached.space not in _COMMON:
            return
        numbers = self._numbers(reached.space)
        if write:
            suspects.store(reached.access, numbers, self._order, shared=is_shared, arrives=arrives)
        else:
            suspects.load(reached.access, numbers, self._order, shared=is_shared)

    def observe(self, reached: ResolvedAccess, turn: NDArray[np.intp] | None) -> None:
        """Note atomic operations that return what they find, in the order of the threads, or in another ``turn``."""
        touch = reached.access
        stamps = self.now().stamps if touch.stamps is None else touch.stamps
        mask = np.broadcast_to(True if touch.mask is None else touch.mask, stamps.shape)
        positions, stamps = np.broadcast_to(touch.positions, mask.shape)[mask], stamps[mask]
        if turn is not None:
            positions, stamps = positions[turn], stamps[turn]
        for region, _, part in self._parts(reached, True):
            inside = slice(None) if part is touch else region.has(positions)
            region.observe(positions[inside], touch.size, stamps[inside])

    def _remember(self, sides: Sides, touch: Access, write: bool, reached: ResolvedAccess) -> None:
        if self.locks is not None:
            self.locks.accessed(touch, reached.space, write)
        origin = self._shared_window.origin if reached.space == "shared" else None
        sides.remember(touch, write, self._threads.blocks, origin)
