# SPDX-License-Identifier: MIT
"""A launch on the native machine: workers that run blocks on threads, until no block is left or a flag is raised."""

import threading

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.blocks import available_cores
from wmma_emu.ptx.machine.limits import Counts, Deadline, Limits
from wmma_emu.ptx.machine.run import blocks_at_once
from wmma_emu.ptx.native import workers
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.memory_of_launch import flags_between_workers
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.native.wave_launch import can_run_in_waves, run_in_waves
from wmma_emu.ptx.native.workers import IDLE, Launching, NativeOutcome, SharedState, shape_of
from wmma_emu.scalar.environment import in_ieee_arithmetic

_NO_FLAGS = Flag(0)

WORTH_A_THREAD = 5e-4
"""The seconds of work that are worth a thread, which takes about a fifth of this to start."""


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
    shape = shape_of(table, block, launching.dynamic_bytes)
    size = blocks_at_once(shape.bytes_of_block, heap, grid, block, limits)
    if table.needs_waves:
        if not can_run_in_waves(launching, shape, size, limits):
            raise NotNativeError("the kernel depends on the order of threads, and its blocks cannot run together")
        return run_in_waves(launching, shape, deadline, size)
    shared = SharedState(launching, shape, deadline)
    first = shared.begin_worker()
    before = deadline.seconds
    if not first.advance(workers.FIRST_FUEL):
        for _ in range(_others(shared, deadline.seconds - before)):
            shared.begin_worker()
        shared.share()
        _drive(shared)
    flags = shared.flags
    if not flags and len(shared.workers) > 1:
        flags |= flags_between_workers([x.memory for x in shared.workers])
    in_order = Flag.UNORDERED | (Flag.RACE if table.is_logged and size >= shared.blocks else 0)
    if flags and not flags & ~in_order and can_run_in_waves(launching, shape, size, limits):
        heap.reset()
        return run_in_waves(launching, shape, deadline, size)
    steps = _steps(shared.block_steps, size)
    if shared.is_over_limit or steps > limits.steps:
        flags |= Flag.LIMIT
    if flags:
        return NativeOutcome(Flag(flags), deadline.seconds)
    shared.memory.note_written([x.memory for x in shared.workers])
    executed = sum(int(x.context[Word.EXECUTED]) for x in shared.workers)
    IDLE.give(shared.workers)
    counts = Counts(executed, steps, deadline.seconds, size, completed=True, machine="native")
    return NativeOutcome(_NO_FLAGS, counts.seconds, counts)


def _others(shared: SharedState, seconds: float) -> int:
    """Return the number of workers that are worth their threads after the first has run for some seconds."""
    begun = int(shared.next_block[0])
    left = shared.blocks - begun
    return min(available_cores() - 1, left, int(left * seconds / begun / WORTH_A_THREAD))


def _steps(of_blocks: NDArray[np.int64], size: int) -> int:
    """Return the steps of a launch: of each wave of blocks, those of the warp that stepped most."""
    waves = np.arange(0, len(of_blocks), size)
    return int(np.maximum.reduceat(of_blocks, waves).sum())


def _drive(shared: SharedState) -> None:
    """Run all workers, the first in this thread."""
    first, *others = shared.workers
    threads = [threading.Thread(target=x.finish, daemon=True) for x in others]
    try:
        for thread in threads:
            thread.start()
        first.finish()
        for thread in threads:
            thread.join()
    finally:  # an interrupt of this thread ends the others, too
        shared.stop = True
    for worker in shared.workers:
        if worker.error is not None:
            raise worker.error
