# SPDX-License-Identifier: MIT
"""Races of one chunk of blocks: on its shared memory, and on global memory, which all chunks of a launch share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.races.launch import LaunchRaces
from wmma_emu.ptx.memory.races.region import Region
from wmma_emu.ptx.memory.races.reports import RaceReports
from wmma_emu.ptx.memory.races.sides import Sides
from wmma_emu.ptx.memory.races.touch import Order, Touch
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.windows import Window
from wmma_emu.ptx.threads import Active, Array, Threads

if TYPE_CHECKING:
    from wmma_emu.ptx.memory.reach import Reached

__all__ = ["ChunkRaces", "Moment"]


class Moment(NamedTuple):
    """When an access is made: its stamps, and the times of the warps."""

    stamps: Array
    times: NDArray[np.int32]


class ChunkRaces:
    """Notes the accesses of a chunk and compares them."""

    def __init__(
        self, launch: LaunchRaces, shared: Window, order: Order, reporter: Reporter, threads: Threads
    ) -> None:  # fmt: skip
        self._launch, self._order, self._reporter, self._threads = launch, order, reporter, threads
        self._shared_window, self._sides = shared, Sides()
        self._shared: Region | None = None
        self._now: Moment | None = None
        self.polls, self.locks = launch.polls, launch.locks
        if shared.size:
            report = RaceReports(
                order, reporter, threads, self._sides, lambda x: reporter.place("shared", x),
                lambda x: x % shared.stride,
            )  # fmt: skip
            self._shared = Region(
                0, len(shared.flat), order, report, is_of_block=True, origin=self._positions, look=launch.look
            )

    def _positions(self, addresses: Array) -> NDArray[np.int64]:
        positions: NDArray[np.int64] = addresses.view(np.int64)
        return positions if self._shared_window.origin is None else positions + self._shared_window.origin

    def now(self) -> Moment:
        """Return the present moment."""
        stamps = self._order.stamps(None)
        if self._now is None or self._now.stamps is not stamps:
            self._now = Moment(stamps, self._order.now.copy())
        return self._now

    def _parts(self, reached: "Reached", write: bool) -> list[tuple[Region, Sides, Touch]]:
        touch = reached.touch
        if reached.space == "shared":
            return [] if self._shared is None else [(self._shared, self._sides, touch)]
        if reached.space != "global":
            return []
        found = self._launch.of(reached.found, touch, write, self._reporter, self._threads)
        return [(region, self._launch.sides_of(region), part) for region, part in found]

    def read(self, reached: "Reached", active: Active) -> None:
        """Check and note a read."""
        for region, sides, touch in self._parts(reached, False):
            region.read(touch, active)
            self._remember(sides, touch, False, reached)

    def check_write(self, reached: "Reached", active: Active) -> None:
        """Check a write that is noted when it arrives."""
        for region, _, touch in self._parts(reached, True):
            region.check_write(touch, active)

    def write(self, reached: "Reached", active: Active, values: Array | None, view: Callable[[int], Array]) -> None:
        """Check and note a write of values, None where they are not known; ``view`` gives the bytes before it."""
        for region, sides, touch in self._parts(reached, True):
            region.write(touch, active, values=values, view=None if values is None else view(touch.unit))
            self._remember(sides, touch, True, reached)

    def arrive(self, reached: "Reached", mask: Active, moment: Moment) -> None:
        """Note a write that was checked when it began, for the threads of a mask."""
        touch = reached.touch._replace(mask=mask, stamps=moment.stamps, times=moment.times)
        for region, sides, part in self._parts(reached._replace(touch=touch), True):
            region.arrive(part, mask)
            self._remember(sides, part, True, reached)

    def observe(self, reached: "Reached", turn: NDArray[np.intp] | None) -> None:
        """Note atomic operations that return what they find, in the order of the threads, or in another ``turn``."""
        touch = reached.touch
        stamps = self.now().stamps if touch.stamps is None else touch.stamps
        mask = np.broadcast_to(True if touch.mask is None else touch.mask, stamps.shape)
        positions, stamps = np.broadcast_to(touch.positions, mask.shape)[mask], stamps[mask]
        if turn is not None:
            positions, stamps = positions[turn], stamps[turn]
        for region, _, part in self._parts(reached, True):
            inside = slice(None) if part is touch else region.has(positions)
            region.observe(positions[inside], touch.size, stamps[inside])

    def _remember(self, sides: Sides, touch: Touch, write: bool, reached: "Reached") -> None:
        if self.locks is not None:
            self.locks.accessed(touch, reached.space, write)
        if reached.space == "shared":
            few = self._shared_window.origin
            sides.remember(touch, write, self._threads.blocks, few)
        else:
            sides.remember(touch, write, self._threads.blocks)
