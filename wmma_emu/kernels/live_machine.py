# SPDX-License-Identifier: MIT
"""The PTX machine while a Python kernel runs: it executes the asynchronous instructions of its blocks."""

from collections.abc import Collection
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import Dim3
from wmma_emu.kernels.call_machine import CallMachine
from wmma_emu.kernels.mapped_arrays import MappedArrays, mapped_arrays
from wmma_emu.kernels.trace import MachineCall, Place, Trace
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import order_of_launch
from wmma_emu.ptx.findings import Sightings
from wmma_emu.ptx.memory.buffers import bytes_of
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.threads import Threads

_NOTHING: frozenset[str] = frozenset()


class LiveMemory(WaveMemory):
    """The memory of the block that runs.

    Its shared memory contains the kernel's arrays. Its global memory is copied from the arrays before each access,
    and `copy_back` copies to them what has changed.
    """

    def share(self, shared: NDArray[np.uint8]) -> None:
        """Use the bytes of a block's arrays as shared memory."""
        self.shared.flat = shared
        self._changed: list[tuple[int, int]] = []

    def resolve(self, *args: Any, **kwargs: Any) -> ResolvedAccess:
        """Find the bytes of an access, and copy those in global memory from the arrays."""
        self.copy_back()  # an instruction may make several accesses
        resolved = super().resolve(*args, **kwargs)
        if resolved.space == "global":
            positions = resolved.where.positions
            if resolved.mask is not None:
                positions = np.broadcast_to(positions, np.broadcast_shapes(positions.shape, resolved.mask.shape))
                positions = positions[np.broadcast_to(resolved.mask, positions.shape)]
            if positions.size:
                span = int(positions.min()), int(positions.max()) + resolved.access.size
                for heap, array in self._pieces(*span):
                    heap[:] = array
                if kwargs["write"]:
                    self._changed.append(span)
        return resolved

    def copy_back(self) -> None:
        """Copy what has changed in global memory to the arrays."""
        for span in self._changed:
            for heap, array in self._pieces(*span):
                if array.flags.writeable:
                    array[:] = heap
        self._changed.clear()

    def _pieces(self, begin: int, end: int) -> list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        """Return the bytes of the heap, and of the array, for each array in a range of positions."""
        return [
            (self.heap.buffer[lo:hi], bytes_of(m.array)[lo - m.lo : hi - m.lo])
            for m in self.heap.mapped
            if (lo := max(begin, m.lo)) < (hi := min(end, m.hi))
        ]


class LiveMachine:
    """The machine of a launch, which has the memory of one block at a time."""

    def __init__(self, trace: Trace, arch: Arch, grid: Dim3, block: Dim3) -> None:
        self._trace, self._arch, self._grid, self._block = trace, arch, grid, block

    @cached_property
    def _arrays(self) -> MappedArrays:
        return mapped_arrays(self._trace)

    def of_block(self, index: Dim3, shared: NDArray[np.uint8]) -> "BlockMachine":
        """Return the machine of a block with some shared memory."""
        number = index.x + self._grid.x * (index.y + self._grid.y * index.z)
        threads = Threads(self._grid, self._block, np.array([number], np.int64))
        order = order_of_launch(1, prod(self._block) // LANES, (), is_used=False)
        order.begin(np.zeros(1, np.int64))
        findings = Sightings(self._trace.sites, _NOTHING)
        program = KernelProgram("", (), 0, (), (), (), len(shared), None, 0, None, None, ())
        memory = LiveMemory(program, self._arrays.heap, b"", threads, 0, findings, order, _NOTHING)
        memory.share(shared)
        return BlockMachine(memory, CallMachine(memory, order, self._arch, findings, self._arrays, _NOTHING), self)

    def declare(self) -> None:
        """Map the declarations of shared memory."""
        for owner in self._trace.declared.values():
            self._arrays.bases[id(owner)] = owner.begin


class BlockMachine:
    """The machine of the block that runs."""

    def __init__(self, memory: LiveMemory, calls: CallMachine, machine: LiveMachine) -> None:
        self._memory, self._calls, self._machine = memory, calls, machine

    def run(self, warp: int, call: MachineCall) -> bool:
        """Execute a call of a warp; return the predicate that a wait writes."""
        self._machine.declare()
        done = self._calls.run([(0, warp, call)])
        self._memory.copy_back()
        return bool(done[0, warp].all())

    def arrive(self, barriers: Collection[Place]) -> bool:
        """Let the copies of some mbarriers arrive; return whether there are any."""
        return self._calls.arrive(0, barriers)

    def finish(self) -> None:
        """Complete the copies of bulk groups for which no warp has waited, at the end of the block."""
        self._calls.finish()
        self._memory.copy_back()

    def describe(self, position: int) -> str:
        """Describe what the current phase of an mbarrier lacks."""
        barriers = self._memory.mbarriers
        word = barriers.word(position) if barriers.exist(np.array([position]))[0] else None
        if word is None:
            return "is not initialised"
        lacks = f"{word.pending} of {word.expected} arrivals and {max(word.bytes, 0)} bytes"
        return f"has parity {word.parity} and lacks {lacks}"
