# SPDX-License-Identifier: MIT
"""Asynchronous copies to shared memory: on their way until the thread that issued them waits, and only then there."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, joined
from wmma_emu.ptx.findings import Message, place_of
from wmma_emu.ptx.memory.access import scatter
from wmma_emu.ptx.memory.loads_and_stores import LoadsAndStores
from wmma_emu.ptx.memory.masks import narrowest, pick, wide
from wmma_emu.ptx.memory.places import HEAP
from wmma_emu.ptx.memory.races.wave import Moment
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.shadow import Shadow
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

_WORD = 4
_MOST = (1 << 31) - 1
"""Groups that a thread may leave under way: more than it ever commits."""


@dataclass(eq=False)
class AsyncCopy:
    """One execution of an asynchronous copy: words (count, blocks, warps, 32) for the threads of ``mask`` (None: all).

    ``group`` counts the groups that each thread had committed before; ``by_barrier`` says that no wait_group ends
    it, but the phase of an mbarrier; ``undefined`` which bits of the words nobody wrote. ``sources`` are the positions
    in global memory that each thread reads from, and ``read`` how many bytes.
    """

    reached: ResolvedAccess
    words: Array
    mask: Active
    group: NDArray[np.int32]
    by_barrier: bool = False
    is_done: bool = False
    undefined: Undefined | None = None
    sources: NDArray[np.int64] | None = None
    read: Array | None = None

    @cached_property
    def span(self) -> tuple[int, int]:
        """All that any thread reads lies between these positions in global memory."""
        if self.sources is None:
            return 0, 0
        return int(self.sources.min()), int(self.sources.max()) + self.size

    @property
    def size(self) -> int:
        """Bytes that a thread copies."""
        return self.reached.access.size


class AsyncCopies:
    """The copies of a chunk that nobody has waited for.

    A group is what a thread issued between two commits. Groups are counted in each thread; as long as all threads
    keep step, one number stands for all.
    """

    def __init__(self, memory: LoadsAndStores) -> None:
        self.memory = memory
        self._shadow: Shadow = memory.shared_shadow
        self._shadow.who_copies, memory.check_sources = self.who_copies, self.check_sources
        self._left: Array | np.int32 = np.int32(0)
        self._copies: list[AsyncCopy] = []
        self._groups = np.zeros((1, 1, 1), np.int32)

    def issue(
        self, instruction: PtxInstruction, target: Array, source: Array, size: int, read: Array, active: Active
    ) -> None:
        """Copy ``read`` bytes (an array of at most ``size``) from global memory, zeros behind them, to shared memory.

        The bytes are read now; when they arrive is left open until the thread waits.
        """
        memory, shape = self.memory, self.memory.threads.shape
        words: Array | None = None
        undefined: Undefined | None = None
        for amount, who in _amounts(read, size, active):
            if amount == size:
                got, lost = memory.load(instruction, "global", source, _WORD, size // _WORD, who)
            else:
                some, missing = memory.load(instruction, "global", source, 1, amount, who, alignment=size)
                got = _words_of(some, size)
                lost = None if missing is None else Undefined(_words_of(missing.bits, size), missing.origin.max(axis=0))
            if who is None or who is active:
                words, undefined = got, lost
            else:
                words = np.zeros((size // _WORD, *shape), np.uint32) if words is None else words
                np.copyto(words, got, where=who)
                undefined = joined(who, lost, undefined)
        if words is None:
            words = np.zeros((size // _WORD, 1, 1, 1), np.uint32)
        active = memory.threads.exists if active is None else active
        reached = memory.reach(
            instruction, "shared", target, _WORD, size // _WORD, size, active, write=True, ordering="weak"
        )
        copy = self.begin(reached, words, active, undefined=undefined)
        copy.sources, copy.read = (source - np.uint64(HEAP)).view(np.int64), read

    def begin(
        self, reached: ResolvedAccess, words: Array, active: Active, *, by_barrier: bool = False,
        undefined: Undefined | None = None,
    ) -> AsyncCopy:  # fmt: skip
        """Put a copy whose bytes are known on its way."""
        shape, touch = self.memory.threads.shape, reached.access
        if self.memory.races is not None:
            self.memory.races.check_write(reached, active)
        index = None if touch.mask is None else np.flatnonzero(wide(touch.mask, shape))
        self._shadow.begin(reached, pick(touch.positions, shape, index), active)
        copy = AsyncCopy(reached, words, touch.mask, self._groups, by_barrier, undefined=undefined)
        self._keep([*self._copies, copy])
        return copy

    def commit(self, active: Active) -> None:
        """End the group of the active threads."""
        if active is None:
            self._groups = self._groups + np.int32(1)
        else:
            self._groups = np.where(active, self._groups + np.int32(1), self._groups)

    def wait(self, pending: int | None, active: Active) -> None:
        """Let copies of the active threads arrive: all, or those of all but the last ``pending`` groups committed."""
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

    def under_way(self) -> list[AsyncCopy]:
        """List the copies that threads may wait for, for a barrier in memory to finish."""
        return [copy for copy in self._copies if not copy.by_barrier]

    def finish(self, copies: list[tuple[AsyncCopy, Active]], now: Moment | None) -> None:
        """Let copies arrive, as written at a time that has been."""
        for copy, mask in copies:
            self.arrive(copy, mask, now)
        self._keep(self._copies)

    def _keep(self, copies: list[AsyncCopy]) -> None:
        self._copies = [copy for copy in copies if not copy.is_done]
        self._shadow.pending = len(self._copies)

    def arrive(self, copy: AsyncCopy, ready: Active, now: Moment | None = None) -> None:
        """Write what a copy brings for the threads that are ready."""
        memory, touch, shape = self.memory, copy.reached.access, self.memory.threads.shape
        taken, index = narrowest(copy.mask, ready), None
        if taken is not None:
            index = np.flatnonzero(wide(taken, shape))
        if copy.is_done or (index is not None and not len(index)):
            return
        written = pick(touch.positions, shape, index)
        words = pick(wide(copy.words, (len(copy.words), *shape)), shape, index)
        scatter(memory.shared.view(copy.reached.unit), copy.reached.unit, written, words)
        lost = copy.undefined
        if lost is not None:
            full = (len(copy.words), *shape)
            lost = Undefined(*(pick(np.broadcast_to(x, full), shape, index) for x in lost))
        self._shadow.write(written, _WORD, len(copy.words), copy.reached.unit, lost)
        if taken is None or ready is None:
            copy.is_done = True
        else:
            copy.mask = ~wide(ready, shape) if copy.mask is None else copy.mask & ~ready
            copy.is_done = not copy.mask.any()
        if memory.races is not None:
            memory.races.arrive(copy.reached, taken, memory.races.now() if now is None else now)

    def who_copies(self, position: int) -> Message:
        """Say which copy is about to write a byte, and what is missing."""
        for copy in self._copies:
            touch = copy.reached.access
            hit = (touch.positions <= position) & (position < touch.positions + copy.size)
            hit = hit if copy.mask is None else hit & copy.mask
            if hit.any():
                by = touch.instruction
                return f"{by.opcode} of ", place_of(by), f" is still writing: {self._missing(copy, hit)}"
        return ("an asynchronous copy is still writing",)

    def _missing(self, copy: AsyncCopy, who: NDArray[np.bool_]) -> str:
        """Say what threads lack whose copy is on its way."""
        if copy.by_barrier:
            return "the phase of its mbarrier has not completed"
        if (who & (copy.group >= self._groups)).any():
            return "no cp.async.commit_group follows it, and no wait"
        left = int(np.broadcast_to(self._left, who.shape)[who].max())
        if left:
            return f"cp.async.wait_group {left} leaves its group under way"
        return "no cp.async.wait_group or wait_all covers its group yet"

    def check_sources(self, reached: ResolvedAccess, active: Active) -> None:
        """Note a finding for a write to global memory that a copy may still read, whoever waits for that.

        Without a barrier a write of another thread is a race, which says enough.
        """
        touch, reporter = reached.access, self.memory.reporter
        at = reached.where.positions
        for copy in self._copies:
            if copy.sources is None or copy.read is None:
                continue
            if int(at.max()) + touch.size <= copy.span[0] or int(at.min()) >= copy.span[1]:
                continue
            begins, ends, who = self._read_by(copy.sources, copy.read, copy.mask)
            last = np.searchsorted(begins, at + touch.size, side="left") - 1
            bad = (last >= 0) & (ends[last] > at)
            bad = bad if touch.mask is None else bad & touch.mask
            if bad.any() and not reporter.is_race(touch.instruction):
                by = copy.reached.access.instruction
                text = f"{by.opcode} of ", place_of(by), f" may still read: {self._missing(copy, who)}"
                reporter.note(
                    "missing wait", touch.instruction, bad, active, touch.addresses,
                    partial(reporter.too_early, "global", size=touch.size, write=True, by=text),
                )  # fmt: skip

    def _read_by(
        self, sources: NDArray[np.int64], read: Array, mask: Active
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:  # fmt: skip
        """Give where what a copy reads begins, in order, and where what began so far ends; and who has not waited."""
        shape = self.memory.threads.shape
        who = np.broadcast_to(True if mask is None else mask, shape)
        begins = np.broadcast_to(sources, shape)[who]
        order = np.argsort(begins, kind="stable")
        ends = (begins + np.broadcast_to(read, shape)[who])[order]
        return begins[order], np.maximum.accumulate(ends), who


def _amounts(read: Array, size: int, active: Active) -> list[tuple[int, Active]]:
    """Sort the threads by how many bytes they read, those that read none left out: as a rule all of them read all."""
    if read.size == 1 or (read == size).all():
        return [(int(read.flat[0]), active)] if read.flat[0] else []
    sizes = np.unique(read[(read != size) & (read != 0)]).tolist()
    found = [(x, narrowest(active, read == x)) for x in (size, *sizes)]
    return [(x, who) for x, who in found if who is not None and who.any()]


def _words_of(some: Array, size: int) -> Array:
    """Put some bytes, (bytes, ...), and zeros behind them together to words: (words, ...)."""
    padded = np.zeros((*some.shape[1:], size), np.uint8)
    padded[..., : len(some)] = np.moveaxis(some, 0, -1)
    return np.moveaxis(padded.view(np.uint32), -1, 0)
