# SPDX-License-Identifier: MIT
"""Late asynchronous operations that complete at an mbarrier: they do so when no thread can make progress otherwise."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.scheduler import READY, Scheduler
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active

_PATIENCE = 1024
"""The number of basic blocks that poll until an operation completes although threads do more than wait.

A loop that waits may read a clock or call printf.
"""


class LateCompletions:
    """Completes late operations of the blocks in which every thread waits.

    A thread waits if it is at a barrier, or if it has found the phase of an mbarrier incomplete and no thread of its
    block has done more than look since. Then the operations at the mbarriers for which threads wait complete, in the
    order in which they were issued. ``reading`` and ``polling`` are as for `EndlessWaits`.
    """

    def __init__(self, state: State, scheduler: Scheduler, reading: frozenset[int], polling: frozenset[int]) -> None:
        self._state, self._scheduler, self._reading, self._polling = state, scheduler, reading, polling
        self._polls = 0

    def after(self, pc: int, active: Active) -> bool:
        """Complete operations after active threads have executed the basic block at a pc; return whether any did."""
        barriers = self._state.memory.mbarriers
        if not barriers.late:
            self._polls = 0
            return False
        if pc not in self._reading:
            acted = slice(None) if active is None else active.any(axis=(1, 2))
            barriers.awaited[acted] = -1
        if pc not in self._polling:
            return False
        self._polls += 1
        waiting = self._waiting(barriers.awaited >= 0)
        any_completed = bool(waiting.any()) and barriers.complete_late(waiting, awaited_only=True)
        if any_completed:
            barriers.awaited[waiting] = -1
        elif self._polls >= _PATIENCE:
            any_completed = self.complete_all()
        if any_completed:
            self._polls = 0
        return any_completed

    def complete_all(self) -> bool:
        """Complete all operations, because no thread can make progress; return whether there were any."""
        every = np.ones(self._state.shape[0], np.bool_)
        return self._state.memory.mbarriers.complete_late(every, awaited_only=False)

    def _waiting(self, look: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the blocks all of whose threads wait, given the threads that only look at mbarriers."""
        waits = look | ~self._state.live
        if self._scheduler.converged_pc is None:
            waits |= self._scheduler.status != READY
        return np.asarray(waits.all(axis=(1, 2)) & look.any(axis=(1, 2)))
