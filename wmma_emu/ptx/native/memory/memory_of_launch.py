# SPDX-License-Identifier: MIT
"""The memory of a launch on the native machine: one heap, and the state of each worker."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.races.launch import ranges_written
from wmma_emu.ptx.memory.shared_layout import reserved_begin, shared_end, shared_pieces
from wmma_emu.ptx.native.context import Flag, Word
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

_FEWEST_LINES = 1 << 6
"""The lines for which a worker always has records: 8 KiB of global memory."""

_MOST_CLEARED = 1 << 12
"""The lines whose granules' records are cleared; more take less time as new pages of the system."""

_LINES_AT_ONCE = 1 << 12
"""The lines whose records are compared at once: their copies have 1 MiB each, which no limit counts."""


class BlockMemory:
    """The sizes of the memory of a block, and the shadow with which its shared memory begins.

    They are the same in all launches of a kernel whose blocks have as many warps and as much dynamic shared memory.

    Raises
    ------
    NotNativeError
        If a block needs memory that has no native code.
    """

    def __init__(self, program: KernelProgram, warps: int, dynamic_shared_bytes: int) -> None:
        if program.frames:
            raise NotNativeError("frames of functions in local memory have no native code")
        self.local_bytes = warps * LANES * program.local_bytes
        if self.local_bytes > _MOST_LOCAL:
            raise NotNativeError(f"more than {_MOST_LOCAL >> 20} MiB of local memory of a block have no native code")
        self.program, self.warps = program, warps
        self.granule = checks_of(program).granule
        self.shared_bytes = shared_end(program, dynamic_shared_bytes)
        self.shadow = _shadow_of_block(program, dynamic_shared_bytes)
        self.has_reserved = reads_reserved_shared(program)
        self.has_products = any(x.mnemonic == "wgmma" for x in program.instructions)


class NativeMemory:
    """The memory of a launch: the parameters and the ranges of the heap, which all workers share.

    Parameters
    ----------
    block : BlockMemory
        The memory of each block.
    heap : GlobalMemory
        All arrays are mapped.
    parameters : bytes
        The kernel's parameters in their memory layout.
    written : Written
        What the kernel may write: `wmma_emu.ptx.program.written.written_by`.
    blocks : int
        The blocks of the grid.

    Raises
    ------
    NotNativeError
        If the launch needs memory that has no native code.
    """

    def __init__(
        self, block: BlockMemory, heap: GlobalMemory, parameters: bytes, written: Written, blocks: int
    ) -> None:  # fmt: skip
        if blocks > MOST_BLOCKS:
            raise NotNativeError(f"a grid of more than {MOST_BLOCKS} blocks has no native code")
        self.heap, size = heap, block.program.parameter_bytes
        self.parameters = np.frombuffer(parameters, np.uint8)[:size]
        watched = ranges_written(heap, parameters, written)
        self.order, self.ranges, self.granules = _ranges(heap, watched, block.granule)

    def note_written(self, workers: Iterable["WorkerMemory"]) -> None:
        """Record in the heap which ranges were written: `GlobalMemory.copy_back` copies those."""
        for worker in workers:
            for row in worker.ranges[1:, Range.WRITTEN].nonzero()[0].tolist():
                self.heap.written.add(self.order[row])


class WorkerMemory:
    """The memory of a worker: the memory of its block, and its records of accesses to the heap.

    ``begin`` prepares it for each launch; the checks do not see what earlier launches have left in it. ``lines`` are
    the records of the writes and of the reads of lines, ``granules`` those of granules. If ``records_of`` is given,
    they are shared with another worker of the launch. ``accessed`` are the lines that have records (`note_accessed`).
    """

    def __init__(
        self, block: BlockMemory, context: NDArray[np.uint64], records_of: "WorkerMemory | None" = None
    ) -> None:  # fmt: skip
        size, local = block.shared_bytes, block.local_bytes
        records = -(-size // block.granule) + LINE
        self._parameters = np.zeros(max(block.program.parameter_bytes, 8), np.uint8)
        self._shared = np.zeros(size + 64, np.uint8)
        self._shared_records = np.zeros((2, records), np.uint32)
        self._shared_shadow = block.shadow.copy()
        self._local, self._local_shadow = (zeroed(local + 64) for _ in range(2))
        self._warps = np.empty(block.warps * WARP_STATE_BYTES, np.uint8)  # `begin_block` clears what is not written
        self._state = np.zeros(STATE_BYTES // 8, np.uint64)
        self._block, self._context = block, context  # the state points to the block's shadow
        self._records_of = records_of
        self.accessed = np.zeros(0, np.bool_)
        self._used_lines = self._stale_lines = 0
        if records_of is None:
            self._make_records(0)
            self._make_ranges(8)
        state: dict[int, int] = {
            StateField.SHARED_WRITES: _at(self._shared_records[0]),
            StateField.SHARED_READS: _at(self._shared_records[1]),
            StateField.SHARED_RECORDS_BYTES: 4 * records, StateField.SHARED_SHADOW: _at(self._shared_shadow),
            StateField.SHADOW_OF_BLOCK: _at(block.shadow), StateField.LOCAL_SHADOW: _at(self._local_shadow),
            StateField.LOCAL_SHADOW_BYTES: local, StateField.BARRIERS: 1 << Stamp.BARRIERS,
            StateField.WARPS: _at(self._warps), StateField.PARAMETER_BYTES: block.program.parameter_bytes,
            StateField.HAS_PRODUCTS: int(block.has_products),
        }  # fmt: skip
        for index, value in state.items():
            self._state[index] = value
        words: dict[int, int] = {
            Word.PARAMETERS: _at(self._parameters), Word.SHARED: _at(self._shared), Word.SHARED_BYTES: size,
            Word.LOCAL: _at(self._local), Word.LOCAL_BYTES: block.program.local_bytes, STATE: _at(self._state),
        }  # fmt: skip
        for index, value in words.items():
            context[index] = value

    def begin(self, memory: NativeMemory) -> None:
        """Prepare the memory for a launch, except that `clear` has to be called before it runs."""
        state = self._state
        if self._records_of is None:
            self._begin_records(memory)
        else:
            self._use_records(self._records_of.lines, self._records_of.granules)
            self._use_ranges(self._records_of.ranges)
        state[StateField.RANGE_COUNT] = len(memory.ranges) - 1
        state[StateField.SLOTS : StateField.SLOTS + SLOTS] = state[StateField.RANGES]
        heap = memory.heap
        state[StateField.UNINITIALISED] = _at(heap.uninitialised.kept) if heap.has_uninitialised else 0
        self._parameters[: len(memory.parameters)] = memory.parameters
        if self._block.has_reserved:  # it counts as written, unlike other memory that earlier launches have left
            self._shared.fill(0)

    def _begin_records(self, memory: NativeMemory) -> None:
        """Make room for the records and the ranges of a launch, if there is not enough."""
        rows = len(memory.ranges)
        self._stale_lines = self._used_lines
        if memory.granules > self.granules.shape[1]:
            self._make_records(memory.granules)
        self._used_lines = memory.granules // LINE
        if rows > len(self._ranges):
            self._make_ranges(2 * rows)
        self.ranges = self._ranges[:rows]
        self.ranges[...] = memory.ranges

    def _make_records(self, granules: int) -> None:
        """Make room for the records of global memory, and of more than are needed now if they are few."""
        count = max(granules, LINE * _FEWEST_LINES)
        self._use_records(zeroed((2, count // LINE), np.uint64), zeroed((2, count), np.uint64))
        self._state[StateField.EXPANDED] = self._stale_lines = 0

    def _use_records(self, lines: NDArray[np.uint64], granules: NDArray[np.uint64]) -> None:
        self.lines, self.granules = lines, granules
        for fields, records in (
            ((StateField.LINE_WRITES, StateField.LINE_READS), self.lines),
            ((StateField.WRITES, StateField.READS), self.granules),
        ):
            for index, one in zip(fields, records, strict=True):
                self._state[index] = _at(one)

    def _make_ranges(self, rows: int) -> None:
        self._ranges: NDArray[np.uint64] = np.zeros((rows, RANGE_BYTES // 8), np.uint64)
        self._use_ranges(self._ranges)

    def _use_ranges(self, ranges: NDArray[np.uint64]) -> None:
        self.ranges = ranges
        self._state[StateField.RANGES] = _at(ranges)

    def clear(self) -> None:
        """Remove the records of global memory that an earlier launch has left: in the worker's thread."""
        lines, self._stale_lines = self._stale_lines, 0
        if not lines:
            return
        expanded = int(self._state[StateField.EXPANDED])
        if expanded > _MOST_CLEARED:
            self._make_records(self.granules.shape[1])
            return
        if expanded:
            found = np.flatnonzero(self.lines[0, :lines] >> np.uint64(Stamp.EXPANDED))
            self.granules.reshape(2, -1, LINE)[:, found] = 0
        self.lines[:, :lines] = 0
        self._state[StateField.EXPANDED] = 0

    @property
    def bytes_of_records(self) -> int:
        """The bytes that the records of global memory take at most so far, as pages of the host."""
        pages = min(int(self._state[StateField.EXPANDED]) * 2 * _PAGE, self.granules.nbytes)
        return pages + (self.lines.nbytes if self._records_of is None else 0)

    @property
    def bytes(self) -> int:
        """The bytes of all of it."""
        size = self._shared.nbytes + self._shared_records.nbytes + self._shared_shadow.nbytes + self._warps.nbytes
        return size + 2 * self._local.nbytes + self.bytes_of_records

    def note_accessed(self) -> None:
        """Note which lines have records, when the worker has nothing left to do: in the worker's thread."""
        self.accessed = np.logical_or(*self.lines[:, : self._used_lines])


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


_WRITEABLE, _CONSTANT, _WATCHED = map(int, (RangeFlag.WRITEABLE, RangeFlag.CONSTANT, RangeFlag.WATCHED))


def _ranges(
    heap: GlobalMemory, watched: frozenset[int], granule: int
) -> tuple[list[int], NDArray[np.uint64], int]:  # fmt: skip
    """Return the heap's indices of the ranges, their words, and the number of granules that are watched.

    The kernel works on copies of the ranges that it may write, and on the arrays themselves of those that it only
    reads. The device heap is not one of the ranges: access to a block that ``malloc`` returned in an earlier launch
    raises a flag.
    """
    ranges, own = heap.ranges, heap.device_heap_range
    first = [heap.placement.address_at(x.lo) for x in ranges]
    device_heap = None if heap.device_heap is None else own
    order = sorted((i for i in range(len(first)) if i != device_heap), key=first.__getitem__)
    rows: list[tuple[int, ...]] = [(0,) * (RANGE_BYTES // 8)]
    line, granules, every = LINE * granule, 0, (1 << 64) - 1
    for i in order:
        found, start, flags, records = ranges[i], first[i], 0, 0
        if found.writeable:
            flags |= _WRITEABLE
        elif i < own:
            flags |= _CONSTANT
        if i in watched:
            flags |= _WATCHED
            begin = start // line * line
            records = granules * granule - begin & every
            granules += -(-(start + found.hi - found.lo - begin) // line) * LINE
        host = (_at(heap.copied(i)) if i in watched else heap.in_place(i)) - start & every
        rows.append((start, found.hi - found.lo, host, found.lo - start & every, records, flags, 0, 0))
    return order, np.array(rows, np.uint64), granules + LINE


def flags_between_workers(workers: Sequence[WorkerMemory]) -> Flag:
    """Return whether blocks of two workers race on global memory, or change bytes in an order that changes bits."""
    any_worker, several = np.zeros((2, len(workers[0].accessed)), np.bool_)
    for worker in workers:
        several |= any_worker & worker.accessed
        any_worker |= worker.accessed
    shared, found = np.flatnonzero(several), Flag(0)
    for i, one in enumerate(workers if shared.size else ()):
        for other in workers[i + 1 :]:
            found |= _flags_between(one, other, shared)
            if Flag.RACE in found:
                return Flag.RACE
    return found


def _flags_between(one: WorkerMemory, other: WorkerMemory, lines: NDArray[np.int64]) -> Flag:
    """Return the flags of the accesses of two workers to some lines; a wave decides whether reads race with atomics."""
    found = Flag(0)
    for first in range(0, len(lines), _LINES_AT_ONCE):
        some = lines[first : first + _LINES_AT_ONCE]
        (w, r), (v, q) = _granules(one, some), _granules(other, some)
        if ((w != 0) & ((v | q) != 0)).any() or ((v != 0) & (r != 0)).any():
            return Flag.RACE
        a, b = (x >> np.uint64(Stamp.ATOMIC) & np.uint64(3) for x in (r, q))
        has_read = (r | q) & np.uint64(1 << Stamp.IS_READ) != 0
        if ((a != 0) & (b != 0) & ((a != b) | (a == 3))).any() or (
            has_read & ((a | b) != 0) & (r != 0) & (q != 0)
        ).any():
            found |= Flag.UNORDERED
    return found


def _granules(worker: WorkerMemory, lines: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the records of the writes and of the reads of the granules of some lines, (lines, LINE)."""
    of_lines = worker.lines[:, lines, None]
    expanded = of_lines[0] >> np.uint64(Stamp.EXPANDED) != 0
    writes, reads = np.where(expanded, worker.granules.reshape(2, -1, LINE)[:, lines], of_lines)
    return writes, reads
