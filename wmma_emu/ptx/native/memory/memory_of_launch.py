# SPDX-License-Identifier: MIT
"""The memory of a launch on the native machine: one heap, and the state of each worker."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.memory.address_map import HEAP
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.launch import ranges_written
from wmma_emu.ptx.memory.shared_layout import reserved_begin, shared_end, shared_pieces
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.memory.state import (
    LINE,
    MOST_BLOCKS,
    RANGE_BYTES,
    SLOTS,
    STATE,
    STATE_BYTES,
    WARP_STATE_BYTES,
    Range,
    RangeFlag,
    Shadow,
    Stamp,
    StateField,
    checks_of,
)
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.program.special import RESERVED_BYTES, reads_reserved_shared
from wmma_emu.ptx.program.written import Written

_MOST_LOCAL = 1 << 26
"""The largest local memory of a block, in bytes: it is prepared for every block."""

_PAGE = 4096

_LINES_AT_ONCE = 1 << 12
"""The lines whose records are compared at once: their copies have 1 MiB each, which no limit counts."""


class NativeMemory:
    """The memory of a launch: the heap, which all workers share, and the memory of the block of each worker.

    Parameters
    ----------
    program : KernelProgram
        The kernel.
    heap : GlobalMemory
        All arrays are mapped.
    parameters : bytes
        The kernel's parameters in their memory layout.
    written : Written
        What the kernel may write: `wmma_emu.ptx.program.written.written_by`.
    blocks, warps : int
        The blocks of the grid, and the warps of a block.
    dynamic_shared_bytes : int
        The size of dynamic shared memory.

    Raises
    ------
    NotNativeError
        If the launch needs memory that has no native code.
    """

    def __init__(
        self, program: KernelProgram, heap: GlobalMemory, parameters: bytes, written: Written, blocks: int, warps: int,
        dynamic_shared_bytes: int,
    ) -> None:  # fmt: skip
        if program.frames:
            raise NotNativeError("frames of functions in local memory have no native code")
        if blocks > MOST_BLOCKS:
            raise NotNativeError(f"a grid of more than {MOST_BLOCKS} blocks has no native code")
        if warps * LANES * program.local_bytes > _MOST_LOCAL:
            raise NotNativeError(f"more than {_MOST_LOCAL >> 20} MiB of local memory of a block have no native code")
        self.program, self.heap, self.warps = program, heap, warps
        self.granule = checks_of(program).granule
        self.parameters = np.zeros(max(program.parameter_bytes, 8), np.uint8)
        given = np.frombuffer(parameters[: program.parameter_bytes], np.uint8)
        self.parameters[: len(given)] = given
        self.shared_bytes = shared_end(program, dynamic_shared_bytes)
        self.shadow = _shadow_of_block(program, dynamic_shared_bytes)
        watched = ranges_written(heap, parameters, written)
        self.order, self.ranges, self.granules = _ranges(heap, watched, self.granule)

    def worker(self, context: NDArray[np.uint64], records_of: "WorkerMemory | None" = None) -> "WorkerMemory":
        """Make the memory of a worker, with its own records or those of another, and enter it in its context."""
        return WorkerMemory(self, context, records_of)

    def note_written(self, workers: Sequence["WorkerMemory"]) -> None:
        """Record in the heap which ranges were written: `GlobalMemory.copy_back` copies those."""
        for worker in workers:
            for row in np.flatnonzero(worker.ranges[1:, Range.WRITTEN]).tolist():
                self.heap.written.add(self.order[row])


class WorkerMemory:
    """The memory of a worker: the memory of its block, and its records of accesses to the heap."""

    def __init__(
        self, memory: NativeMemory, context: NDArray[np.uint64], records_of: "WorkerMemory | None"
    ) -> None:  # fmt: skip
        size, warps, program = memory.shared_bytes, memory.warps, memory.program
        threads = warps * LANES
        heap = memory.heap
        records = -(-size // memory.granule) + LINE
        self._shared = np.zeros(size + 64, np.uint8)
        self._shared_records = np.zeros((2, records), np.uint32)
        self._shared_shadow = memory.shadow.copy()
        self._local = zeroed(threads * program.local_bytes + 64)
        self._local_shadow = zeroed(threads * program.local_bytes + 64)
        self._has_records = records_of is None
        if records_of is None:
            self.writes, self.reads = (zeroed(memory.granules, np.uint64) for _ in range(2))
            self.line_writes, self.line_reads = (zeroed(memory.granules // LINE, np.uint64) for _ in range(2))
            self.ranges = memory.ranges.copy()
        else:
            self.writes, self.reads, self.ranges = records_of.writes, records_of.reads, records_of.ranges
            self.line_writes, self.line_reads = records_of.line_writes, records_of.line_reads
        self._warps = np.empty(warps * WARP_STATE_BYTES, np.uint8)  # `begin_block` clears what is not written first
        self._state = np.zeros(STATE_BYTES // 8, np.uint64)
        self._memory, self._context = memory, context
        state: dict[int, int] = {
            StateField.SHARED_WRITES: _at(self._shared_records[0]),
            StateField.SHARED_READS: _at(self._shared_records[1]),
            StateField.SHARED_RECORDS_BYTES: 4 * records, StateField.SHARED_SHADOW: _at(self._shared_shadow),
            StateField.SHADOW_OF_BLOCK: _at(memory.shadow), StateField.LOCAL_SHADOW: _at(self._local_shadow),
            StateField.LOCAL_SHADOW_BYTES: threads * program.local_bytes,
            StateField.WRITES: _at(self.writes), StateField.READS: _at(self.reads),
            StateField.LINE_WRITES: _at(self.line_writes), StateField.LINE_READS: _at(self.line_reads),
            StateField.RANGES: _at(self.ranges), StateField.RANGE_COUNT: len(self.ranges) - 1,
            StateField.UNINITIALISED: _at(heap.uninitialised.kept) if heap.has_uninitialised else 0,
            StateField.BARRIERS: 1 << Stamp.BARRIERS, StateField.WARPS: _at(self._warps),
            StateField.PARAMETER_BYTES: program.parameter_bytes,
            StateField.HAS_PRODUCTS: any(x.mnemonic == "wgmma" for x in program.instructions),
        }  # fmt: skip
        for index, value in state.items():
            self._state[index] = value % (1 << 64)
        self._state[StateField.SLOTS : StateField.SLOTS + SLOTS] = _at(self.ranges)
        words: dict[int, int] = {
            Word.PARAMETERS: _at(memory.parameters), Word.HEAP: _at(heap.buffer) - HEAP,
            Word.SHARED: _at(self._shared), Word.SHARED_BYTES: size,
            Word.LOCAL: _at(self._local), Word.LOCAL_BYTES: program.local_bytes, STATE: _at(self._state),
        }  # fmt: skip
        for index, value in words.items():
            context[index] = value % (1 << 64)

    @property
    def bytes_of_records(self) -> int:
        """The bytes that the records of global memory take at most so far, as pages of the host."""
        pages = min(int(self._state[StateField.EXPANDED]) * 2 * _PAGE, self.writes.nbytes + self.reads.nbytes)
        return pages + self._has_records * (self.line_writes.nbytes + self.line_reads.nbytes)


def _at(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)


def _shadow_of_block(program: KernelProgram, dynamic: int) -> NDArray[np.uint8]:
    """Return the shadow of shared memory when a block begins: gaps and uninitialised bytes."""
    shadow = np.full(shared_end(program, dynamic) + 64, Shadow.GAP, np.uint8)
    for lo, hi in shared_pieces(program, dynamic):
        shadow[lo:hi] = 0
    if reads_reserved_shared(program):
        begin = reserved_begin(program, dynamic)
        shadow[begin : begin + RESERVED_BYTES] = Shadow.WRITTEN
    return shadow


def _ranges(
    heap: GlobalMemory, watched: frozenset[int], granule: int
) -> tuple[list[int], NDArray[np.uint64], int]:  # fmt: skip
    """Return the heap's indices of the ranges, their words, and the number of granules that are watched.

    The device heap is not one of them: access to a block that ``malloc`` returned in an earlier launch raises a flag.
    """
    base = _at(heap.buffer)
    first = [heap.placement.address_at(x.lo) for x in heap.ranges]
    device_heap = None if heap.device_heap is None else heap.device_heap_range
    order = sorted((i for i in range(len(first)) if i != device_heap), key=first.__getitem__)
    words = np.zeros((1 + len(order), RANGE_BYTES // 8), np.uint64)
    line, granules = LINE * granule, 0
    for row, i in enumerate(order, 1):
        found, flags = heap.ranges[i], 0
        flags |= RangeFlag.WRITEABLE * found.writeable
        if i < heap.device_heap_range and not found.writeable:
            flags |= RangeFlag.CONSTANT
        if i in watched:
            flags |= RangeFlag.WATCHED
            begin = first[i] // line * line
            words[row, Range.RECORDS] = (granules * granule - begin) % (1 << 64)
            granules += -(-(first[i] + found.hi - found.lo - begin) // line) * LINE
        words[row, Range.FIRST] = first[i]
        words[row, Range.SPAN] = found.hi - found.lo
        words[row, Range.HOST] = (base + found.lo - first[i]) % (1 << 64)
        words[row, Range.POSITION] = (found.lo - first[i]) % (1 << 64)
        words[row, Range.FLAGS] = flags
    return order, words, granules + LINE


def races_between_workers(workers: Sequence[WorkerMemory]) -> bool:
    """Return whether blocks of two workers race on global memory, or change bytes in an order that changes bits."""
    for i, one in enumerate(workers):
        for other in workers[i + 1 :]:
            if _race(one, other):
                return True
    return False


def _race(one: WorkerMemory, other: WorkerMemory) -> bool:
    lines = (one.line_writes | one.line_reads) != 0
    lines &= (other.line_writes | other.line_reads) != 0
    found = np.flatnonzero(lines)
    for first in range(0, len(found), _LINES_AT_ONCE):
        some = found[first : first + _LINES_AT_ONCE]
        (w, r), (v, q) = _granules(one, some), _granules(other, some)
        if ((w != 0) & ((v | q) != 0)).any() or ((v != 0) & (r != 0)).any():
            return True
        a, b = (x >> np.uint64(Stamp.ATOMIC) & np.uint64(3) for x in (r, q))
        has_read = (r | q) & np.uint64(1 << Stamp.IS_READ) != 0
        if ((a != 0) & (b != 0) & ((a != b) | (a == 3))).any() or (
            has_read & ((a | b) != 0) & (r != 0) & (q != 0)
        ).any():
            return True
    return False


def _granules(worker: WorkerMemory, lines: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the records of the writes and of the reads of the granules of some lines, (lines, LINE)."""
    expanded = (worker.line_writes[lines] >> np.uint64(Stamp.EXPANDED) != 0)[:, None]
    writes, reads = (x.reshape(-1, LINE)[lines] for x in (worker.writes, worker.reads))
    return (
        np.where(expanded, writes, worker.line_writes[lines, None]),
        np.where(expanded, reads, worker.line_reads[lines, None]),
    )
