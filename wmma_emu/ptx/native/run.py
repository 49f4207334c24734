# SPDX-License-Identifier: MIT
"""A launch on the native machine: workers that run blocks on threads, until no block is left or a flag is raised."""

import os
import threading
from math import prod

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.machine.limits import Counts, Deadline, Limits
from wmma_emu.ptx.machine.run import blocks_at_once
from wmma_emu.ptx.native import workers
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.memory_of_launch import races_between_workers
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.native.wave_launch import can_run_in_waves, run_in_waves
from wmma_emu.ptx.native.workers import Launching, NativeOutcome, SharedState, Worker
from wmma_emu.scalar.environment import in_ieee_arithmetic


@in_ieee_arithmetic
def run(launching: Launching, limits: Limits, spent: float = 0) -> NativeOutcome:
    """Run a launch on the native machine; ``spent`` are seconds of the time limit that have passed already.

    Raises
    ------
    LaunchLimitError
        If one block needs more memory than the launch may use.
    NotNativeError
        If the launch has something that has no native code.
    """
    deadline = Deadline(limits, spent=spent)
    table, heap, grid, block = launching.table, launching.heap, launching.grid, launching.block
    if table.has_warpgroups and -(-prod(block) // LANES) % 4:
        raise NotNativeError("the last warps of a block do not form a warpgroup")
    size = blocks_at_once(table.compiled, heap, grid, block, launching.dynamic_bytes, limits)
    fits_in_waves = can_run_in_waves(launching, size, limits)
    if table.needs_waves:
        if not fits_in_waves:
            raise NotNativeError("the kernel depends on the order of threads, and its blocks cannot run together")
        return run_in_waves(launching, deadline, size)
    shared = SharedState(launching, deadline)
    first = Worker(shared)
    if not first.advance(workers.FIRST_FUEL):
        left = prod(grid) - int(shared.next_block[0])
        for _ in range(min(_cores() - 1, left)):
            Worker(shared)
        _drive(shared)
    flags = shared.flags
    if not flags and len(shared.workers) > 1 and races_between_workers([x.memory for x in shared.workers]):
        flags |= Flag.RACE
    in_order = Flag.UNORDERED | (Flag.RACE if table.is_logged and size >= prod(grid) else 0)
    if flags and flags in in_order and fits_in_waves:
        heap.reset()
        return run_in_waves(launching, deadline, size)
    steps = _steps(shared.block_steps, size)
    if shared.is_over_limit or steps > limits.steps:
        flags |= Flag.LIMIT
    if flags:
        return NativeOutcome(flags, deadline.seconds)
    shared.memory.note_written([x.memory for x in shared.workers])
    executed = sum(int(x.context[Word.EXECUTED]) for x in shared.workers)
    counts = Counts(executed, steps, deadline.seconds, size, completed=True, machine="native")
    return NativeOutcome(flags, deadline.seconds, counts)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _steps(of_blocks: NDArray[np.int64], size: int) -> int:
    """Return the steps of a launch: of each wave of blocks, those of the warp that stepped most."""
    waves = np.arange(0, len(of_blocks), size)
    return int(np.maximum.reduceat(of_blocks, waves).sum())


def _drive(shared: SharedState) -> None:
    """Run all workers, the first in this thread."""
    first, *others = shared.workers
    threads = [threading.Thread(target=x.finish, daemon=True) for x in others]
    for thread in threads:
        thread.start()
    first.finish()
    for thread in threads:
        thread.join()
    for worker in shared.workers:
        if worker.error is not None:
            raise worker.error
