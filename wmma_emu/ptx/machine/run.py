# SPDX-License-Identifier: MIT
"""A launch: its blocks run wave by wave, each wave with as many blocks as memory allows."""

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import LaunchLimitError
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.asynchrony import EAGER, Asynchrony
from wmma_emu.ptx.causality import CausalityOrder, order_of_launch
from wmma_emu.ptx.clock import Clock
from wmma_emu.ptx.fills import Fill
from wmma_emu.ptx.findings import CHECKS, Sightings
from wmma_emu.ptx.machine.compile import CompiledProgram
from wmma_emu.ptx.machine.limits import Counts, Deadline, Interrupted, Limits
from wmma_emu.ptx.machine.printing import Printed
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.launch import LaunchRaces, UnwatchedWriteError, ranges_written
from wmma_emu.ptx.memory.races.locks import Locks
from wmma_emu.ptx.memory.races.race import RacedBytes
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
"""Threads of a wave: more are not faster, since their registers no longer fit the cache."""


class LaunchRecorder(Protocol):
    """Records the course of a launch: makes the memory and the execution of each wave, which report to it."""

    def begin(self) -> None:
        """Discard what was recorded: the launch begins, or restarts."""

    def memory(
        self, program: KernelProgram, heap: GlobalMemory, parameters: bytes, threads: Threads, shared_bytes: int,
        findings: Sightings, causality: CausalityOrder, checks: frozenset[str], races: LaunchRaces | None, fill: Fill,
    ) -> WaveMemory:  # fmt: skip
        """Make the memory of a wave of blocks."""

    def execution(
        self, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None
    ) -> WaveExecution:
        """Make the execution of a wave of blocks."""


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
    raced: RacedBytes | None = None,
    suspects: Suspects | None = None,
    recorder: LaunchRecorder | None = None,
    cooperative: bool = False,
    spent: float = 0,
    asynchrony: Asynchrony = EAGER,
) -> Counts:
    """Execute a kernel over a grid.

    Blocks run in waves, in the order of their index; all blocks of a wave run concurrently.

    ``parameters`` are the kernel's parameters in their memory layout. ``schedule`` is the seed of another order of
    warps, of blocks, and of threads that access one address, or `BACKWARDS`; ``findings`` must be for the same
    ``checks``. ``raced`` collects the bytes that are in races. ``suspects`` is given when the launch is run again
    because of its races: only the loads that it names are undefined then. ``recorder`` records the course of the
    launch. ``cooperative`` is whether all blocks run at the same time, as blocks that wait for each other must.
    ``spent`` are the seconds of the time limit that have passed already. ``asynchrony`` is when asynchronous
    operations move their data.
    """
    deadline = Deadline(limits, spent=spent)
    more: frozenset[int] = frozenset()
    while True:
        try:
            counts = _run_once(
                compiled, heap, parameters, grid, block, dynamic_shared_bytes, binding, findings, limits, schedule,
                checks, fill, deadline, more, raced, suspects, recorder, cooperative, asynchrony,
            )  # fmt: skip
            findings.leave_lesser_out()
            return counts
        except UnwatchedWriteError as error:  # restart, as if the launch had not begun
            more |= error.found
            findings.clear()
            heap.reset()


def _run_once(
    compiled: CompiledProgram, heap: GlobalMemory, parameters: bytes, grid: Dim3, block: Dim3,
    dynamic_shared_bytes: int, binding: CompileContext, findings: Sightings, limits: Limits,
    schedule: int | None,
    checks: frozenset[str], fill: str | int, deadline: Deadline, more: frozenset[int],
    raced: RacedBytes | None,
    suspects: Suspects | None, recorder: LaunchRecorder | None, cooperative: bool, asynchrony: Asynchrony,
) -> Counts:  # fmt: skip
    """Execute a kernel from the beginning.

    ``more`` are ranges of the heap that the kernel writes, although the analysis of its stores missed them.
    """
    if compiled.stack is not None:
        program = replace(compiled.program, local_bytes=compiled.stack.bytes_for(limits.stack))
        compiled = replace(compiled, program=program)
    program = compiled.program
    size_of_wave = _require_all_at_once if cooperative else blocks_at_once
    size = size_of_wave(bytes_of_block(program, block, dynamic_shared_bytes), heap, grid, block, limits)
    order = order_of(schedule)
    warps = -(-prod(block) // LANES)
    causality = order_of_launch(prod(grid), warps, program.instructions, is_used="races" in checks)
    uninitialised = Fill(fill)
    instructions, steps, completed = 0, 0, True
    printed, clock = Printed(), Clock(compiled.polls.timers)
    races: LaunchRaces | None = None
    locks: Locks | None = None
    if "races" in checks:
        watched = ranges_written(heap, parameters, compiled.written) | more
        if compiled.polls.lock_attempts and size >= prod(grid):
            locks = Locks((prod(grid), warps, LANES))
        races = LaunchRaces(heap, causality, watched, compiled.polls, locks, raced, suspects, deadline.check)
    make_memory, make_execution = WaveMemory, WaveExecution
    if recorder is not None:
        recorder.begin()
        make_memory, make_execution = recorder.memory, recorder.execution  # type: ignore[assignment]
    for blocks in _waves(prod(grid), size, order):
        threads = Threads(grid, block, blocks)
        causality.begin(blocks)
        memory = make_memory(
            program, heap, parameters, threads, dynamic_shared_bytes, findings, causality, checks, races, uninitialised
        )
        memory.asynchrony = asynchrony
        state = State(program, binding.arch, threads, causality, memory, findings, order, checks, uninitialised)
        state.output, state.check_time, state.clock = printed, deadline.check, clock
        execution = make_execution(compiled, state, deadline, order)
        try:
            with np.errstate(all="ignore"):
                execution.run(None if races is None else races.end_wave)
        except LaunchLimitError as error:
            error.output = printed.text
            findings.leave_lesser_out()
            error.interrupted = Interrupted(
                Counts(
                    instructions + execution.instructions, steps + state.steps, deadline.seconds, size, False,
                    printed.text, tuple(printed), printed.left_out,
                ),
                list(findings),
            )  # fmt: skip
            raise
        instructions += execution.instructions
        steps += state.steps
        clock.end_wave(state.steps)
        if execution.completed:
            state.memory.finish()
        if not execution.completed:
            completed = False
            break
    return Counts(
        instructions, steps, deadline.seconds, size, completed, printed.text, tuple(printed), printed.left_out,
        completed and locks is not None and locks.may_hide(),
    )  # fmt: skip


def _waves(count: int, size: int, order: Order | None) -> Iterator[NDArray[np.int64]]:
    """Yield the blocks of each wave, in the order of their numbers or in a drawn one."""
    waves = -(-count // size)
    for i in range(waves) if order is None else map(int, order.permutation(waves)):
        blocks = np.arange(i * size, min(count, (i + 1) * size), dtype=np.int64)
        yield blocks if order is None else order.permutation(blocks)


def blocks_at_once(one: int, heap: GlobalMemory, grid: Dim3, block: Dim3, limits: Limits) -> int:
    """Choose the number of blocks of a wave: enough for NumPy to be fast, few enough for memory.

    ``one`` is the number of bytes of a block.
    """
    left = limits.bytes - heap.bytes_used
    if one > left:
        raise LaunchLimitError(
            f"one block needs {one} bytes of host memory, but only {max(left, 0)} of {limits.bytes} are left after the "
            "arrays; raise max_bytes"
        )
    warps = -(-prod(block) // LANES)
    return int(max(1, min(prod(grid), _THREADS_AT_ONCE // (warps * LANES), left // max(one, 1))))


def _require_all_at_once(one: int, heap: GlobalMemory, grid: Dim3, block: Dim3, limits: Limits) -> int:
    """Return the number of blocks of a grid that runs as one wave, if the memory is sufficient."""
    needed = prod(grid) * one
    left = limits.bytes - heap.bytes_used
    if needed > left:
        raise LaunchLimitError(
            f"the {prod(grid)} blocks of a cooperative launch run at the same time and need {needed} bytes of host "
            f"memory, but only {max(left, 0)} of {limits.bytes} are left after the arrays; raise max_bytes, or launch "
            "fewer blocks"
        )
    return prod(grid)


def bytes_of_block(program: KernelProgram, block: Dim3, dynamic_shared_bytes: int) -> int:
    """Return the bytes that a block takes on the NumPy machine."""
    warps = -(-prod(block) // LANES)
    registers = sum(-(-bits_of_type(x.type) // 8) for x in program.registers)
    return WaveMemory.bytes_for(program, 1, warps, dynamic_shared_bytes) + registers * warps * LANES
