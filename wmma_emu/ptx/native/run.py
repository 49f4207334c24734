# SPDX-License-Identifier: MIT
"""A launch on the native machine: workers that run blocks on threads, until none is left or a flag is raised."""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import Dim3
from wmma_emu.instructions.residency import residency_of
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.machine.limits import Counts, Deadline, Limits
from wmma_emu.ptx.machine.run import blocks_at_once
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.native.blocks import DONE
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import BarrierField, MachineWord
from wmma_emu.ptx.native.leave import BARRIERS
from wmma_emu.ptx.native.memory.memory_of_launch import NativeMemory, races_between_workers
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.native.table import KernelTable
from wmma_emu.ptx.native.warp_image import filled_words, warp_image
from wmma_emu.ptx.native.warp_layout import STEPS
from wmma_emu.ptx.pages import aligned
from wmma_emu.ptx.threads import Threads
from wmma_emu.scalar.environment import in_ieee_arithmetic

_FIRST_FUEL = 1 << 15
"""The steps of warps that one thread runs before others are started."""

_SLICE = 0.05
"""The seconds after which a worker looks for interrupts and limits."""

_MOST_FUEL = 1 << 40


class Launching(NamedTuple):
    """What a launch on the native machine is given."""

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


def run(launching: Launching, limits: Limits, spent: float = 0) -> NativeOutcome:
    """Run a launch on the native machine; ``spent`` are seconds of the time limit that have passed already.

    Raises
    ------
    NotNativeError
        If the launch has something that has no native code.
    """
    deadline = Deadline(limits, spent=spent)
    if launching.table.has_warpgroups and -(-prod(launching.block) // LANES) % 4:
        raise NotNativeError("the last warps of a block are no warpgroup")
    shared = _SharedState(launching, deadline)
    workers = [_Worker(shared)]
    if not workers[0].advance(_FIRST_FUEL):
        left = prod(launching.grid) - int(shared.next_block[0])
        workers += [_Worker(shared) for _ in range(min(_cores() - 1, left))]
        _drive(workers, shared)
    flags = Flag(0)
    for worker in workers:
        flags |= Flag(int(worker.context[Word.FLAGS]))
    size = blocks_at_once(
        launching.table.compiled, launching.heap, launching.grid, launching.block, launching.dynamic_bytes, limits
    )  # fmt: skip
    steps = _steps(shared.block_steps, size)
    if not flags and len(workers) > 1 and races_between_workers([x.memory for x in workers]):
        flags |= Flag.RACE
    if shared.is_late or steps > limits.steps:
        flags |= Flag.LIMIT
    if flags:
        return NativeOutcome(flags, deadline.seconds)
    shared.memory.note_written([x.memory for x in workers])
    executed = sum(int(x.context[Word.EXECUTED]) for x in workers)
    return NativeOutcome(
        flags, deadline.seconds, Counts(executed, steps, deadline.seconds, size, True, machine="native")
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _steps(of_blocks: NDArray[np.int64], size: int) -> int:
    """Return the steps of a launch: of each wave of blocks, those of the warp that stepped most."""
    waves = np.arange(0, len(of_blocks), size)
    return int(np.maximum.reduceat(of_blocks, waves).sum())


def _drive(workers: "list[_Worker]", shared: "_SharedState") -> None:
    """Run all workers, the first in this thread."""
    threads = [threading.Thread(target=x.finish, daemon=True) for x in workers[1:]]
    for thread in threads:
        thread.start()
    try:
        workers[0].finish()
    finally:
        shared.stop = shared.stop or not workers[0].is_done
        for thread in threads:
            thread.join()


class _SharedState:
    """What the workers of a launch share; ``stop`` is set if they shall not go on."""

    def __init__(self, launching: Launching, deadline: Deadline) -> None:
        self.launching, self.deadline = launching, deadline
        table, blocks = launching.table, prod(launching.grid)
        self.threads = Threads(launching.grid, launching.block, np.arange(1))
        self.image = warp_image(
            table.layout, table.constants, self.threads, launching.arch, launching.heap, launching.dynamic_bytes
        )  # fmt: skip
        self.filled = filled_words(table.layout)
        self.zeroed = np.array(table.layout.zeroed, np.int64).reshape(-1, 2)
        self.next_block = np.zeros(1, np.int64)
        self.block_steps = np.zeros(blocks, np.int64)
        self.memory = NativeMemory(
            table.compiled.program, launching.heap, launching.parameters, table.compiled.written, blocks,
            self.threads.num_warps, launching.dynamic_bytes,
        )  # fmt: skip
        self.stop = self.is_late = False

    def check(self, steps: int) -> None:
        """Stop all workers if a limit is exceeded; ``steps`` are those of one warp."""
        limits = self.deadline.limits
        if steps > limits.steps or (limits.seconds is not None and self.deadline.seconds > limits.seconds):
            self.stop = self.is_late = True


class _Worker:
    """A worker, which runs blocks one after another with its own context and memory."""

    def __init__(self, shared: _SharedState) -> None:
        self._shared = shared
        launching, table = shared.launching, shared.launching.table
        self.context = np.zeros(Word.COUNT, np.int64)
        self._warps = aligned(shared.image.size, 0)
        self._warps[:] = shared.image.reshape(-1)
        self._steps = self._warps.reshape(shared.image.shape)[:, STEPS : STEPS + 8].view(np.int64)
        self._barriers = np.zeros((BARRIERS, BarrierField.COUNT_OF_WORDS), np.int64)
        self._fill(launching, table)
        self.memory = shared.memory.worker(self.context.view(np.uint64))
        run: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(table.driver)
        self._run = run
        self.is_done = False

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
            MachineWord.HAS_WARPGROUPS: int(table.has_warpgroups),
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
        shared, fuel = self._shared, _FIRST_FUEL
        while not shared.stop:
            begin = time.perf_counter()
            if in_ieee_arithmetic(self.advance)(fuel):
                break
            shared.check(int(self._steps.max()))
            seconds = time.perf_counter() - begin
            fuel = min(int(fuel * min(max(_SLICE / max(seconds, 1e-6), 0.1), 10)) + 1, _MOST_FUEL)
        if self.context[Word.FLAGS]:
            shared.stop = True
