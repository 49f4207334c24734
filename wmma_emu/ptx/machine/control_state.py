# SPDX-License-Identifier: MIT
"""How far the threads of a chunk of blocks have come: where each is, what it waits for, and whence it was called."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.barriers import Barriers
from wmma_emu.ptx.machine.scheduler import Scheduler
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active


class Synchronising(Protocol):
    """An instruction at which lanes of a warp wait for each other."""

    def missing(self, execution: "ControlState", who: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Find the lanes for which others wait."""

    def force_reconverge(self, execution: "ControlState", who: NDArray[np.bool_]) -> None:
        """Let lanes go on although others are missing that cannot come."""


class ControlState:
    """The threads of a chunk on their way: what sends them on, or lets them wait, is given this.

    ``synchronising`` are the instructions at which lanes of a warp wait for each other, by their places. ``completed``
    is False once a deadlock or a trap has ended it; ``instructions`` is what the threads have executed, each by itself.
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
        self._callers: list[NDArray[np.int32]] = []
        self._depth = np.zeros(state.shape, np.int32)

    def exit(self, active: Active) -> None:
        """Let the active threads exit; a barrier may have waited for them alone."""
        self.scheduler.exit(active)
        self.scheduler.wake(active)
        if self.barriers.is_waited_at:
            self.barriers.complete()

    def await_lanes(self, missing: NDArray[np.bool_]) -> None:
        """Remember lanes that others of their warp wait for, but for those that are about to exit."""
        if missing.any():
            self._awaited |= missing & ~np.isin(self.scheduler.pc, self._exiting)

    def lanes_that_passed_by(self, who: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Find the lanes that warps waited for and that have exited instead; nobody waits for them any more."""
        warps = who.any(axis=-1, keepdims=True)
        passed = self._awaited & warps & ~self.state.live
        self._awaited &= ~warps
        return np.asarray(passed)

    def abort(self) -> None:
        """End the launch here."""
        self.completed = False
        self.state.live = np.zeros(self.state.shape, np.bool_)
        self.scheduler.exit(None)

    def push_call(self, active: Active, pc: int) -> None:
        """Remember where the active threads call a function."""
        who = np.broadcast_to(self.state.live if active is None else active, self.state.shape)
        for depth in np.unique(self._depth[who]).tolist():
            if depth == len(self._callers):
                self._callers.append(np.zeros(self.state.shape, np.int32))
            self._callers[depth][who & (self._depth == depth)] = pc
        self._depth[who] += 1

    def pop_calls(self, active: Active) -> Iterator[tuple[int, Active]]:
        """Give the calls from which the active threads return, each with its threads."""
        who = np.broadcast_to(self.state.live if active is None else active, self.state.shape)
        self._depth[who] -= 1
        callers = np.take_along_axis(
            np.stack(self._callers), np.minimum(self._depth, len(self._callers) - 1)[None], axis=0
        )[0]
        pcs = np.unique(callers[who]).tolist()
        if len(pcs) == 1:
            yield pcs[0], active
            return
        for pc in pcs:
            yield pc, who & (callers == pc)
