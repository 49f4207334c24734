# SPDX-License-Identifier: MIT
"""The course of each mbarrier, which findings describe: its phases, its bytes, and the threads that saw a phase."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import ThreadIndices
from wmma_emu.ptx.findings import Message
from wmma_emu.ptx.program.program import PtxInstruction

_NEVER = -2
"""Stands for the phase that a thread saw last, or arrived at, if there is none; -1 is the phase before the first."""


class Fault(NamedTuple):
    """A fault of one of the threads that access mbarriers: its number, the finding's kind, its message and its fix."""

    access: int
    kind: str
    message: Message
    remedy: str = ""


@dataclass(slots=True)
class BarrierRecord:
    """The course of one mbarrier.

    ``phase`` is the number of phases that are complete, ``seen`` the last of them that a thread saw, -1 if none.
    ``expected_bytes`` and ``arrived_bytes`` count for the current phase. The instructions are the last of their kind:
    ``begun`` initialised the mbarrier. ``is_reported`` is whether a finding says that its bytes are not balanced.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import PtxInstruction
    >>> record = BarrierRecord(PtxInstruction("mbarrier.init.b64", "mbarrier", ("init", "b64"), (), None, 7, 1))
    >>> record.expected_bytes = 64
    >>> record.begin_phase()
    >>> record.phase, record.expected_bytes, record.seen
    (1, 0, -1)
    """

    begun: PtxInstruction
    phase: int = 0
    seen: int = -1
    expected_bytes: int = 0
    arrived_bytes: int = 0
    arrival: PtxInstruction | None = None
    expectation: PtxInstruction | None = None
    delivery: PtxInstruction | None = None
    is_reported: bool = False

    def begin_phase(self) -> None:
        """Begin the next phase."""
        self.phase += 1
        self.expected_bytes = self.arrived_bytes = 0


class Wait(NamedTuple):
    """A wait by parity that returned true: the phase that it saw, and whether the thread had seen this phase before."""

    phase: int
    is_repeated: bool
    instruction: PtxInstruction

    @property
    def may_be_wrong(self) -> bool:
        """Whether the thread learnt nothing by it: the phase before the first one, or one that it knew already."""
        return self.phase == -1 or self.is_repeated


class PhasesOfThreads:
    """The last phases that each thread saw, and took part in, of the mbarriers at one address of their blocks.

    Threads take part in a phase by arrivals, and by copies that deliver bytes to it.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import PtxInstruction
    >>> wait = PtxInstruction("mbarrier.test_wait.parity.b64", "mbarrier", ("test_wait",), (), None, 9, 1)
    >>> phases, thread = PhasesOfThreads((1, 2, 32)), tuple(np.array([x]) for x in (0, 1, 3))
    >>> phases.saw(thread, np.array([-1]), wait)
    >>> phases.wait_of(0, 1, 3).may_be_wrong, phases.wait_of(0, 0, 3)
    (True, None)
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.arrived = np.full(shape, _NEVER, np.int32)
        self.copied = np.full(shape, _NEVER, np.int32)
        self._seen = np.full(shape, _NEVER, np.int32)
        self._again = np.zeros(shape, np.bool_)
        self._line = np.zeros(shape, np.int32)
        self._instructions: dict[int, PtxInstruction] = {}

    def forget(self, block: int) -> None:
        """Forget a block, whose mbarrier is initialised."""
        self.arrived[block] = self.copied[block] = self._seen[block] = _NEVER

    def saw(self, at: ThreadIndices, phases: NDArray[np.int32], instruction: PtxInstruction) -> None:
        """Record that threads saw phases complete."""
        self._again[at] = self._seen[at] == phases
        self._seen[at] = phases
        self._line[at] = instruction.line
        self._instructions[instruction.line] = instruction

    def wait_of(self, block: int, warp: int, lane: int) -> Wait | None:
        """Return the last wait of a thread that returned true; None if there is none."""
        at = block, warp, lane
        if self._seen[at] == _NEVER:
            return None
        return Wait(int(self._seen[at]), bool(self._again[at]), self._instructions[int(self._line[at])])

    def last_seen(self, block: int, threads: NDArray[np.bool_]) -> int:
        """Return the last phase that any of some threads of a block, (warps, 32), saw; -1 if none."""
        return max(-1, int(self._seen[block][threads].max(initial=-1)))
