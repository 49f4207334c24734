# SPDX-License-Identifier: MIT
"""One chunk of blocks on its way through a program."""

from collections.abc import Callable

import numpy as np

from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.limits import Deadline, Exceeded
from wmma_emu.ptx.machine.scheduler import AT_WARP
from wmma_emu.ptx.machine.thread_states import thread_states
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note


class WaveExecution(ControlState):
    """The threads of a chunk, executed until all have exited."""

    def __init__(self, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None) -> None:
        super().__init__(state, order, compiled.spinning, compiled.exiting, compiled.synchronising)
        self._basic_blocks = compiled.basic_blocks
        self._deadline = deadline
        self._all = state.shape[0] * state.shape[1] * state.shape[2]

    def run(self, behind: Callable[[], None] | None = None) -> None:
        """Execute fragment after fragment until no thread is left, and then do what is ``behind`` them."""
        try:
            self._run()
            if behind is not None:
                behind()
        except Exceeded as error:
            raise LaunchLimitError(f"the launch took more than {error}; {thread_states(self)}") from None

    def _run(self) -> None:
        state, positions, fragments = self.state, self.scheduler, self._basic_blocks
        look = self._deadline.look
        while True:
            picked = positions.pick()
            if picked is None:
                if not state.live.any():
                    return
                self._force_reconverge()
                continue
            pc, active = picked
            fragment = fragments[pc]
            count = self._all if active is None else int(np.count_nonzero(active))
            self.instructions += fragment.length * count
            state.steps += fragment.length
            for step in fragment.body:
                step(state, active)
                look()
            fragment.terminator(self, active)
            self._deadline.count(fragment.length)

    def _force_reconverge(self) -> None:
        """No thread may go on: those that wait for lanes of their warp go without them, else it is a deadlock."""
        state, positions = self.state, self.scheduler
        waiting = state.live & (positions.status == AT_WARP)
        if waiting.any():
            pc = int(positions.pc[waiting].min())
            self.synchronising[pc].force_reconverge(self, waiting & (positions.pc == pc))
            return
        pc = int(positions.pc[state.live][0])
        instruction = self.program.instructions[max(pc - 1, 0)]
        note(
            state, instruction, "deadlock", state.live,
            lambda *first: f"no thread can make progress: {thread_states(self)}",
        )  # fmt: skip
        self.abort()
