# SPDX-License-Identifier: MIT
"""The control state of a wave of blocks: the pc of each thread, what it waits for, and its callers."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.barriers import Barriers
from wmma_emu.ptx.machine.call_stack import CallStack
from wmma_emu.ptx.machine.scheduler import AT_WARP, Scheduler
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active


class Synchronising(Protocol):
    """An instruction at which lanes of a warp wait for each other."""

    def missing(self, execution: "ControlState", participants: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the lanes that these lanes wait for."""

    def force_reconverge(self, execution: "ControlState", participants: NDArray[np.bool_]) -> None:
        """Let lanes continue although other lanes, which cannot arrive, are missing."""


class ControlState:
    """The control state of the threads of a wave, which terminators change.

    ``synchronising`` are the instructions at which lanes of a warp wait for each other, by their pcs. ``completed`` is
    False once a deadlock or a trap has ended the launch; ``instructions`` counts the instructions that the threads have
    executed, one for each thread.
    """

    def __init__(
        self, state: State, order: Order | None, spinning: frozenset[int], exiting: tuple[int, ...],
        synchronising: Mapping[int, Synchronising],
    ) -> None:  # fmt: skip
        self.program, self.state, self.synchronising = state.program, state, synchronising
        self.scheduler = Scheduler(state, spinning, order)
        self.barriers = Barriers(state, self.scheduler)
        self.completed = True
        self.instructions = 0
        self._exiting = exiting
        self._awaited = np.zeros(state.shape, np.bool_)
        self.calls = CallStack(state)

    def exit(self, active: Active) -> None:
        """Let the active threads exit; a barrier that waited only for them completes."""
        self.scheduler.exit(active)
        self.scheduler.wake(active)
        if self.barriers.has_waiting_threads:
            self.barriers.complete()

    def at_warp(self) -> NDArray[np.bool_]:
        """Return which threads wait for lanes of their warp."""
        if self.scheduler.converged_pc is not None:
            return np.zeros(self.state.shape, np.bool_)
        return np.asarray(self.state.live & (self.scheduler.status == AT_WARP))

    def await_lanes(self, missing: NDArray[np.bool_]) -> None:
        """Record lanes that others of their warp wait for, except those that are about to exit."""
        if missing.any():
            self._awaited |= missing & ~np.isin(self.scheduler.pc, self._exiting)

    def lanes_that_bypassed(self, participants: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the lanes that warps waited for and that have exited instead, and stop waiting for them."""
        warps = participants.any(axis=-1, keepdims=True)
        passed = self._awaited & warps & ~self.state.live
        self._awaited &= ~warps
        return np.asarray(passed)

    def abort(self) -> None:
        """End the launch."""
        self.completed = False
        self.state.live = np.zeros(self.state.shape, np.bool_)
        self.scheduler.exit(None)
