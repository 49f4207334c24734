# SPDX-License-Identifier: MIT
"""The accesses of a launch, replayed in the memory of the PTX machine, which finds races and uninitialised reads."""

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from wmma_emu.instructions import Arch
from wmma_emu.kernels.call_machine import CallMachine
from wmma_emu.kernels.mapped_arrays import NO_MODULE, MappedArrays, mapped_arrays
from wmma_emu.kernels.replayed_wave import ReplayedWave
from wmma_emu.kernels.trace import Access, BlockTrace, MachineCall, Trace
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import CausalityOrder, order_of_launch
from wmma_emu.ptx.definedness.empty_arrays import uninitialised_bits_of
from wmma_emu.ptx.findings import Diagnosis, Sightings
from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT, require_within
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.launch import LaunchRaces
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import KernelProgram, Symbol
from wmma_emu.ptx.threads import Dim3, Threads
from wmma_emu.scalar.environment import in_ieee_arithmetic

_WARPS_OF_A_WAVE = 128
"""The number of warps of the blocks that are replayed together: more gain nothing."""


class Replay:
    """A replay of a trace on the machine's memory, wave after wave of blocks."""

    def __init__(self, trace: Trace, name: str, arch: Arch, grid: Dim3, block: Dim3, checks: frozenset[str]) -> None:
        self._trace, self._name, self._arch, self._grid, self._block = trace, name, arch, grid, block
        self._checks = checks
        self.findings = Sightings(trace.sites, checks)
        self._arrays = MappedArrays(GlobalMemory(NO_MODULE), {})
        self._order: CausalityOrder | None = None
        self._races: LaunchRaces | None = None
        self.steps = self.instructions = 0
        self.deadlock: Diagnosis | None = None

    @in_ieee_arithmetic
    def run(self, *, is_last: bool, is_complete: bool = True) -> None:
        """Replay the trace; in the last run, omit reads of arrays that no thread writes.

        ``is_complete`` is whether the last block has ended; if not, ``deadlock`` explains its mbarriers.
        """
        blocks = self._trace.blocks
        if self._order is None:
            self._order = self._begin(self._only_read(blocks) if is_last else set())
        program = self._program()
        size = max(1, _WARPS_OF_A_WAVE // (prod(self._block) // LANES))
        with np.errstate(all="ignore"):
            for i in range(0, len(blocks), size):
                if any(self._is_replayed(x) for x in blocks[i : i + size]):
                    ends = is_complete or i + size < len(blocks)
                    self._run_wave(program, self._order, blocks[i : i + size], is_complete=ends)
        if is_last:
            self._arrays.heap.keep_uninitialised()

    def _run_wave(
        self, program: KernelProgram, order: CausalityOrder, blocks: Sequence[BlockTrace], *, is_complete: bool
    ) -> None:  # fmt: skip
        threads = Threads(self._grid, self._block, np.array([x.number for x in blocks], np.int64))
        order.begin(threads.blocks)
        memory = WaveMemory(
            program, self._arrays.heap, b"", threads, 0, self.findings, order, self._checks, self._races
        )  # fmt: skip
        machine = CallMachine(memory, order, self._arch, self.findings, self._arrays, self._checks)
        chunk = ReplayedWave(memory, order, self._arrays.bases, self._trace.sites.order, machine)
        self.deadlock = chunk.run(blocks, is_complete=is_complete)
        self.steps += chunk.steps
        self.instructions += chunk.instructions
        if self._races is not None:
            self._races.end_wave()

    def _is_replayed(self, block: BlockTrace) -> bool:
        if any(part.waits for part in block.rounds):
            return True
        accesses = (x for part in block.rounds for each in part.accesses.values() for x in each)
        bases = self._arrays.bases
        return any(isinstance(x, MachineCall) or (isinstance(x, Access) and id(x.owner) in bases) for x in accesses)

    def _begin(self, left_out: set[int]) -> CausalityOrder:
        """Map the arrays to addresses, except those to omit; no order between accesses is known yet."""
        blocks = prod(self._grid)
        require_within(DEFAULT_LIMIT, blocks, f"the causality order of {blocks} blocks")
        self._arrays = mapped_arrays(self._trace, left_out)
        order = order_of_launch(blocks, prod(self._block) // LANES, (), is_used="races" in self._checks)
        if "races" in self._checks:
            self._races = LaunchRaces(self._arrays.heap, order)
        return order

    def _only_read(self, blocks: Iterable[BlockTrace]) -> set[int]:
        """Find the arrays that no thread writes and that cannot cause a finding."""
        accesses = (x for block in blocks for part in block.rounds for each in part.accesses.values() for x in each)
        changed, wider = set[int](), set[int]()
        for x in accesses:
            if isinstance(x, MachineCall):
                changed.update(map(id, x.arrays))
            elif isinstance(x, Access):
                if x.instruction.mnemonic != "ld":
                    changed.add(id(x.owner))
                elif x.size > x.owner.dtype.itemsize:  # wider accesses may be misaligned
                    wider.add(id(x.owner))
        arrays = [(x, x.array) for x in self._trace.arrays if x.array is not None]
        written = [array for x, array in arrays if id(x) in changed]
        return {
            id(x) for x, array in arrays
            if x.is_aligned and id(x) not in wider and not any(uninitialised_bits_of(array))
            and not any(np.may_share_memory(array, other) for other in written)
        }  # fmt: skip

    def _program(self) -> KernelProgram:
        end, symbols = 0, []
        for owner in self._trace.declared.values():
            nbytes = prod(owner.shape) * owner.dtype.itemsize
            symbols.append(Symbol("shared", owner.begin, owner.name, nbytes))
            self._arrays.bases[id(owner)] = owner.begin
            end = max(end, owner.begin + nbytes)
        return self._trace.sites.program(self._name, symbols, end)
