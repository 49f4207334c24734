# SPDX-License-Identifier: MIT
"""Waits for the wrong parity, found by the races that they cause.

A wait for the phase before the one in progress returns at once. That is right for a producer, whose first wait for a
free buffer names the phase before the first one, and for a thread that waits twice for one phase. So such a wait is
only suspected: if its thread is in a race with a thread which arrives at the same mbarrier in the next phase, the wait
was for the wrong phase, since the right one would have ordered the two.
"""

from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.ptx.memory.mbarrier_records import PhasesOfThreads, Wait
from wmma_emu.ptx.program.program import PtxInstruction

Thread = tuple[int, int, int]


class WrongWait(NamedTuple):
    """A wait for the wrong phase of an mbarrier: its thread, the race that it caused, and the thread that it missed."""

    wait: Wait
    address: int
    thread: Thread
    access: PtxInstruction
    other: Thread


class ParitySuspects:
    """The waits of a wave that may be for the wrong parity, with the races of their threads.

    ``threads`` has the phases that the threads saw, by the address of the mbarrier.
    """

    def __init__(self, threads: dict[int, PhasesOfThreads]) -> None:
        self._threads = threads
        self._found: dict[tuple[int, int], WrongWait] = {}

    def note(self, access: PtxInstruction, thread: Thread, other: Thread, *, reads: bool) -> None:
        """Note a race of a thread, (block of the wave, warp, lane), which ``reads`` or writes, with another thread."""
        for address, phases in self._threads.items():
            wait = phases.wait_of(*thread)
            if wait is None or not wait.may_be_wrong or (wait.phase == -1 and not wait.is_repeated and not reads):
                continue
            key = wait.instruction.line, access.line
            self._found.setdefault(key, WrongWait(wait, address, thread, access, other))

    def confirmed(self) -> Iterator[WrongWait]:
        """Yield the waits whose other thread, or a lane of its warp, arrived in the next phase of the mbarrier."""
        waits = dict[int, WrongWait]()
        for (line, _), found in self._found.items():
            block, warp, _ = found.other
            phases = self._threads[found.address]
            if max(int(x[block, warp].max()) for x in (phases.arrived, phases.copied)) > found.wait.phase:
                waits.setdefault(line, found)
        yield from waits.values()
