# SPDX-License-Identifier: MIT
"""The execution of one wave of blocks."""

from collections.abc import Callable

import numpy as np

from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.findings import Diagnosis
from wmma_emu.ptx.machine.call_stack import FramedCallStack
from wmma_emu.ptx.machine.compile import CompiledProgram, may_spin
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.endless_waits import EndlessWaits
from wmma_emu.ptx.machine.late_completions import LateCompletions
from wmma_emu.ptx.machine.limits import Deadline, Exceeded
from wmma_emu.ptx.machine.mbarrier_table import (
    mbarrier_table,
    remedy_of_deadlock,
    report_bytes_left,
    report_skipped_phases,
    report_wrong_parities,
)
from wmma_emu.ptx.machine.scheduler import AT_WARP
from wmma_emu.ptx.machine.thread_states import thread_states
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note


class WaveExecution(ControlState):
    """The threads of a wave, executed until all have exited."""

    def __init__(self, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None) -> None:
        super().__init__(state, order, compiled.spinning, compiled.exiting, compiled.synchronising)
        if compiled.stack is not None:
            self.calls = FramedCallStack(state, compiled.stack, deadline.limits.stack)
            self.scheduler.run_functions_first(compiled.program.functions)
        self._basic_blocks = compiled.basic_blocks
        self._endless = EndlessWaits(state, self.scheduler, compiled.reading, compiled.spinning)
        self._late: LateCompletions | None = None
        if state.memory.asynchrony.is_late:
            self._late = LateCompletions(state, self.scheduler, compiled.reading, compiled.spinning)
        self._deadline = deadline
        self._all = state.shape[0] * state.shape[1] * state.shape[2]

    def run(self, on_completion: Callable[[], None] | None = None) -> None:
        """Execute basic blocks until no thread is left, then call ``on_completion``."""
        try:
            self._run()
            if self._late is not None and self.completed:
                self.state.memory.bulk_groups.finish()
            if on_completion is not None:
                on_completion()
        except Exceeded as error:
            raise LaunchLimitError(f"the launch took more than {error}; {self._states()}") from None
        except LaunchLimitError as error:
            raise LaunchLimitError(f"{error}; {self._states()}") from None

    def _states(self) -> str:
        return f"{thread_states(self)}{mbarrier_table(self.state)}"

    def _run(self) -> None:
        state, scheduler, basic_blocks = self.state, self.scheduler, self._basic_blocks
        check = self._deadline.check
        while True:
            picked = scheduler.pick()
            if picked is None:
                if not state.live.any():
                    if self._late is not None and self.completed:
                        self._late.complete_all()
                    if self.completed:
                        report_bytes_left(state)
                    report_wrong_parities(state)
                    return
                self._force_reconverge()
                continue
            pc, active = picked
            block = basic_blocks[pc]
            count = self._all if active is None else int(np.count_nonzero(active))
            self.instructions += block.length * count
            state.steps += block.length
            for step in block.body:
                step(state, active)
                check()
            block.terminator(self, active)
            if self._late is not None and self._late.after(pc, active):
                self._endless.restart()
            elif self._endless.is_reached(pc, active):
                if self._late is not None and self._late.complete_all():
                    self._endless.restart()
                    continue
                polls = (x for x in self.program.instructions[pc : pc + block.length] if may_spin(x))
                self._deadlock(next(polls), "threads wait in loops for values that no thread writes: ")
            self._deadline.count(block.length)

    def _force_reconverge(self) -> None:
        """Resolve a state in which no thread may run.

        Lanes that wait for lanes of their warp continue without them; if there are none, it is a deadlock.
        """
        state, scheduler = self.state, self.scheduler
        waiting = state.live & (scheduler.status == AT_WARP)
        if waiting.any():
            pc = int(scheduler.pc[waiting].min())
            self.synchronising[pc].force_reconverge(self, waiting & (scheduler.pc == pc))
            return
        pc = int(scheduler.pc[state.live][0])
        self._deadlock(self.program.instructions[max(pc - 1, 0)])

    def _deadlock(self, instruction: PtxInstruction, why: str = "") -> None:
        """Report that no thread can make progress, and end the launch."""
        state = self.state
        message = f"no thread can make progress: {why}{thread_states(self)}", mbarrier_table(state)
        report_skipped_phases(state)
        note(state, instruction, "deadlock", state.live, Diagnosis(message, remedy_of_deadlock(state)))
        self.abort()
