# SPDX-License-Identifier: MIT
"""One chunk of blocks on its way through a program."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.barriers import Barriers
from wmma_emu.ptx.machine.compile import Compiled
from wmma_emu.ptx.machine.limits import Deadline, Exceeded
from wmma_emu.ptx.machine.positions import AT_WARP, Positions
from wmma_emu.ptx.machine.whereabouts import whereabouts
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active

__all__ = ["Execution"]


class Execution:
    """The threads of a chunk, executed until all have exited.

    Attributes
    ----------
    state : State
    positions : Positions
    barriers : Barriers
    completed : bool
        False once a deadlock or a trap has ended it.
    instructions : int
        What the threads have executed, each by itself.
    """

    def __init__(self, compiled: Compiled, state: State, deadline: Deadline, order: Order | None) -> None:
        self.compiled, self.program, self.state = compiled, compiled.program, state
        self.positions = Positions(state, compiled.spinning, order)
        self.barriers = Barriers(state, self.positions)
        self.completed = True
        self.instructions = 0
        self._deadline = deadline
        self._awaited = np.zeros(state.shape, np.bool_)
        self._callers: list[NDArray[np.int32]] = []
        self._depth = np.zeros(state.shape, np.int32)
        self._all = state.shape[0] * state.shape[1] * state.shape[2]

    def run(self, behind: Callable[[], None] | None = None) -> None:
        """Execute fragment after fragment until no thread is left, and do what is to be done then.

        Raises
        ------
        LaunchLimitError
            If it takes too long.
        """
        try:
            self._run()
            if behind is not None:
                behind()
        except Exceeded as error:
            raise self._deadline.exceed(str(error), whereabouts(self)) from None

    def _run(self) -> None:
        state, positions, fragments = self.state, self.positions, self.compiled.fragments
        look = self._deadline.look
        while True:
            picked = positions.pick()
            if picked is None:
                if not state.live.any():
                    return
                self._force()
                continue
            place, active = picked
            fragment = fragments[place]
            count = self._all if active is None else int(np.count_nonzero(active))
            self.instructions += fragment.length * count
            state.steps += fragment.length
            for step in fragment.body:
                step(state, active)
                look()
            fragment.end(self, active)
            self._deadline.count(fragment.length)

    def _force(self) -> None:
        """No thread may go on: those that wait for lanes of their warp go without them, else it is a deadlock."""
        state, positions = self.state, self.positions
        waiting = state.live & (positions.status == AT_WARP)
        if waiting.any():
            place = int(positions.at[waiting].min())
            self.compiled.synchronising[place].force(self, waiting & (positions.at == place))
            return
        first = np.argwhere(state.live)[0]
        g, w, lane = (int(x) for x in first)
        place = int(positions.at[g, w, lane])
        instruction = self.program.instructions[max(place - 1, 0)]
        state.findings.add(
            "deadlock",
            instruction,
            lambda: f"no thread can make progress: {whereabouts(self)}",
            block=state.threads.name_block(g),
            thread=state.threads.name_thread(w, lane),
            count=int(np.count_nonzero(state.live)),
        )
        self.abort()

    def leave(self, active: Active) -> None:
        """Let the active threads exit; a barrier may have waited for them alone."""
        self.positions.leave(active)
        self.positions.wake(active)
        if self.barriers.is_waited_at:
            self.barriers.complete()

    def await_lanes(self, missing: NDArray[np.bool_]) -> None:
        """Remember lanes that others of their warp wait for, but for those that are about to exit."""
        if missing.any():
            self._awaited |= missing & ~np.isin(self.positions.at, self.compiled.leaving)

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
        self.positions.leave(None)

    def enter(self, active: Active, place: int) -> None:
        """Remember where the active threads call a function."""
        who = np.broadcast_to(self.state.live if active is None else active, self.state.shape)
        for depth in np.unique(self._depth[who]).tolist():
            if depth == len(self._callers):
                self._callers.append(np.zeros(self.state.shape, np.int32))
            self._callers[depth][who & (self._depth == depth)] = place
        self._depth[who] += 1

    def returns(self, active: Active) -> Iterator[tuple[int, Active]]:
        """Give the calls from which the active threads return, each with its threads."""
        who = np.broadcast_to(self.state.live if active is None else active, self.state.shape)
        self._depth[who] -= 1
        callers = np.take_along_axis(
            np.stack(self._callers), np.minimum(self._depth, len(self._callers) - 1)[None], axis=0
        )[0]
        places = np.unique(callers[who]).tolist()
        if len(places) == 1:
            yield places[0], active
            return
        for place in places:
            yield place, who & (callers == place)
