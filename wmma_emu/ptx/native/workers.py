# SPDX-License-Identifier: MIT
"""Workers: each runs blocks on one thread, with its own context and memory, until no block is left or it must stop."""

import ctypes
import time
from collections.abc import Callable, Iterable
from functools import reduce
from math import prod
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.instructions import Arch
from wmma_emu.instructions.launches import Dim3
from wmma_emu.instructions.residency import residency_of
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.machine.limits import Counts, Deadline
from wmma_emu.ptx.machine.run import bytes_of_block
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.native.blocks import DONE
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import BarrierField, MachineWord
from wmma_emu.ptx.native.leave import BARRIERS
from wmma_emu.ptx.native.memory.memory_of_launch import BlockMemory, NativeMemory, WorkerMemory
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.native.table import KernelTable
from wmma_emu.ptx.native.warp_image import filled_words
from wmma_emu.ptx.native.warp_layout import HEAD_BYTES, STEPS
from wmma_emu.ptx.pages import aligned
from wmma_emu.scalar.environment import in_ieee_arithmetic

FIRST_FUEL = 1 << 12
"""The steps of warps that one thread runs before others are started."""

SLICE = 0.05
"""The seconds after which a worker looks for interrupts and limits."""

_MOST_FUEL = 1 << 40

_TURNS, _MOST_TAKEN = 32, 64
"""The times that a worker takes blocks at least, if there are as many, and the most blocks that it takes at once."""


class LaunchShape:
    """The parts of a launch that depend only on its kernel, its block and its dynamic shared memory.

    ``bytes_of_block`` are the bytes that the NumPy machine needs for a block.
    """

    def __init__(self, table: KernelTable, block: Dim3, dynamic_bytes: int) -> None:
        program = table.compiled.program
        self.table, self.block, self.dynamic_bytes = table, block, dynamic_bytes
        self.warps = -(-prod(block) // LANES)
        if table.has_warpgroups and self.warps % 4:
            raise NotNativeError("the last warps of a block do not form a warpgroup")
        self.bytes_of_block = bytes_of_block(program, block, dynamic_bytes)
        self.memory = BlockMemory(program, self.warps, dynamic_bytes)
        self.filled = filled_words(table.layout)
        self.zeroed = np.array(table.layout.zeroed, np.int64).reshape(-1, 2)


_MOST_SHAPES = 16
"""The shapes that are kept for a kernel."""


def shape_of(table: KernelTable, block: Dim3, dynamic_bytes: int) -> LaunchShape:
    """Return the shape of a launch, which is kept for the next one.

    Raises
    ------
    NotNativeError
        If a block has something that has no native code.
    """
    key = block, dynamic_bytes
    found = table.shapes.get(key)
    if not isinstance(found, LaunchShape):
        if len(table.shapes) >= _MOST_SHAPES:
            table.shapes.clear()
        found = table.shapes[key] = LaunchShape(table, block, dynamic_bytes)
    return found


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

    def __init__(self, launching: Launching, shape: LaunchShape, deadline: Deadline) -> None:
        self.launching, self.shape, self.deadline = launching, shape, deadline
        table, grid, heap = launching.table, launching.grid, launching.heap
        self.blocks = grid.x * grid.y * grid.z
        self.image = table.image(grid, launching.block, launching.arch, heap, launching.dynamic_bytes)
        counters = np.zeros(1 + self.blocks, np.int64)
        self.next_block, self.block_steps = counters[:1], counters[1:]
        self.counters = int(counters.ctypes.data)
        self.memory = NativeMemory(shape.memory, heap, launching.parameters, table.compiled.written, self.blocks)
        self.workers: list[Worker] = []
        self.stop = self.is_over_limit = False

    def begin_worker(self) -> "Worker":
        """Return one more worker for the launch."""
        return self._begin(IDLE.take(self.shape) or Worker(self.shape))

    def begin_wave(self, count: int) -> list["Worker"]:
        """Return new workers for the blocks of a wave, which share their records of global memory.

        Their barriers count from 1, unlike those of kept workers: logs have these numbers.
        """
        first = self._begin(Worker(self.shape))
        return [first, *(self._begin(Worker(self.shape, first)) for _ in range(count - 1))]

    def _begin(self, worker: "Worker") -> "Worker":
        worker.begin(self)
        self.workers.append(worker)
        return worker

    def share(self) -> None:
        """Choose the number of blocks that each worker takes at once: few enough that all end at about the same time.

        Workers that take one at a time wait for each other if blocks are short.
        """
        left = self.blocks - int(self.next_block[0])
        count = min(max(left // (_TURNS * len(self.workers)), 1), _MOST_TAKEN)
        for worker in self.workers:
            worker.context[MachineWord.BLOCKS_TAKEN] = count

    @property
    def flags(self) -> int:
        """The flags that any worker has raised."""
        return reduce(or_, (int(x.context[Word.FLAGS]) for x in self.workers))

    def check(self, steps: int) -> None:
        """Stop all workers if a limit is exceeded; ``steps`` is the number of steps of one warp."""
        limits = self.deadline.limits
        used = self.launching.heap.bytes_used + sum(x.memory.bytes_of_records for x in self.workers)
        is_late = limits.seconds is not None and self.deadline.seconds > limits.seconds
        if steps > limits.steps or is_late or used > limits.bytes:
            self.stop = self.is_over_limit = True


class Worker:
    """A worker, which runs blocks one after another with its own context and memory, in one launch after another.

    If ``records_of`` is given, it is for one launch, and records accesses to global memory in the records of another
    worker. ``is_done`` is whether it has nothing left to do, ``error`` what ended `finish` in a thread, ``idle_bytes``
    the bytes that it took when it became idle.
    """

    def __init__(self, shape: LaunchShape, records_of: "Worker | None" = None) -> None:
        self.shape, table, block = shape, shape.table, shape.block
        self._fresh = np.zeros(Word.COUNT, np.int64)
        self.context = np.zeros(Word.COUNT, np.int64)
        self._at = int(self.context.ctypes.data)
        self._size = shape.warps, table.layout.bytes
        self._warps = aligned(prod(self._size))
        self._steps = self._warps.reshape(self._size)[:, STEPS : STEPS + 8].view(np.int64)
        self._barriers = np.zeros((BARRIERS, BarrierField.COUNT_OF_WORDS), np.int64)
        self._image: NDArray[np.uint8] | None = None
        records = None if records_of is None else records_of.memory
        self.memory: WorkerMemory = WorkerMemory(shape.memory, self._fresh.view(np.uint64), records)
        values: dict[int, int] = {
            **{Word[f"BLOCK_{x.upper()}"]: getattr(block, x) for x in "xyz"},
            Word.WARPS: shape.warps,
            Word.WARP_BYTES: table.layout.bytes,
            Word.WARP_MEMORY: self._warps.ctypes.data,
            MachineWord.BLOCKS: table.blocks.ctypes.data,
            MachineWord.THREADS: prod(block),
            MachineWord.ZEROED: shape.zeroed.ctypes.data,
            MachineWord.ZEROED_COUNT: len(shape.zeroed),
            MachineWord.FILLED: shape.filled.ctypes.data,
            MachineWord.FILLED_COUNT: len(shape.filled),
            MachineWord.BARRIERS: self._barriers.ctypes.data,
            MachineWord.WAITING: table.waiting,
            MachineWord.BLOCKS_TAKEN: 1,
        }  # fmt: skip
        for word, value in values.items():
            self._fresh[word] = value
        run: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(table.driver)
        self._run = run
        self.is_done = False
        self.error: BaseException | None = None
        self.idle_bytes = 0

    def begin(self, shared: SharedState) -> None:
        """Prepare the worker for a launch."""
        self._shared, grid = shared, shared.launching.grid
        if self._image is not shared.image:
            self._image = shared.image
            warps = self._warps.reshape(self._size)
            for part in (slice(HEAD_BYTES), slice(self.shape.table.layout.end_of_registers, None)):
                warps[:, part] = shared.image[:, part]
        self.memory.begin(shared.memory)
        fresh = self._fresh
        fresh[Word.GRID_X : Word.GRID_Z + 1] = grid
        fresh[MachineWord.NEXT_BLOCK] = shared.counters
        fresh[MachineWord.LAST_BLOCK] = shared.blocks
        fresh[MachineWord.BLOCK_STEPS] = shared.counters + 8
        fresh[MachineWord.MULTIPROCESSORS] = residency_of(shared.launching.arch).multiprocessors
        self.context[:] = fresh
        self.is_done = False

    def end(self) -> None:
        """Forget the launch, whose arrays must not be kept."""
        del self._shared
        self.idle_bytes = self._warps.nbytes + self.memory.bytes

    def advance(self, fuel: int) -> bool:
        """Run some steps of warps; return whether the worker is at its end."""
        self.memory.clear()
        self.context[Word.FUEL] = fuel
        done = self._run(self._at) == DONE
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
        else:
            self.memory.note_accessed()


class IdleWorkers:
    """Workers that have nothing to do, for the next launch of the same shape; at most ``most`` bytes, the last ones."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: dict[int, Worker] = {}  # threads need no lock: `pop` returns each to one of them

    def take(self, shape: LaunchShape) -> Worker | None:
        """Return a worker for a shape, if there is one."""
        for key, worker in reversed(list(self._idle.items())):
            if worker.shape is shape and self._idle.pop(key, None) is not None:
                return worker
        return None

    def give(self, workers: Iterable[Worker]) -> None:
        """Keep workers whose launch has ended without a flag."""
        for worker in workers:
            worker.end()
            self._idle[id(worker)] = worker
        idle = list(self._idle.items())
        if len(idle) > _MOST_IDLE or sum(x.idle_bytes for _, x in idle) > self._most:
            size = 0
            for i, (key, worker) in enumerate(reversed(idle)):
                size += worker.idle_bytes
                if i >= _MOST_IDLE or size > self._most:
                    self._idle.pop(key, None)


_MOST_IDLE = 64

IDLE = IdleWorkers(1 << 27)
"""The idle workers of this process."""
