# SPDX-License-Identifier: MIT
"""Threads that wait in loops for a value that no thread can write any more."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.scheduler import READY, Scheduler
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.program.special import CLOCKS
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.values import VALUE_STEPS
from wmma_emu.ptx.threads import Active, Array

_QUIET, _AGAIN = 2048, 4096
"""The number of basic blocks in sequence that only read memory until the state is kept, and until it is kept again.

It is kept after a basic block that polls, as it is compared: else a loop of two is never in the same place.
"""

_STOPPED = 1024
"""The number of basic blocks during which the clock is stopped to see whether anything but the time changes."""

_FIRST_LEAP, _LAST_LEAP = 10, 50
"""The powers of two of the nanoseconds by which the clock is set forward: from a microsecond to two weeks."""

_SETTLING = 3
"""The number of rounds of a loop after which its registers depend only on the time at which the clock was stopped."""

_READING = {"ld", "ldu", "bra", "fence", "membar", "nanosleep"}
_WAITS = {"test_wait", "try_wait"}


def only_reads(instruction: PtxInstruction) -> bool:
    """Return whether an instruction changes only registers of its thread, and depends on them, memory and time only."""
    if instruction.mnemonic == "mbarrier":
        return not _WAITS.isdisjoint(instruction.modifiers)
    return instruction.mnemonic in _READING or instruction.mnemonic in VALUE_STEPS


class EndlessWaits:
    """Detects that a wave will never end, because all its threads wait.

    If all threads that can run have come back to the same instruction with the same registers, and no memory was
    written in between, this will happen again and again. Where loops read a clock, it is stopped for this comparison,
    and then set forward again and again, each time twice as far: a wait with a time limit ends.

    ``reading`` are the pcs of the basic blocks that consist of instructions for which `only_reads` holds; ``polling``
    those that read data which other threads may write.
    """

    def __init__(self, state: State, scheduler: Scheduler, reading: frozenset[int], polling: frozenset[int]) -> None:
        self._state, self._scheduler, self._reading, self._polling = state, scheduler, reading, polling
        self._quiet, self._kept_at = 0, 0
        self._kept: tuple[NDArray[np.int32], NDArray[np.int8], list[Array | None]] | None = None
        self._moved = np.zeros(0, np.bool_)
        self._reads_clock = not CLOCKS.isdisjoint(state.program.specials)
        self._leap, self._settling = _FIRST_LEAP, 0

    def is_reached(self, pc: int, active: Active) -> bool:
        """Return whether the wave will wait without end, after active threads have executed the basic block at a pc."""
        if pc not in self._reading:
            self.restart()
            return False
        self._quiet += 1
        if self._quiet < _QUIET:
            return False
        polls = pc in self._polling
        if polls and (self._kept is None or self._quiet - self._kept_at >= _AGAIN):
            self._settling = _SETTLING if self._reads_clock else 0
            self._keep()
            return False
        if self._kept is None:
            return False
        if self._reads_clock and self._quiet - self._kept_at >= _STOPPED:
            self._state.clock.resume(self._state.steps)
        self._moved |= self._state.live if active is None else active
        if not polls or not self._has_come_back():
            return False
        if not self._is_same():
            if self._settling:
                self._settling -= 1
                self._keep()
            return False
        return not self._reads_clock or not self._sets_clock_forward()

    def restart(self) -> None:
        """Begin again, because memory was written."""
        if self._kept is not None:
            self._state.clock.resume(self._state.steps)
            self._leap, self._settling = _FIRST_LEAP, 0
        self._quiet, self._kept = 0, None

    def _sets_clock_forward(self) -> bool:
        """Set the clock forward and compare again; return False if it was set forward far enough."""
        if self._leap > _LAST_LEAP:
            return False
        self._state.clock.leap(1 << self._leap)
        self._leap += 1
        self._settling = _SETTLING
        self._keep()
        return True

    def _keep(self) -> None:
        self._kept_at = self._quiet
        if self._reads_clock:
            self._state.clock.stop(self._state.steps)
        self._kept = *self._positions(), list(self._state.values)
        self._moved = np.zeros(self._state.shape, np.bool_)

    def _positions(self) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        scheduler, shape = self._scheduler, self._state.shape
        if scheduler.converged_pc is not None:
            return np.full(shape, scheduler.converged_pc, np.int32), np.full(shape, READY, np.int8)
        return scheduler.pc.copy(), scheduler.status.copy()

    def _has_come_back(self) -> bool:
        """Return whether all threads that can run have moved since the state was kept, and are there again."""
        if self._kept is None:
            return False
        pc, status, _ = self._kept
        now, status_now = self._positions()
        live = self._state.live
        has_moved = (self._moved | ~live | (status_now != READY)).all()
        return bool(has_moved and (((pc == now) & (status == status_now)) | ~live).all())

    def _is_same(self) -> bool:
        """Return whether all registers are as they were kept."""
        if self._kept is None:
            return False
        values, live = self._kept[2], self._state.live
        return all(x is y or _are_equal(x, y, live) for x, y in zip(values, self._state.values, strict=True))


def _are_equal(one: Array | None, other: Array | None, live: NDArray[np.bool_]) -> bool:
    return one is not None and other is not None and bool(((one == other) | ~live).all())
