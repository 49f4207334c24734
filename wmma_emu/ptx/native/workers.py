# SPDX-License-Identifier: MIT
"""Workers: each runs blocks on one thread, with its own context and memory, until no block is left or it must stop."""

import ctypes
import time
from collections.abc import Callable
from functools import reduce
from math import prod
from operator import or_
from typing import NamedTuple

import numpy as np

from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import Dim3
from wmma_emu.instructions.residency import residency_of
from wmma_emu.ptx.machine.limits import Counts, Deadline
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.native.blocks import DONE
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import BarrierField, MachineWord
from wmma_emu.ptx.native.leave import BARRIERS
from wmma_emu.ptx.native.memory.memory_of_launch import NativeMemory, WorkerMemory
from wmma_emu.ptx.native.table import KernelTable
from wmma_emu.ptx.native.warp_image import filled_words
from wmma_emu.ptx.native.warp_layout import HEAD_BYTES, STEPS
from wmma_emu.ptx.pages import aligned
from wmma_emu.ptx.threads import Threads
from wmma_emu.scalar.environment import in_ieee_arithmetic

FIRST_FUEL = 1 << 15
"""The steps of warps that one thread runs before others are started."""

SLICE = 0.05
"""The seconds after which a worker looks for interrupts and limits."""

_MOST_FUEL = 1 << 40


class Launching(NamedTuple):
    """The arguments of a launch on the native machine."""

    table: KernelTable
    arch: Arch
    heap: GlobalMemory
    parameters: bytes
    grid: Dim3
    block: Dim3
    dynamic_bytes: int


class NativeOutcome(NamedTuple):
    """The result of a launch: its counts if there is no flag."""

    flags: Flag
    seconds: float
    counts: Counts | None = None


class SharedState:
    """The state that the workers of a launch share.

    ``stop`` is set if the workers must not continue, ``is_over_limit`` if the reason is a limit.
    """

    def __init__(self, launching: Launching, deadline: Deadline) -> None:
        self.launching, self.deadline = launching, deadline
        table, blocks = launching.table, prod(launching.grid)
        self.threads = Threads(launching.grid, launching.block, np.arange(1))
        self.image = table.image(self.threads, launching.arch, launching.heap, launching.dynamic_bytes)
        self.filled = filled_words(table.layout)
        self.zeroed = np.array(table.layout.zeroed, np.int64).reshape(-1, 2)
        self.next_block = np.zeros(1, np.int64)
        self.block_steps = np.zeros(blocks, np.int64)
        self.memory = NativeMemory(
            table.compiled.program, launching.heap, launching.parameters, table.compiled.written, blocks,
            self.threads.num_warps, launching.dynamic_bytes,
        )  # fmt: skip
        self.workers: list[Worker] = []
        self.stop = self.is_over_limit = False

    @property
    def flags(self) -> Flag:
        """The flags that any worker has raised."""
        return reduce(or_, (Flag(int(x.context[Word.FLAGS])) for x in self.workers))

    def check(self, steps: int) -> None:
        """Stop all workers if a limit is exceeded; ``steps`` is the number of steps of one warp."""
        limits = self.deadline.limits
        used = self.launching.heap.bytes_used + sum(x.memory.bytes_of_records for x in self.workers)
        is_late = limits.seconds is not None and self.deadline.seconds > limits.seconds
        if steps > limits.steps or is_late or used > limits.bytes:
            self.stop = self.is_over_limit = True


class Worker:
    """A worker, which runs blocks one after another with its own context and memory.

    It records accesses to global memory in the records of another worker if ``records_of`` is given.
    ``is_done`` is whether it has nothing left to do, ``error`` what ended `finish` in a thread.
    """

    def __init__(self, shared: SharedState, records_of: "Worker | None" = None) -> None:
        self._shared = shared
        launching, table = shared.launching, shared.launching.table
        self.context = np.zeros(Word.COUNT, np.int64)
        self._warps = aligned(shared.image.size)
        warps = self._warps.reshape(shared.image.shape)
        for part in (slice(HEAD_BYTES), slice(table.layout.end_of_registers, None)):
            warps[:, part] = shared.image[:, part]
        self._steps = self._warps.reshape(shared.image.shape)[:, STEPS : STEPS + 8].view(np.int64)
        self._barriers = np.zeros((BARRIERS, BarrierField.COUNT_OF_WORDS), np.int64)
        self._fill(launching, table)
        records = None if records_of is None else records_of.memory
        self.memory: WorkerMemory = shared.memory.worker(self.context.view(np.uint64), records)
        run: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(table.driver)
        self._run = run
        self.is_done = False
        self.error: BaseException | None = None
        shared.workers.append(self)

    def _fill(self, launching: Launching, table: KernelTable) -> None:
        shared, grid, block = self._shared, launching.grid, launching.block
        values: dict[int, int] = {
            **{Word[f"GRID_{x.upper()}"]: getattr(grid, x) for x in "xyz"},
            **{Word[f"BLOCK_{x.upper()}"]: getattr(block, x) for x in "xyz"},
            Word.WARPS: shared.threads.num_warps,
            Word.WARP_BYTES: table.layout.bytes,
            Word.WARP_MEMORY: self._warps.ctypes.data,
            MachineWord.BLOCKS: table.blocks.ctypes.data,
            MachineWord.NEXT_BLOCK: shared.next_block.ctypes.data,
            MachineWord.LAST_BLOCK: prod(grid),
            MachineWord.THREADS: prod(block),
            MachineWord.BLOCK_STEPS: shared.block_steps.ctypes.data,
            MachineWord.ZEROED: shared.zeroed.ctypes.data,
            MachineWord.ZEROED_COUNT: len(shared.zeroed),
            MachineWord.FILLED: shared.filled.ctypes.data,
            MachineWord.FILLED_COUNT: len(shared.filled),
            MachineWord.BARRIERS: self._barriers.ctypes.data,
            MachineWord.WAITING: table.waiting,
            MachineWord.MULTIPROCESSORS: residency_of(launching.arch).multiprocessors,
        }  # fmt: skip
        for word, value in values.items():
            self.context[word] = value

    def advance(self, fuel: int) -> bool:
        """Run some steps of warps; return whether the worker is at its end."""
        self.context[Word.FUEL] = fuel
        done = self._run(self.context.ctypes.data) == DONE
        self.is_done = done or bool(self.context[Word.FLAGS])
        return self.is_done

    def finish(self) -> None:
        """Run until no block is left, or a flag is raised, or a limit is exceeded."""
        try:
            in_ieee_arithmetic(self._finish)()
        except BaseException as error:
            self.error = error
            self._shared.stop = True

    def _finish(self) -> None:
        shared, fuel = self._shared, FIRST_FUEL
        while not shared.stop:
            begin = time.perf_counter()
            if self.advance(fuel):
                break
            shared.check(int(self._steps.max()))
            seconds = time.perf_counter() - begin
            fuel = min(int(fuel * min(max(SLICE / max(seconds, 1e-6), 0.1), 10)) + 1, _MOST_FUEL)
        if self.context[Word.FLAGS]:
            shared.stop = True
