# SPDX-License-Identifier: MIT
"""Barriers of a block whose arrivals are noted, and when they let threads go on."""


import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import OF_CLUSTER
from wmma_emu.ptx.history.recorder import Recorder
from wmma_emu.ptx.machine.barriers import BarrierForm, Barriers
from wmma_emu.ptx.machine.positions import Positions
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active


class WatchedBarriers(Barriers):
    """The barriers of some blocks."""

    def __init__(self, recorder: Recorder, state: State, positions: Positions) -> None:
        super().__init__(state, positions)
        self._recorder = recorder

    def arrive(self, form: BarrierForm, active: Active, place: int) -> None:
        """Let the active threads arrive, and note it; those who all meet at once are noted when they go on."""
        state = self._state
        number = np.broadcast_to(state.read(form.number, "u32"), state.shape)
        who = np.broadcast_to(state.live if active is None else active, state.shape)
        everyone = active is None and form.waits and form.threads is None and len(np.unique(number)) == 1
        for n in np.unique(number[who]).tolist():
            what = "meets" if everyone else "arrives"
            self._tell(what, form, who & (number == n), int(n))
        super().arrive(form, active, place)

    def complete(self) -> None:
        """Let the threads go on whose barrier has all that it waits for, and note it."""
        waited = self._number.copy()
        super().complete()
        gone = (waited >= 0) & (self._number < 0)
        for n in np.unique(waited[gone]).tolist():
            who = gone & (waited == n)
            self._tell("goes on", self._forms[int(self._form[who][0])], who, int(n))

    def _tell(self, what: str, form: BarrierForm, who: NDArray[np.bool_], n: int) -> None:
        name = "the barrier of the cluster" if n == OF_CLUSTER else f"barrier {n}"
        self._recorder.synchronised(self._state.threads, what, form.instruction, who, (name,))
