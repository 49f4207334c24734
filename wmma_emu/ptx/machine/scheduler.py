# SPDX-License-Identifier: MIT
"""The pc of each thread, and the choice of the threads that run next: those at the lowest pc, all together.

Compilers lay code out so that this brings diverged threads together again where their paths meet. A thread that waits
for another thread in a loop would stay at the lowest pc indefinitely: after a while every pc gets its turn.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active

READY, AT_WARP, AT_BARRIER = 0, 1, 2
"""States of a thread: it may continue, waits for lanes of its warp, or waits at a barrier."""

_NOWHERE = np.int32(2**31 - 1)
PATIENCE = 1024
PATIENCE_WITH_SPINNING = 16
TURNS = 64
"""The number of times that the lowest pc may be picked while other threads wait: where a loop that waits for them is
unlikely, and where it is likely; and the number of turns that the other pcs get then."""


class Scheduler:
    """The pc of every thread: the index of the instruction that it executes next.

    ``spinning`` are the pcs at which threads may wait for others in a loop.

    ``converged_pc`` is the pc of all live threads if they share one and none of them waits, else None: then ``pc``
    holds the pc of each thread, and ``status`` its state, (G, W, 32).
    """

    def __init__(self, state: State, spinning: frozenset[int], order: Order | None = None) -> None:
        self._state, self._spinning = state, spinning
        self._rng = order if isinstance(order, np.random.Generator) else None
        self._highest_first = order is not None and self._rng is None
        self.converged_pc: int | None = 0
        self.pc = np.zeros(state.shape, np.int32)
        self.status = np.zeros(state.shape, np.int8)
        self._everyone = bool(state.live.all())
        self._last: dict[int, int] = {}
        self._picks = self._turns = 0
        self._patience = PATIENCE
        self._rank: NDArray[np.int32] | None = None
        self._pc_at: list[int] = []
        self._drawn: NDArray[np.bool_] | None = None
        self._drawn_for = 0

    def run_functions_first(self, functions: Sequence[tuple[str, int, int]]) -> None:
        """Let threads in functions run before those in their callers, so that they return together.

        ``functions`` are the ranges of the kernel and of its functions, which follow their first caller.
        """
        order = [pc for _, first, behind in reversed(functions) for pc in range(first, behind)]
        self._pc_at = [*order, len(order)]
        self._rank = np.empty(len(order) + 1, np.int32)
        self._rank[self._pc_at] = np.arange(len(order) + 1, dtype=np.int32)

    def pick(self) -> tuple[int, Active] | None:
        """Choose a pc and return it with the threads there; None if no thread may run.

        Threads that wait at the pc for other lanes of their warp are among them.
        """
        state = self._state
        if not self._everyone and not state.live.any():
            return None
        if self.converged_pc is not None and self._rng is None:
            return self.converged_pc, None if self._everyone else state.live
        self._separate()
        ready = state.live & (self.status == READY)
        pcs = np.where(ready, self.pc if self._rank is None else self._rank[self.pc], _NOWHERE)
        if self._rng is not None:
            pcs = self._draw(pcs)
        pc = int(pcs.min())
        if pc == _NOWHERE:
            return None
        if self._highest_first:
            pc = int(pcs[pcs != _NOWHERE].max())
        pc = self._give_turns(pcs, pc)
        pc = pc if self._rank is None else self._pc_at[pc]
        active = state.live & (self.pc == pc) & (self.status != AT_BARRIER)
        if self._drawn is not None:
            active &= self._drawn | (self.status != READY)  # warps that wait for the others of their warpgroup
        if np.array_equal(active, state.live):
            self.status[...] = READY
            self.converged_pc = pc
            active = state.live
            self._turns, self._patience = 0, PATIENCE
            return pc, None if self._everyone else active
        return pc, active

    def _separate(self) -> None:
        if self.converged_pc is not None:
            self.pc[...] = self.converged_pc
            self.status[...] = READY
            self.converged_pc = None

    def _give_turns(self, pcs: NDArray[np.int32], lowest: int) -> int:
        """Return the lowest pc; after it was picked for long, the pc that waited longest."""
        self._picks += 1
        pc = lowest
        self._patience -= PATIENCE // PATIENCE_WITH_SPINNING if self._is_spinning(lowest) else 1
        if self._patience <= 0:
            self._turns, self._patience = TURNS, PATIENCE
        if self._turns:
            self._turns -= 1
            self._patience = PATIENCE
            others = np.unique(pcs[pcs != _NOWHERE]).tolist()
            pc = min(others, key=lambda x: self._last.get(x, 0))
        self._last[pc] = self._picks
        return pc

    def _is_spinning(self, position: int) -> bool:
        return (position if self._rank is None else self._pc_at[position]) in self._spinning

    def _draw(self, pcs: NDArray[np.int32]) -> NDArray[np.int32]:
        """Let only some warps run, drawn again from time to time: another schedule."""
        rng = self._rng
        if rng is None:
            return pcs
        for _ in range(2):
            if self._drawn is None or self._drawn_for == 0:
                shape = self._state.shape
                self._drawn = np.broadcast_to(rng.random((shape[0], shape[1], 1)) < rng.choice((0.25, 0.5, 1.0)), shape)
                self._drawn_for = int(rng.integers(1, 64))
            self._drawn_for -= 1
            drawn = np.where(self._drawn, pcs, _NOWHERE)
            if (drawn != _NOWHERE).any():
                return drawn
            self._drawn = None
        return pcs

    def jump(self, active: Active, pc: int) -> None:
        """Send the active threads to a pc."""
        if self.converged_pc is not None and (active is None or active is self._state.live):
            self.converged_pc = pc
            return
        self._separate()
        self.status[active] = READY
        self.pc[active] = pc

    def diverge(self, active: Active, taken: NDArray[np.bool_], target: int, following: int) -> None:
        """Send the active threads that take a branch to its target, the others to the following pc."""
        participants = self._state.live if active is None else active
        taken = np.broadcast_to(taken & participants, participants.shape)
        if not taken.any():
            return self.jump(active, following)
        if np.array_equal(taken, participants):
            return self.jump(active, target)
        self._separate()
        self.status[participants] = READY
        self.pc[participants] = np.where(taken, target, following)[participants]
        return None

    def jump_indirect(self, active: Active, pcs: NDArray[np.int32]) -> None:
        """Send each active thread to its own pc."""
        participants = self._state.live if active is None else active
        self._separate()
        self.status[participants] = READY
        self.pc[participants] = np.broadcast_to(pcs, participants.shape)[participants]

    def wait(self, participants: NDArray[np.bool_], status: int, pc: int) -> None:
        """Let threads wait; they continue at a pc when they are released."""
        self._separate()
        self.status[participants] = status
        self.pc[participants] = pc

    def release(self, participants: NDArray[np.bool_]) -> None:
        """Let waiting threads continue."""
        self.status[participants] = READY

    def wake(self, active: Active) -> None:
        """Let lanes that wait for others of their warp check again, because some of the warp have exited."""
        if active is None or self.converged_pc is not None:
            return
        of_warps = np.broadcast_to(active, self._state.shape).any(axis=-1, keepdims=True)
        self.status[(self.status == AT_WARP) & of_warps & self._state.live] = READY

    def exit(self, active: Active) -> None:
        """Let the active threads exit."""
        state = self._state
        participants = state.live if active is None else np.broadcast_to(active, state.shape)
        state.live = state.live & ~participants
        self._everyone = False
