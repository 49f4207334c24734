# SPDX-License-Identifier: MIT
"""A counted launch: its memory and its execution count."""

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.fills import Fill
from wmma_emu.ptx.findings import Sightings
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.machine.limits import Deadline
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.launch import LaunchRaces
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.profile.counting import Counting
from wmma_emu.ptx.profile.counting_execution import CountingExecution
from wmma_emu.ptx.profile.counting_memory import CountingMemory
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Threads


class CountingLaunch(Counting):
    """Provides the memory and the execution of a counted launch; see `wmma_emu.ptx.machine.run.run`.

    Without ``accesses``, only executions and branches are counted, which takes less time.
    """

    def __init__(self, instructions: tuple[PtxInstruction, ...], *, accesses: bool = True) -> None:
        super().__init__(instructions)
        self.accesses = self.counts_waits = accesses

    def memory(
        self, program: KernelProgram, heap: GlobalMemory, parameters: bytes, threads: Threads, shared_bytes: int,
        findings: Sightings, causality: CausalityOrder, checks: frozenset[str], races: LaunchRaces | None, fill: Fill,
    ) -> WaveMemory:  # fmt: skip
        """Make the memory of one wave of blocks."""
        if not self.accesses:
            return WaveMemory(
                program, heap, parameters, threads, shared_bytes, findings, causality, checks, races, fill
            )  # fmt: skip
        return CountingMemory(
            self, program, heap, parameters, threads, shared_bytes, findings, causality, checks, races, fill
        )

    def execution(
        self, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None
    ) -> WaveExecution:
        """Make the execution of one wave of blocks."""
        return CountingExecution(self, compiled, state, deadline, order)
