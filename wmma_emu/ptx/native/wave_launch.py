# SPDX-License-Identifier: MIT
"""A launch whose result depends on the order of its threads: wave by wave, in the order of the NumPy machine."""

import ctypes
import time
from collections.abc import Callable
from math import prod

import numpy as np

from wmma_emu.ptx.machine.limits import Counts, Deadline, Limits
from wmma_emu.ptx.machine.scheduler import PATIENCE
from wmma_emu.ptx.native.blocks import DONE
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import MachineWord, PickedWarp, WaveWord
from wmma_emu.ptx.native.memory.log import LogWord
from wmma_emu.ptx.native.memory.order import are_ordered
from wmma_emu.ptx.native.table import LIBRARY
from wmma_emu.ptx.native.wave_driver import BEGIN_WAVE, RUN_WAVE, define_begin_wave, define_run_wave
from wmma_emu.ptx.native.workers import FIRST_FUEL, SLICE, Launching, NativeOutcome, SharedState, Worker

_MOST_FUEL = 1 << 40

_LOG_WORDS = 1 << 20
"""The words of the entries of a log, 8 MiB: a wave that logs more runs on the NumPy machine."""


def can_run_in_waves(launching: Launching, size: int, limits: Limits) -> bool:
    """Return whether the blocks of a wave can run together: the kernel permits it, and they fit in memory."""
    table = launching.table
    warps = -(-prod(launching.block) // 32)
    needed = min(size, prod(launching.grid)) * (warps * table.layout.bytes + launching.dynamic_bytes)
    return table.permits_waves and launching.heap.bytes_used + needed <= limits.bytes


def run_in_waves(launching: Launching, deadline: Deadline, size: int) -> NativeOutcome:
    """Run a launch in waves of at most ``size`` blocks, with a context for each block of a wave."""
    wave = _Wave(launching, deadline, size)
    blocks = prod(launching.grid)
    for first in range(0, blocks, size):
        wave.run(first, min(size, blocks - first))
        if wave.steps > deadline.limits.steps:
            return NativeOutcome(Flag.LIMIT, deadline.seconds)
        if wave.flags or not wave.is_ordered():
            return NativeOutcome(wave.flags or Flag.RACE, deadline.seconds)
    return NativeOutcome(wave.flags, deadline.seconds, wave.counts(size))


class _Wave:
    """The contexts and the state of the blocks that run together."""

    def __init__(self, launching: Launching, deadline: Deadline, size: int) -> None:
        self._deadline, self._launching = deadline, launching
        self._is_logged = launching.table.is_logged and size >= prod(launching.grid)
        self._shared = shared = SharedState(launching, deadline)
        first = Worker(shared)
        others = (Worker(shared, first) for _ in range(min(size, prod(launching.grid)) - 1))
        self._workers = [first, *others]
        self._contexts = np.array([x.context.ctypes.data for x in self._workers], np.int64)
        warps = len(self._workers) * shared.threads.num_warps
        self._picked = np.zeros((warps, PickedWarp.COUNT_OF_WORDS), np.int64)
        self._last = np.zeros(len(launching.table.blocks), np.int64)
        self._words = np.zeros(WaveWord.COUNT_OF_WORDS, np.int64)
        for index, value in {
            WaveWord.TABLE: launching.table.blocks.ctypes.data, WaveWord.CONTEXTS: self._contexts.ctypes.data,
            WaveWord.PICKED: self._picked.ctypes.data, WaveWord.LAST: self._last.ctypes.data,
            WaveWord.HAS_EXACT_TURNS: int(launching.table.has_exact_turns),
        }.items():  # fmt: skip
            self._words[index] = value
        self._log = np.zeros(LogWord.COUNT_OF_WORDS + _LOG_WORDS if self._is_logged else 0, np.int64)
        if self._is_logged:
            self._log[LogWord.SPACE] = _LOG_WORDS
            for worker in self._workers:
                worker.context[MachineWord.LOG] = self._log.ctypes.data
        addresses = LIBRARY.addresses({BEGIN_WAVE: define_begin_wave, RUN_WAVE: define_run_wave})
        self._begin: Callable[..., None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses[BEGIN_WAVE])
        self._run: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(addresses[RUN_WAVE])

    @property
    def steps(self) -> int:
        """The steps of all waves so far."""
        return int(self._words[WaveWord.STEPS])

    @property
    def flags(self) -> Flag:
        """The flags that count: the order of the threads equals the NumPy machine's."""
        limit = Flag.LIMIT if self._shared.is_over_limit else Flag(0)
        return (self._shared.flags | limit) & ~Flag.UNORDERED

    def run(self, first: int, count: int) -> None:
        """Run the blocks of a wave until all threads have exited, or a flag is raised, or a limit is exceeded."""
        words, shared = self._words, self._shared
        for index, value in {
            WaveWord.FIRST: first, WaveWord.COUNT: count, WaveWord.PICKS: 0, WaveWord.PATIENCE: PATIENCE,
            WaveWord.TURNS: 0, WaveWord.IS_TOGETHER: 1, WaveWord.BLOCK: 0, WaveWord.QUIET: 0,
        }.items():  # fmt: skip
            words[index] = value
        self._last[:] = 0
        self._begin(words.ctypes.data)
        fuel = FIRST_FUEL
        while not shared.stop:
            words[WaveWord.FUEL] = fuel
            begin = time.perf_counter()
            if self._run(words.ctypes.data) == DONE or self.flags:
                break
            shared.check(self.steps)
            seconds = time.perf_counter() - begin
            fuel = min(int(fuel * min(max(SLICE / max(seconds, 1e-6), 0.1), 10)) + 1, _MOST_FUEL)

    def is_ordered(self) -> bool:
        """Return whether the conflicts in the log are ordered; without a log, there would be flags."""
        if not self._is_logged:
            return True
        threads, table = self._shared.threads, self._launching.table
        log = self._log[LogWord.COUNT_OF_WORDS :][: int(self._log[LogWord.USED])]
        shape = len(self._workers), threads.num_warps, 32
        exists = np.broadcast_to(True if threads.exists is None else threads.exists, shape)
        return are_ordered(log, table.layout.logged, table.compiled.program, exists)

    def counts(self, size: int) -> Counts:
        """Return the counts of a launch that has ended, after the heap knows what was written."""
        self._shared.memory.note_written([self._workers[0].memory])
        executed = sum(int(x.context[Word.EXECUTED]) for x in self._workers)
        return Counts(executed, self.steps, self._deadline.seconds, size, completed=True, machine="native")
