# SPDX-License-Identifier: MIT
"""The accesses of a launch, done once more in the memory of the machine that runs PTX, which finds what is wrong."""

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from wmma_emu.kernels.replayed_wave import ReplayedWave
from wmma_emu.kernels.trace import Access, BlockTrace, Trace
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import CausalityOrder, order_of_launch
from wmma_emu.ptx.definedness.empty_arrays import uninitialised_bits_of
from wmma_emu.ptx.findings import Sightings
from wmma_emu.ptx.memory.address_map import round_up
from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT, require_within
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.launch import LaunchRaces
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import KernelProgram, ModuleProgram, Symbol
from wmma_emu.ptx.threads import Dim3, Threads
from wmma_emu.scalar.environment import in_ieee_arithmetic

_NO_MODULE = ModuleProgram({}, "", "1.0", b"", b"", (), (), (), ())
_WARPS_OF_A_WAVE = 128
"""Warps of the blocks that are done side by side: more gain nothing."""


class Replay:
    """Does what a trace says on the machine's memory, chunk after chunk of blocks."""

    def __init__(self, trace: Trace, name: str, grid: Dim3, block: Dim3, checks: frozenset[str]) -> None:
        self._trace, self._name, self._grid, self._block, self._checks = trace, name, grid, block, checks
        self.findings = Sightings(trace.sites, checks)
        self._heap = GlobalMemory(_NO_MODULE)
        self._bases: dict[int, int] = {}
        self._order: CausalityOrder | None = None
        self._races: LaunchRaces | None = None
        self.steps = self.instructions = 0

    @in_ieee_arithmetic
    def run(self, *, is_last: bool) -> None:
        """Do what the trace has; if nothing follows, what reads arrays that nobody writes is left out."""
        blocks = self._trace.blocks
        if self._order is None:
            self._order = self._begin(self._only_read(blocks) if is_last else set())
        program = self._program()
        size = max(1, _WARPS_OF_A_WAVE // (prod(self._block) // LANES))
        with np.errstate(all="ignore"):
            for i in range(0, len(blocks), size):
                if any(self._is_replayed(x) for x in blocks[i : i + size]):
                    self._run_wave(program, self._order, blocks[i : i + size])
        if is_last:
            self._heap.keep_uninitialised()

    def _run_wave(self, program: KernelProgram, order: CausalityOrder, blocks: Sequence[BlockTrace]) -> None:
        threads = Threads(self._grid, self._block, np.array([x.number for x in blocks], np.int64))
        order.begin(threads.blocks)
        memory = WaveMemory(program, self._heap, b"", threads, 0, self.findings, order, self._checks, self._races)
        chunk = ReplayedWave(memory, order, self._bases, self._trace.sites.order)
        chunk.run(blocks)
        self.steps += chunk.steps
        self.instructions += chunk.instructions
        if self._races is not None:
            self._races.end_wave()

    def _is_replayed(self, block: BlockTrace) -> bool:
        accesses = (x for part in block.rounds for each in part.accesses.values() for x in each)
        return any(isinstance(x, Access) and id(x.owner) in self._bases for x in accesses)

    def _begin(self, left_out: set[int]) -> CausalityOrder:
        """Give the arrays their places, but for those that are left out; nothing is known of any order yet."""
        blocks = prod(self._grid)
        require_within(DEFAULT_LIMIT, blocks, f"what is known of {blocks} blocks")
        arrays = [(x, x.array) for x in self._trace.arrays if x.array is not None and id(x) not in left_out]
        self._heap.expect(array for _, array in arrays)
        self._bases = {id(x): self._heap.map(array, x.name) for x, array in arrays}
        order = order_of_launch(blocks, prod(self._block) // LANES, (), is_used="races" in self._checks)
        if "races" in self._checks:
            self._races = LaunchRaces(self._heap, order)
        return order

    def _only_read(self, blocks: Iterable[BlockTrace]) -> set[int]:
        """Find the arrays of which nothing is written, and which nothing can be wrong with."""
        accesses = (x for block in blocks for part in block.rounds for each in part.accesses.values() for x in each)
        changed, wider = set(), set()
        for x in accesses:
            if isinstance(x, Access):
                if x.instruction.mnemonic != "ld":
                    changed.add(id(x.owner))
                elif x.size > x.owner.dtype.itemsize:  # as which they may be misaligned
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
            symbols.append(Symbol("shared", end, owner.name, nbytes))
            self._bases[id(owner)] = end
            end = round_up(end + nbytes)
        return self._trace.sites.program(self._name, symbols, end)
