# SPDX-License-Identifier: MIT
"""The launch that made an element of an output: the stores and atomic operations at its bytes, in their order."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.ptx.history import RecordingLaunch, Watch
from wmma_emu.ptx.history.log import Hit, Note
from wmma_emu.ptx.launch.replay import Replay
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.variants.block_trace import BlockTrace
from wmma_emu.ptx.variants.trace import TracedAccess, TraceRecorder

_WRITES = ("writes", "copies to")


class HostElement(NamedTuple):
    """The bytes of an element: their address on the host, and their number."""

    host: int
    size: int


class Contribution(NamedTuple):
    """A store or an atomic operation at the bytes of an element, and the record of its block's trace.

    ``skipped`` is the distance from the start of the access to the bytes; ``before`` (of an atomic operation) and
    ``value`` are the bits before and after it.
    """

    block: int
    warp: int
    lane: int
    record: int
    skipped: int
    size: int
    before: int | None
    value: int | None


class Origin(NamedTuple):
    """The launch that made an element, its memory, the contributions in order, and the traces of their blocks."""

    replay: Replay
    heap: GlobalMemory
    contributions: tuple[Contribution, ...]
    traces: dict[int, BlockTrace]


def origin_of(replays: Sequence[Replay], output: NDArray[Any], element: HostElement) -> Origin | str:
    """Find the last launch that wrote an element of an output, and trace its blocks; or return why it is not found."""
    found = _last_writer(replays, element)
    if found is None:
        writers = (_last_writer(replays, x) for x in _sources_of_copy(replays, output, element))
        found = next((x for x in writers if x is not None), None)
    if found is None:
        return (
            "no launch wrote the memory of this output, and no launch has an array with its bytes: the element was "
            "computed or rearranged on the host"
        )
    replay, hits = found
    tracer = TraceRecorder({int(note.threads.blocks[hit.g]) for note, hit in hits})
    run, _ = replay.rerun(replay.first, tracer)
    program = replay.launch.kernel.program
    traces = {x: BlockTrace(program, records) for x, records in tracer.records.items()}
    return Origin(replay, run.heap, tuple(_contributions(hits, traces)), traces)


class _ElementRecorder(RecordingLaunch):
    """Records accesses to the bytes of an element, whose address is known once the launch has its memory."""

    def __init__(self, replay: Replay, element: HostElement) -> None:
        super().__init__(Watch())
        self._replay, self._element = replay, element

    def memory(self, program: Any, heap: GlobalMemory, *arguments: Any) -> WaveMemory:
        """Make the memory of one wave of blocks."""
        address = None if self.watch.size else _address_in(heap, self._replay, self._element)
        if address is not None:
            self.watch = Watch("global", address, self._element.size)
        return super().memory(program, heap, *arguments)


def _address_in(heap: GlobalMemory, replay: Replay, element: HostElement) -> int | None:
    """Return the address that an element has in a launch that runs on copies of the arrays."""
    for piece in () if replay.kept is None else replay.kept.moved:
        here = element.host - piece.original + piece.lo
        for x in heap.mapped if piece.lo <= here < piece.hi else ():
            begin, end = byte_bounds(x.array) if x.array.nbytes else (0, 0)
            if begin <= here < end:
                return x.address + here - begin
    return None


def _last_writer(replays: Sequence[Replay], element: HostElement) -> tuple[Replay, list[tuple[Note, Hit]]] | None:
    """Return the last launch that wrote an element: its last store, and the accesses after it."""
    for replay in reversed(replays):
        moved = () if replay.kept is None else replay.kept.moved
        if not any(x.original <= element.host < x.original + x.hi - x.lo for x in moved):
            continue
        recorder = _ElementRecorder(replay, element)
        replay.rerun(replay.first, recorder)
        recorder.settle()
        hits = [(note, x) for note in recorder.log for x in note.hits or () if note.what in (*_WRITES, "updates")]
        if hits:
            return replay, hits[max((i for i, (note, _) in enumerate(hits) if note.what in _WRITES), default=0) :]
    return None


def _sources_of_copy(replays: Sequence[Replay], output: NDArray[Any], element: HostElement) -> Iterator[HostElement]:
    """Yield the elements from which the program may have copied an output: those of arrays with the same bytes."""
    begin, end = byte_bounds(output)
    if not begin <= element.host < end:
        return
    data = np.ascontiguousarray(output).reshape(-1).view(np.uint8)
    for replay in reversed(replays):
        run, _ = replay.rerun(replay.first)
        for x in run.heap.mapped:
            if x.hi - x.lo == data.size and x.writeable and np.array_equal(run.heap.buffer[x.lo : x.hi], data):
                here, _ = byte_bounds(x.array)
                for piece in () if replay.kept is None else replay.kept.moved:
                    if piece.lo <= here < piece.hi:
                        yield element._replace(host=here - piece.lo + piece.original + element.host - begin)


def _contributions(hits: Sequence[tuple[Note, Hit]], traces: dict[int, BlockTrace]) -> Iterator[Contribution]:
    """Yield the contributions in order; of an instruction that several threads execute, in the order of the threads.

    Both the notes and the traces have the executions of an instruction by a thread in their order.
    """
    after: dict[tuple[int, int, int, int], int] = {}
    for _, together in groupby(hits, key=lambda x: id(x[0])):
        found = [x for note, hit in together for x in _of_thread(note, hit, traces, after)]
        ordered = [x for _, x in sorted(found, key=lambda y: y[0])]
        for one, following in zip(ordered, [*ordered[1:], None], strict=True):
            found_next = None if following is None else following.before
            yield one if found_next is None else one._replace(value=found_next)


def _of_thread(
    note: Note, hit: Hit, traces: dict[int, BlockTrace], after: dict[tuple[int, int, int, int], int]
) -> Iterator[tuple[int, Contribution]]:
    """Yield the contribution of a thread, with its position in the order of the instruction's threads."""
    block = int(note.threads.blocks[hit.g])
    trace, thread = traces[block], (block, hit.warp, hit.lane, id(note.instruction))
    for i in range(after.get(thread, 0), len(trace.records)):
        access = _access_of(trace, i, note, hit)
        if access is not None:
            after[thread] = i + 1
            skipped = hit.first - int(access.addresses[0, hit.warp, hit.lane])
            rank, before = 0, None
            if access.atomic_order is not None:
                rank, before = (int(x[hit.warp, hit.lane]) for x in access.atomic_order)
            yield rank, Contribution(block, hit.warp, hit.lane, i, skipped, hit.size, before, hit.value)
            return


def _access_of(trace: BlockTrace, i: int, note: Note, hit: Hit) -> TracedAccess | None:
    """Return the access of a record to the bytes of a hit, None if the record has no such access."""
    record = trace.records[i]
    if trace.instruction(i) is not note.instruction or not record.mask[hit.warp, hit.lane]:
        return None
    for access in record.accesses:
        if access.is_write and access.mask[0, hit.warp, hit.lane]:
            if 0 <= hit.first - int(access.addresses[0, hit.warp, hit.lane]) < access.size:
                return access
    return None
