# SPDX-License-Identifier: MIT
"""A launch: chunk after chunk of its blocks, as many at once as memory allows."""

from collections.abc import Iterator
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import LaunchLimitError
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import CausalityOrder, order_of_launch
from wmma_emu.ptx.fills import Fill
from wmma_emu.ptx.findings import CHECKS, Sightings
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.machine.limits import Counts, Deadline, Limits
from wmma_emu.ptx.machine.printing import Printed
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.launch import LaunchRaces, UnwatchedWriteError, ranges_written
from wmma_emu.ptx.memory.races.locks import Locks
from wmma_emu.ptx.memory.races.race import Raced
from wmma_emu.ptx.memory.races.suspects import Suspects
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.orders import Order, order_of
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.threads import Dim3, Threads
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.environment import in_ieee_arithmetic

_THREADS_AT_ONCE = 1 << 16
"""Threads of a chunk: more gain nothing, since their registers leave the cache."""


class Records(Protocol):
    """What notes how a launch goes: it makes the memory and the execution of each chunk, which tell it."""

    def begin(self) -> None:
        """Forget what was noted: the launch begins, or begins anew."""

    def memory(
        self, program: KernelProgram, heap: GlobalMemory, parameters: bytes, threads: Threads, shared_bytes: int,
        findings: Sightings, causality: CausalityOrder, checks: frozenset[str], races: LaunchRaces | None, fill: Fill,
    ) -> WaveMemory:  # fmt: skip
        """Make the memory of a chunk of blocks."""

    def execution(
        self, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None
    ) -> WaveExecution:
        """Make what executes a chunk of blocks."""


@in_ieee_arithmetic
def run(
    compiled: CompiledProgram,
    heap: GlobalMemory,
    parameters: bytes,
    grid: Dim3,
    block: Dim3,
    dynamic_shared_bytes: int,
    *,
    binding: CompileContext,
    findings: Sightings,
    limits: Limits = Limits(),  # noqa: B008 - immutable
    schedule: int | None = None,
    checks: frozenset[str] = frozenset(CHECKS),
    fill: str | int = "zeros",
    raced: Raced | None = None,
    suspects: Suspects | None = None,
    recorder: Records | None = None,
) -> Counts:
    """Execute a kernel over a grid.

    Blocks run in chunks, in the order of their index; all blocks of a chunk run side by side.

    ``parameters`` are those of the kernel, laid out. ``schedule`` is the seed of another order of warps, of blocks, and
    of threads that meet at one address, or `BACKWARDS`; ``findings`` are to be of the same ``checks``. ``raced`` is
    told what the races are about; with ``suspects`` the launch is run again because of its races: nothing is undefined
    but what these loads give. ``recorder`` notes how it goes.
    """
    deadline = Deadline(limits)
    more: frozenset[int] = frozenset()
    while True:
        try:
            counts = _run_once(
                compiled, heap, parameters, grid, block, dynamic_shared_bytes, binding, findings, limits, schedule,
                checks, fill, deadline, more, raced, suspects, recorder,
            )  # fmt: skip
            findings.leave_lesser_out()
            return counts
        except UnwatchedWriteError as error:  # as if it had not begun
            more |= error.found
            findings.clear()
            heap.reset()


def _run_once(
    compiled: CompiledProgram, heap: GlobalMemory, parameters: bytes, grid: Dim3, block: Dim3,
    dynamic_shared_bytes: int, binding: CompileContext, findings: Sightings, limits: Limits, schedule: int | None,
    checks: frozenset[str], fill: str | int, deadline: Deadline, more: frozenset[int], raced: Raced | None,
    suspects: Suspects | None,
    recorder: Records | None,
) -> Counts:  # fmt: skip
    """Execute a kernel from the beginning; ``more`` are ranges of the heap that it writes, beyond what it seems to."""
    program = compiled.program
    size = blocks_at_once(compiled, heap, grid, block, dynamic_shared_bytes, limits)
    order = order_of(schedule)
    warps = -(-prod(block) // LANES)
    causality = order_of_launch(prod(grid), warps, program.instructions, is_asked="races" in checks)
    uninitialised = Fill(fill)
    instructions, steps, completed = 0, 0, True
    printed = Printed()
    races: LaunchRaces | None = None
    locks: Locks | None = None
    if "races" in checks:
        watched = ranges_written(heap, parameters, compiled.written) | more
        if compiled.polls.lock_attempts and size >= prod(grid):
            locks = Locks((prod(grid), warps, LANES))
        races = LaunchRaces(heap, causality, watched, compiled.polls, locks, raced, suspects, deadline.look)
    make_memory, make_execution = WaveMemory, WaveExecution
    if recorder is not None:
        recorder.begin()
        make_memory, make_execution = recorder.memory, recorder.execution  # type: ignore[assignment]
    for blocks in _waves(prod(grid), size, order):
        threads = Threads(grid, block, blocks, heap.workspace)
        causality.begin(blocks)
        memory = make_memory(
            program, heap, parameters, threads, dynamic_shared_bytes, findings, causality, checks, races, uninitialised
        )
        state = State(program, binding.arch, threads, causality, memory, findings, order, checks, uninitialised)
        state.output, state.look = printed, deadline.look
        execution = make_execution(compiled, state, deadline, order)
        try:
            with np.errstate(all="ignore"):
                execution.run(None if races is None else races.end_wave)
        except LaunchLimitError as error:
            error.output = printed.text
            raise
        instructions += execution.instructions
        steps += state.steps
        if not execution.completed:
            completed = False
            break
    return Counts(
        instructions, steps, deadline.seconds, size, completed, printed.text, tuple(printed), printed.left_out,
        completed and locks is not None and locks.may_hide(),
    )  # fmt: skip


def _waves(count: int, size: int, order: Order | None) -> Iterator[NDArray[np.int64]]:
    """Give the blocks of a grid some at a time, in their order, or in one that is drawn."""
    chunks = -(-count // size)
    for i in range(chunks) if order is None else map(int, order.permutation(chunks)):
        blocks = np.arange(i * size, min(count, (i + 1) * size), dtype=np.int64)
        yield blocks if order is None else order.permutation(blocks)


def blocks_at_once(
    compiled: CompiledProgram, heap: GlobalMemory, grid: Dim3, block: Dim3, dynamic_shared_bytes: int, limits: Limits
) -> int:
    """Choose how many blocks run side by side: enough for NumPy, few enough for memory."""
    warps = -(-prod(block) // 32)
    program = compiled.program
    registers = sum(-(-bits_of_type(x.type) // 8) for x in program.registers)
    one = WaveMemory.bytes_for(program, 1, warps, dynamic_shared_bytes) + registers * warps * 32
    left = limits.bytes - heap.bytes_used
    if one > left:
        raise LaunchLimitError(
            f"a block takes {one} bytes of memory here, and {max(left, 0)} of {limits.bytes} are left beside the "
            "arrays (max_bytes)"
        )
    at_once = prod(grid) if compiled.is_cooperative else _THREADS_AT_ONCE // (warps * 32)
    return int(max(1, min(prod(grid), at_once, left // max(one, 1))))
