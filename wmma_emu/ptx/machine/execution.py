# SPDX-License-Identifier: MIT
"""One chunk of blocks on its way through a program."""

from collections.abc import Callable

import numpy as np

from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.machine.compile import Compiled
from wmma_emu.ptx.machine.limits import Deadline, Exceeded
from wmma_emu.ptx.machine.positions import AT_WARP
from wmma_emu.ptx.machine.progress import Progress
from wmma_emu.ptx.machine.whereabouts import whereabouts
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note


class Execution(Progress):
    """The threads of a chunk, executed until all have exited."""

    def __init__(self, compiled: Compiled, state: State, deadline: Deadline, order: Order | None) -> None:
        super().__init__(state, order, compiled.spinning, compiled.leaving, compiled.synchronising)
        self._fragments = compiled.fragments
        self._deadline = deadline
        self._all = state.shape[0] * state.shape[1] * state.shape[2]

    def run(self, behind: Callable[[], None] | None = None) -> None:
        """Execute fragment after fragment until no thread is left, and then do what is ``behind`` them."""
        try:
            self._run()
            if behind is not None:
                behind()
        except Exceeded as error:
            raise LaunchLimitError(f"the launch took more than {error}; {whereabouts(self)}") from None

    def _run(self) -> None:
        state, positions, fragments = self.state, self.positions, self._fragments
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
            self.synchronising[place].force(self, waiting & (positions.at == place))
            return
        place = int(positions.at[state.live][0])
        instruction = self.program.instructions[max(place - 1, 0)]
        note(
            state, instruction, "deadlock", state.live,
            lambda *first: f"no thread can make progress: {whereabouts(self)}",
        )  # fmt: skip
        self.abort()
