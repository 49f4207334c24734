# SPDX-License-Identifier: MIT
"""Barriers that count how long warps wait for each other, in instructions."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.barriers import Barriers, DecodedBarrier
from wmma_emu.ptx.machine.scheduler import Scheduler
from wmma_emu.ptx.profile.counting import Counting
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State


class WarpTimes:
    """The number of instructions that each warp of a wave has executed more than others of its block.

    A warp's time is the number of instructions that it has executed, as if each took one step of time; those that wait
    at a barrier continue at the time of the last one.
    """

    def __init__(self, blocks: int, warps: int) -> None:
        self._time = np.zeros((blocks, warps), np.int64)
        self._differ = False

    def advance(self, warps: NDArray[np.bool_], length: int) -> None:
        """Let some warps, but not all, execute instructions."""
        self._time += warps * np.int64(length)
        self._differ = True

    def meet(self, warps: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Let warps continue at the time of the last one of each block; return how long each waited, and which was
        last. None if none waited.

        Examples
        --------
        >>> times = WarpTimes(1, 3)
        >>> times.advance(np.array([[False, True, False]]), 20)
        >>> times.meet(np.ones((1, 3), bool))
        (array([[20,  0, 20]]), array([1]))
        """
        if not self._differ:
            return None
        given = np.where(warps, self._time, np.iinfo(np.int64).min)
        latest = given.max(axis=1, keepdims=True)
        waits = np.where(warps, latest - self._time, 0)
        self._time += waits
        self._differ = not warps.all()
        return (waits, given.argmax(axis=1)) if waits.any() else None


def _warps_of(threads: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the warps of some threads."""
    return np.asarray(threads.any(axis=-1))


class CountingBarriers(Barriers):
    """The barriers of a wave; the waits of its warps are counted."""

    def __init__(self, state: State, scheduler: Scheduler, counting: Counting, times: WarpTimes) -> None:
        super().__init__(state, scheduler)
        self._counting, self._times = counting, times

    def _complete_for_all(self, barrier: DecodedBarrier, pc: int) -> None:
        warps = _warps_of(self._state.live)
        self._count_waits(warps, [(barrier.instruction, warps)])
        super()._complete_for_all(barrier, pc)

    def _release(self, waiting: NDArray[np.bool_]) -> None:
        at = [
            (self._decoded[x].instruction, _warps_of(waiting & (self._barrier_index == x)))
            for x in np.unique(self._barrier_index[waiting]).tolist()
        ]
        self._count_waits(_warps_of(waiting), at)
        super()._release(waiting)

    def _count_waits(self, warps: NDArray[np.bool_], at: list[tuple[PtxInstruction, NDArray[np.bool_]]]) -> None:
        """Count the waits of warps, at the instruction at which each waits."""
        found = self._times.meet(warps)
        if found is not None:
            waits, last = found
            for instruction, here in at:
                self._counting.waited(instruction, np.where(here, waits, 0), last)
