# SPDX-License-Identifier: MIT
"""Asynchronous copies to shared memory, which arrive when the thread that issued them waits.

Until then an access to their bytes is a finding. The bytes themselves move when the copy is issued, or, if it is late,
when it arrives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, joined
from wmma_emu.ptx.findings import Message, place_of
from wmma_emu.ptx.memory.access import scatter
from wmma_emu.ptx.memory.loads_and_stores import LoadsAndStores
from wmma_emu.ptx.memory.masks import narrowest, pick, wide
from wmma_emu.ptx.memory.races.wave import Moment
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.shadow import Shadow
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

_Load = Callable[..., tuple[Array, Undefined | None]]
"""`LoadsAndStores.load`, or `peek`."""

_WORD = 4
_MOST = (1 << 31) - 1
"""The largest number of groups that a thread may leave pending: more than it ever commits."""


@dataclass(eq=False)
class AsyncCopy:
    """One execution of an asynchronous copy.

    ``words`` are (count, ..., blocks, warps, 32), for the threads of ``mask`` (None: all); further axes are several
    pieces of a thread's copy. ``group`` is the number of groups
    that each thread had committed before; ``by_barrier`` is whether the phase of an mbarrier completes the copy, rather
    than a wait_group; ``undefined`` marks the uninitialised bits of the words. ``sources`` are the positions in global
    memory from which each thread reads, and ``read`` the number of bytes. ``late_words`` reads the words of a late copy
    when it arrives; None if its bytes have moved.
    """

    resolved: ResolvedAccess
    words: Array
    mask: Active
    group: NDArray[np.int32]
    by_barrier: bool = False
    is_done: bool = False
    undefined: Undefined | None = None
    sources: NDArray[np.int64] | None = None
    read: Array | None = None
    late_words: Callable[[], Array] | None = None

    @cached_property
    def span(self) -> tuple[int, int]:
        """The range of positions in global memory from which any thread reads."""
        if self.sources is None:
            return 0, 0
        return int(self.sources.min()), int(self.sources.max()) + self.size

    @property
    def size(self) -> int:
        """The number of bytes that each thread copies."""
        return self.resolved.access.size


class AsyncCopies:
    """The copies of a wave that were not waited for.

    A group is the copies that a thread issued between two commits. Groups are counted for each thread; as long as all
    threads commit together, one number suffices for all threads.
    """

    def __init__(self, memory: LoadsAndStores) -> None:
        self.memory = memory
        self._shadow: Shadow = memory.shared_shadow
        self._shadow.describe_copy, memory.check_sources = self.describe_copy, self.check_sources
        self._left: Array | np.int32 = np.int32(0)
        self._copies: list[AsyncCopy] = []
        self._groups = np.zeros((1, 1, 1), np.int32)

    def issue(
        self, instruction: PtxInstruction, target: Array, source: Array, size: int, read: Array, active: Active
    ) -> None:
        """Copy ``read`` bytes (an array of at most ``size``) from global memory to shared memory, followed by zeros."""
        memory, given = self.memory, active
        words, undefined = self._words(memory.load, instruction, source, size, read, given)
        active = memory.threads.exists if active is None else active
        resolved = memory.resolve(
            instruction, "shared", target, _WORD, size // _WORD, size, active, write=True, ordering="weak"
        )
        late_words = None
        if memory.asynchrony.is_late and memory.asynchrony.delays(instruction):

            def late_words() -> Array:
                return self._words(memory.peek, instruction, source, size, read, given)[0]

        copy = self.begin(resolved, words, active, undefined=undefined, late_words=late_words)
        copy.sources, copy.read = memory.heap.placement.positions_of(source), read

    def _words(
        self, load: _Load, instruction: PtxInstruction, source: Array, size: int, read: Array, active: Active
    ) -> tuple[Array, Undefined | None]:  # fmt: skip
        """Read what a copy writes: the bytes of global memory that each thread reads, and zeros."""
        words: Array | None = None
        undefined: Undefined | None = None
        for amount, participants in _amounts(read, size, active):
            if amount == size:
                got, lost = load(instruction, "global", source, _WORD, size // _WORD, participants, alignment=size)
            else:
                some, missing = load(instruction, "global", source, 1, amount, participants, alignment=size)
                zeros = np.zeros(size, np.uint8)
                got, lost = padded_words(some, zeros), None
                if missing is not None:
                    lost = Undefined(padded_words(missing.bits, zeros), missing.origin.max(axis=0))
            if participants is None or participants is active:
                words, undefined = got, lost
            else:
                shape = self.memory.threads.shape
                words = np.zeros((size // _WORD, *shape), np.uint32) if words is None else words
                np.copyto(words, got, where=participants)
                undefined = joined(participants, lost, undefined)
        return np.zeros((size // _WORD, 1, 1, 1), np.uint32) if words is None else words, undefined

    def begin(
        self, resolved: ResolvedAccess, words: Array, active: Active, *, by_barrier: bool = False,
        undefined: Undefined | None = None, late_words: Callable[[], Array] | None = None,
    ) -> AsyncCopy:  # fmt: skip
        """Start a copy; it writes its words now, or those that it reads when it arrives."""
        access = resolved.access
        shape = _shape_of(access.positions, self.memory.threads.shape)
        if self.memory.races is not None:
            self.memory.races.check_write(resolved, active)
        if self.memory.proxies is not None:
            self.memory.proxies.begins_copy(resolved, active)
        if self.memory.check_barriers is not None:
            self.memory.check_barriers(resolved, active, write=True)
        index = None if access.mask is None else np.flatnonzero(wide(access.mask, shape))
        written = pick(access.positions, shape, index)
        self._shadow.begin(resolved, written, active)
        copy = AsyncCopy(
            resolved, words, access.mask, self._groups, by_barrier, undefined=undefined, late_words=late_words
        )
        if late_words is None:
            unit, moved = resolved.unit, pick(wide(words, (len(words), *shape)), shape, index)
            scatter(self.memory.shared.view(unit), unit, written, moved)
        self._keep([*self._copies, copy])
        return copy

    def commit(self, active: Active) -> None:
        """End the group of the active threads."""
        if active is None:
            self._groups = self._groups + np.int32(1)
        else:
            self._groups = np.where(active, self._groups + np.int32(1), self._groups)

    def wait(self, pending: int | None, active: Active) -> None:
        """Complete the copies of the active threads.

        All copies complete, or those of all but the last ``pending`` groups committed.
        """
        left = np.int32(min(pending or 0, _MOST))
        self._left = left if active is None else np.where(active, left, self._left)
        for copy in self._copies:
            if copy.by_barrier:
                continue
            if pending is None:
                self.arrive(copy, active)
                continue
            over = copy.group < self._groups - np.int32(min(pending, _MOST))
            if over.any():
                self.arrive(copy, active if over.all() else narrowest(active, over))
        self._keep(self._copies)

    def in_flight(self) -> list[AsyncCopy]:
        """Return the pending copies that an mbarrier may complete."""
        return [copy for copy in self._copies if not copy.by_barrier]

    def in_phases(self) -> list[ResolvedAccess]:
        """Return the writes of the copies that wait for the phase of an mbarrier."""
        found = [(x.resolved, x.mask) for x in self._copies if x.by_barrier]
        return [resolved._replace(access=resolved.access._replace(mask=mask)) for resolved, mask in found]

    def finish(self, copies: list[tuple[AsyncCopy, Active]], now: Moment | None) -> None:
        """Complete copies, as writes at an earlier time."""
        for copy, mask in copies:
            self.arrive(copy, mask, now)
        self._keep(self._copies)

    def _keep(self, copies: list[AsyncCopy]) -> None:
        self._copies = [copy for copy in copies if not copy.is_done]
        self._shadow.pending = len(self._copies)

    def arrive(self, copy: AsyncCopy, ready: Active, now: Moment | None = None) -> None:
        """Let a copy arrive for the threads that are ready."""
        memory, access = self.memory, copy.resolved.access
        shape = _shape_of(access.positions, memory.threads.shape)
        taken, index = narrowest(copy.mask, ready), None
        if taken is not None:
            index = np.flatnonzero(wide(taken, shape))
        if copy.is_done or (index is not None and not len(index)):
            return
        written = pick(access.positions, shape, index)
        if copy.late_words is not None:
            words, unit = copy.late_words(), copy.resolved.unit
            moved = pick(wide(words, (len(words), *shape)), shape, index)
            scatter(memory.shared.view(unit), unit, written, moved)
        lost = copy.undefined
        if lost is not None:
            full = (len(copy.words), *shape)
            lost = Undefined(*(pick(np.broadcast_to(x, full), shape, index) for x in lost))
        self._shadow.write(written, _WORD, len(copy.words), copy.resolved.unit, lost)
        if taken is None or ready is None:
            copy.is_done = True
        else:
            copy.mask = ~wide(ready, shape) if copy.mask is None else copy.mask & ~ready
            copy.is_done = not copy.mask.any()
        if memory.proxies is not None:
            memory.proxies.copy_arrives(copy.resolved, taken)
        if memory.races is not None:
            memory.races.arrive(copy.resolved, taken, memory.races.now() if now is None else now)

    def describe_copy(self, position: int) -> tuple[Message, str]:
        """Describe the copy that is about to write a byte, and the missing wait; name the remedy."""
        for copy in self._copies:
            access = copy.resolved.access
            hit = (access.positions <= position) & (position < access.positions + copy.size)
            hit = hit if copy.mask is None else hit & copy.mask
            if hit.any():
                by = access.instruction
                text = f"{by.opcode} of ", place_of(by), f" is still writing: {self._missing(copy, hit)}"
                return text, "phase" if copy.by_barrier else "copy"
        return ("an asynchronous copy is still writing",), "copy"

    def _missing(self, copy: AsyncCopy, participants: NDArray[np.bool_]) -> str:
        """Describe the wait that is missing for a pending copy of some threads."""
        if copy.by_barrier:
            return "the phase of its mbarrier has not completed"
        if (participants & (copy.group >= self._groups)).any():
            return "no cp.async.commit_group and no wait follow it"
        left = int(np.broadcast_to(self._left, participants.shape)[participants].max())
        if left:
            return f"cp.async.wait_group {left} leaves its group pending"
        return "no cp.async.wait_group or cp.async.wait_all has waited for its group"

    def check_sources(self, resolved: ResolvedAccess, active: Active) -> None:
        """Report a finding for a write to global memory that a pending copy may still read.

        Without a barrier, a write of another thread is a race already, which is reported instead.
        """
        access, reporter = resolved.access, self.memory.reporter
        at = resolved.where.positions
        for copy in self._copies:
            if copy.sources is None or copy.read is None:
                continue
            if int(at.max()) + access.size <= copy.span[0] or int(at.min()) >= copy.span[1]:
                continue
            begins, ends, participants = self._read_by(copy.sources, copy.read, copy.mask)
            if not len(begins):  # every thread's copy was out of bounds
                continue
            last = np.searchsorted(begins, at + access.size, side="left") - 1
            bad = (last >= 0) & (ends[last] > at)
            bad = bad if access.mask is None else bad & access.mask
            if bad.any() and not reporter.is_race(access.instruction):
                by = copy.resolved.access.instruction
                text = f"{by.opcode} of ", place_of(by), f" may still read: {self._missing(copy, participants)}"
                reporter.note(
                    "missing wait", access.instruction, bad, active, access.addresses,
                    partial(reporter.access_in_flight, "global", size=access.size, write=True, by=text),
                )  # fmt: skip

    def _read_by(
        self, sources: NDArray[np.int64], read: Array, mask: Active
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:  # fmt: skip
        """Return the ranges that a copy reads, and the threads that have not waited.

        The ranges are given by their beginnings, sorted, and the latest end up to each.
        """
        shape = self.memory.threads.shape
        participants = np.broadcast_to(True if mask is None else mask, shape)
        begins = np.broadcast_to(sources, shape)[participants]
        order = np.argsort(begins, kind="stable")
        ends = (begins + np.broadcast_to(read, shape)[participants])[order]
        return begins[order], np.maximum.accumulate(ends), participants


def _amounts(read: Array, size: int, active: Active) -> list[tuple[int, Active]]:
    """Group the threads by the number of bytes that they read, without those that read none.

    Usually all threads read the same number.
    """
    if read.size == 1 or (read == size).all():
        return [(int(read.flat[0]), active)] if read.flat[0] else []
    sizes = np.unique(read[(read != size) & (read != 0)]).tolist()
    found = [(x, narrowest(active, read == x)) for x in (size, *sizes)]
    return [(x, participants) for x, participants in found if participants is not None and participants.any()]


def padded_words(some: Array, end: NDArray[np.uint8]) -> Array:
    """Replace the first of some bytes, (bytes, ...), in a pattern, and join them to words: (words, ...).

    Examples
    --------
    >>> padded_words(np.array([[1], [2]], np.uint8), np.full(8, 255, np.uint8)).tolist()
    [[4294902273], [4294967295]]
    """
    padded = np.empty((*some.shape[1:], len(end)), np.uint8)
    padded[...] = end
    padded[..., : len(some)] = np.moveaxis(some, 0, -1)
    return np.moveaxis(padded.view(np.uint32), -1, 0)


def _shape_of(positions: NDArray[np.int64], threads: tuple[int, ...]) -> tuple[int, ...]:
    return np.broadcast_shapes(positions.shape, threads)
