# SPDX-License-Identifier: MIT
"""Threads that wait in loops for a value that no thread can write any more."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.scheduler import READY, Scheduler
from wmma_emu.ptx.program.program import PtxInstruction, SpecialRegister
from wmma_emu.ptx.program.special import CLOCKS
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.values import VALUE_STEPS
from wmma_emu.ptx.threads import Active, Array

_QUIET, _AGAIN = 2048, 4096
"""The number of basic blocks in sequence that only read memory until the state is kept, and until it is kept again.

It is kept after a basic block that polls, as it is compared: else a loop of two is never in the same place.
"""

_READING = {"ld", "ldu", "bra", "fence", "membar", "nanosleep"}
_WAITS = {"test_wait", "try_wait"}


def only_reads(instruction: PtxInstruction) -> bool:
    """Return whether an instruction changes only registers of its thread, and depends only on them and on memory."""
    clocks = any(isinstance(x, SpecialRegister) and x.name in CLOCKS for x in instruction.operands)
    if instruction.mnemonic == "mbarrier":
        return not _WAITS.isdisjoint(instruction.modifiers)
    return not clocks and (instruction.mnemonic in _READING or instruction.mnemonic in VALUE_STEPS)


class EndlessWaits:
    """Detects that a wave will never end, because all its threads wait.

    If all threads that can run have come back to the same instruction with the same registers, and no memory was
    written in between, this will happen again and again. ``reading`` are the pcs of the basic blocks that consist of
    instructions for which `only_reads` holds; ``polling`` those that read data which other threads may write.
    """

    def __init__(self, state: State, scheduler: Scheduler, reading: frozenset[int], polling: frozenset[int]) -> None:
        self._state, self._scheduler, self._reading, self._polling = state, scheduler, reading, polling
        self._quiet, self._kept_at = 0, 0
        self._kept: tuple[NDArray[np.int32], NDArray[np.int8], list[Array | None]] | None = None
        self._moved = np.zeros(0, np.bool_)

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
            self._keep()
            return False
        if self._kept is None:
            return False
        self._moved |= self._state.live if active is None else active
        return polls and self._is_same()

    def restart(self) -> None:
        """Begin again, because memory was written."""
        self._quiet, self._kept = 0, None

    def _keep(self) -> None:
        self._kept_at = self._quiet
        self._kept = *self._positions(), list(self._state.values)
        self._moved = np.zeros(self._state.shape, np.bool_)

    def _positions(self) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        scheduler, shape = self._scheduler, self._state.shape
        if scheduler.converged_pc is not None:
            return np.full(shape, scheduler.converged_pc, np.int32), np.full(shape, READY, np.int8)
        return scheduler.pc.copy(), scheduler.status.copy()

    def _is_same(self) -> bool:
        if self._kept is None:
            return False
        pc, status, values = self._kept
        now, status_now = self._positions()
        live = self._state.live
        if not (self._moved | ~live | (status_now != READY)).all():
            return False
        if not (((pc == now) & (status == status_now)) | ~live).all():
            return False
        return all(x is y or _are_equal(x, y, live) for x, y in zip(values, self._state.values, strict=True))


def _are_equal(one: Array | None, other: Array | None, live: NDArray[np.bool_]) -> bool:
    return one is not None and other is not None and bool(((one == other) | ~live).all())
