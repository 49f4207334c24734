# SPDX-License-Identifier: MIT
"""Barriers in shared memory (mbarrier): phases, arrivals and expected bytes."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import ThreadIndices
from wmma_emu.ptx.findings import Diagnosis, MemoryLocation
from wmma_emu.ptx.memory import mbarrier_messages as messages
from wmma_emu.ptx.memory.async_copies import AsyncCopies, AsyncCopy
from wmma_emu.ptx.memory.loads_and_stores import LoadsAndStores
from wmma_emu.ptx.memory.mbarrier_order import MbarrierOrder
from wmma_emu.ptx.memory.mbarrier_records import BarrierRecord, Fault, PhasesOfThreads
from wmma_emu.ptx.memory.mbarrier_words import LARGEST_COUNT, Word, WordLayout, layout_of
from wmma_emu.ptx.memory.parity_suspects import ParitySuspects
from wmma_emu.ptx.memory.races.wave import Moment
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

_BYTES = 8


class _AttachedCopy(NamedTuple):
    """A copy that the phase of an mbarrier completes for the threads of a mask, as a write at a time."""

    copy: AsyncCopy
    mask: Active
    now: Moment | None

    def joined(self, other: "_AttachedCopy") -> "_AttachedCopy":
        """Return the copy for the threads of both masks, each with its own time; None stands for all threads."""
        if self.mask is None or other.mask is None:
            return self._replace(mask=None)
        now = self.now
        if now is not None and other.now is not None:
            stamps = np.where(self.mask, now.stamps, other.now.stamps)
            times = np.where(self.mask.any(axis=-1), now.times, other.now.times)
            now = now._replace(stamps=stamps, times=times)
        return _AttachedCopy(self.copy, self.mask | other.mask, now)


Completion = Callable[[NDArray[np.bool_]], None]
"""Completes an asynchronous operation for some of the threads that issued it."""


class _LateCompletion(NamedTuple):
    """An operation that has not completed: the position of each issuing thread's mbarrier."""

    positions: NDArray[np.int64]
    complete: Completion
    left: NDArray[np.bool_]


class Arrivals(NamedTuple):
    """The states that arrivals return, and their faults."""

    states: NDArray[np.uint64]
    faults: list[Fault]


class Mbarriers:
    """The mbarriers of a wave, by position in its shared memory.

    Threads that arrive release what they know; threads that see that a phase is complete acquire it. The 64 bits of an
    mbarrier are in shared memory, in the layout of the chip; ``records`` has its course. ``awaited`` is the mbarrier
    that each thread has found incomplete, -1 for other threads, while there are ``late`` operations.
    """

    def __init__(self, memory: LoadsAndStores, copies: AsyncCopies) -> None:
        self.memory = memory
        self._async_copies = copies
        memory.check_barriers = self.check_use
        self._order = MbarrierOrder(memory.causality, memory.shared.stride)
        self._copies: dict[int, list[_AttachedCopy]] = {}
        self._completed: list[_AttachedCopy] = []
        self._words = memory.shared.view(8)
        self._written = np.zeros(len(self._words), np.uint64)
        self._is_made = np.zeros(len(self._words), np.bool_)
        self.records: dict[int, BarrierRecord] = {}
        self.ended: dict[int, PtxInstruction] = {}
        self.reused: set[int] = set()
        self.threads: dict[int, PhasesOfThreads] = {}
        self.suspects = memory.reporter.parity_suspects = ParitySuspects(self.threads)
        self.waiting: dict[int, tuple[PtxInstruction, NDArray[np.int64]]] = {}

        self.late: list[_LateCompletion] = []
        self.awaited = np.full(memory.threads.shape, -1, np.int64)

    def postpone(self, positions: NDArray[np.int64], complete: Completion) -> None:
        """Complete an operation of some threads at their mbarriers as late as the program allows."""
        if not self.late:
            self.awaited[...] = -1
        self.late.append(_LateCompletion(positions, complete, np.ones(len(positions), np.bool_)))

    def complete_late(self, blocks: NDArray[np.bool_], *, awaited_only: bool) -> bool:
        """Complete the late operations of some blocks, in the order in which they were issued; return whether any was.

        With ``awaited_only``, only those at mbarriers at which threads wait.
        """
        stride, any_done = self.memory.shared.stride, False
        waited = self.awaited[self.awaited >= 0]
        for one in list(self.late):
            chosen = one.left & blocks[one.positions // stride]
            if awaited_only:
                chosen &= np.isin(one.positions, waited)
            if chosen.any():
                one.left[chosen] = False
                one.complete(chosen)
                any_done = True
        self.late = [one for one in self.late if one.left.any()]
        return any_done

    @cached_property
    def layout(self) -> WordLayout:
        """The positions of the fields in the bits of an mbarrier."""
        return layout_of(self.memory.chip)

    def word(self, position: int) -> Word:
        """Read the mbarrier at a position of shared memory."""
        return self.layout.word(int(self._words[position >> 3]))

    def put(self, position: int, word: Word) -> None:
        """Write an mbarrier's bits."""
        self._words[position >> 3] = self._written[position >> 3] = self.layout.bits(word)

    def first_words(self, counts: Array) -> Array:
        """Return the bits of mbarriers in their first phase, which needs ``counts`` arrivals."""
        numbers, places = np.unique(counts & np.uint32(LARGEST_COUNT), return_inverse=True)
        words = [self.layout.bits(Word(x, x, 0, 0)) for x in numbers.tolist()]
        return np.array(words, np.uint64)[places].reshape(counts.shape)

    def location(self, position: int) -> MemoryLocation:
        """Return the location of an mbarrier, for messages."""
        return self.memory.reporter.location("shared", position % self.memory.shared.stride, _BYTES)

    def phases_of_threads(self, position: int) -> PhasesOfThreads:
        """Return what threads saw of the mbarriers at the address of a position."""
        address = position % self.memory.shared.stride
        if address not in self.threads:
            self.threads[address] = PhasesOfThreads(self.memory.threads.shape)
        return self.threads[address]

    def exist(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return at which positions there is an mbarrier whose bits nothing else has overwritten."""
        at = positions >> 3
        return np.asarray(self._is_made.take(at) & (self._words.take(at) == self._written.take(at)))

    def check_use(self, resolved: ResolvedAccess, active: Active, *, write: bool) -> None:
        """Report ordinary accesses to the memory of mbarriers, which a write ends.

        PTX defines no operation on it but those of mbarriers, until mbarrier.inval (PTX ISA 9.1, Contents of the
        mbarrier object).
        """
        access = resolved.access
        if not self.records or access.instruction.mnemonic == "mbarrier":
            return
        words = [access.positions + x >> 3 for x in {*range(0, access.size, _BYTES), access.size - 1}]
        hits = [self._is_made.take(x) & (self._words.take(x) == self._written.take(x)) for x in words]
        bad = np.logical_or.reduce(hits)
        bad = bad if access.mask is None else bad & access.mask
        if not bad.any():
            return
        reached = [np.broadcast_to(x, bad.shape)[bad & hit] for x, hit in zip(words, hits, strict=True)]
        positions = np.unique(np.concatenate(reached)) << 3
        record = self.records[int(positions[0])]

        def text(address: int) -> Diagnosis:
            where = self.memory.reporter.location("shared", address, access.size)
            return messages.used_otherwise(where, self.location(int(positions[0])), record, write=write)

        self.memory.reporter.note(messages.NOT_INITIALISED, access.instruction, bad, active, access.addresses, text)
        if write:
            self._is_made[positions >> 3] = False
            self.reused.update(positions.tolist())

    def describe_missing(self, position: int) -> Diagnosis:
        """Describe why there is no mbarrier at a position."""
        return messages.no_barrier(self.location(position), self.records.get(position), self.ended.get(position))

    def make(self, instruction: PtxInstruction, positions: NDArray[np.int64], counts: NDArray[np.int64]) -> list[Fault]:
        """Begin the first phases of mbarriers that need ``counts`` arrivals; return which of them existed already."""
        live, faults = self.exist(positions), []
        for i, (position, count) in enumerate(zip(positions.tolist(), counts.tolist(), strict=True)):
            if live[i]:
                faults.append(messages.initialised_again(i, self.location(position), self.records[position]))
            self.records[position] = BarrierRecord(instruction)
            self.ended.pop(position, None)
            self.reused.discard(position)
            self._is_made[position >> 3] = True
            self.put(position, Word(count, count, 0, 0))
            self._order.forget(position)
            self._copies.pop(position, None)
            self.phases_of_threads(position).forget(position // self.memory.shared.stride)
        return faults

    def end(self, instruction: PtxInstruction, positions: NDArray[np.int64]) -> None:
        """End mbarriers; their memory keeps its bytes."""
        for position in positions.tolist():
            self._is_made[position >> 3] = False
            self.ended[position] = instruction

    def parities(self, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the parities of the current phases."""
        return np.asarray(self._words.take(positions >> 3) >> np.uint64(63))

    def phases(self, positions: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the numbers of the current phases, from 0."""
        return np.array([self.records[x].phase for x in positions.tolist()], np.int32)

    def await_more(self, positions: NDArray[np.int64]) -> None:
        """Let the current phases need an additional arrival of each thread."""
        for position in positions.tolist():
            word = self.word(position)
            word.pending += 1
            self.put(position, word)

    def expect(
        self, instruction: PtxInstruction, positions: NDArray[np.int64], amounts: NDArray[np.int64]
    ) -> list[Fault]:
        """Add to the numbers of expected bytes, for some threads in their order; negative ones have arrived."""
        faults: list[Fault] = []
        for i, (position, amount) in enumerate(zip(positions.tolist(), amounts.tolist(), strict=True)):
            word, record = self.word(position), self.records[position]
            faults += self._expect(instruction, i, position, word, amount)
            if amount < 0:
                record.arrived_bytes -= amount
                record.delivery = instruction
            self.settle(position, word)
        self._finish_copies()
        return faults

    def _expect(self, instruction: PtxInstruction, i: int, position: int, word: Word, amount: int) -> list[Fault]:
        """Add to the number of expected bytes; return a fault if it leaves its range."""
        record = self.records[position]
        word.bytes += amount
        if amount > 0:
            record.expected_bytes += amount
            record.expectation = instruction
        if abs(word.bytes) <= LARGEST_COUNT:
            return []
        return [messages.too_many_bytes(i, self.location(position), record, word.bytes)]

    def deliver(
        self, instruction: PtxInstruction, positions: NDArray[np.int64], at: ThreadIndices,
        amounts: NDArray[np.int64], packet: int,
    ) -> list[Fault]:  # fmt: skip
        """Complete the transactions of copies, whose bytes arrive in packets.

        If more bytes arrive than the phase expects, it completes if the expected ones are whole packets, and the others
        count for the next phase; otherwise, it never completes. Recorded (NVIDIA GPUs of sm_90, driver 580.159.04): 112
        of 128 bytes of a tensor map complete a phase, 512 of 1024 bytes of a bulk copy do, 16 and 1008 do not.
        """
        faults = []
        self._take_part(positions, at, self.phases(positions), by_copies=True)
        for i, (position, amount) in enumerate(zip(positions.tolist(), amounts.tolist(), strict=True)):
            word, record = self.word(position), self.records[position]
            more = amount - word.bytes if 0 < word.bytes < amount and not word.pending else 0
            rest = 0 if word.bytes % packet else more
            word.bytes -= amount - rest
            record.delivery = instruction
            record.arrived_bytes += amount
            if more:
                where = self.location(position)
                faults.append(messages.more_bytes(i, where, record, amount, more, completes=rest > 0))
                record.is_reported = True
            self.settle(position, word)
            if rest:
                word.bytes -= rest
                record.arrived_bytes = rest
                self.put(position, word)
        self._finish_copies()
        return faults

    def arrive(
        self, instruction: PtxInstruction, positions: NDArray[np.int64], at: ThreadIndices,
        counts: NDArray[np.int64], expected: NDArray[np.int64], *, drop: bool = False, completes: bool = True,
    ) -> Arrivals:  # fmt: skip
        """Arrive for some threads in their order, ``counts`` arrivals each, after expecting ``expected`` more bytes.

        An arrival with a fault that a phase has too few pending arrivals for is left out.
        """
        states, faults = np.zeros(len(positions), np.uint64), list[Fault]()
        phases = np.zeros(len(positions), np.int32)
        for position in np.unique(positions).tolist():
            selected = np.flatnonzero(positions == position)
            word, record = self.word(position), self.records[position]
            record.arrival = instruction
            for i, count, more in zip(
                selected.tolist(), counts[selected].tolist(), expected[selected].tolist(), strict=True
            ):
                states[i], phases[i] = self.layout.state(self.layout.bits(word)), record.phase
                if more:
                    faults += self._expect(instruction, i, position, word, more)
                if not completes and count == word.pending and not word.bytes:
                    faults.append(messages.completes_where_it_must_not(i, self.location(position), record))
                if count > word.pending:
                    faults.append(messages.over_arrival(i, self.location(position), record, word, count))
                    continue
                if record.phase > record.seen + 1:
                    faults.append(messages.unseen_phase(i, self.location(position), record, word))
                word.expected -= count if drop else 0
                word.pending -= count
                self.settle(position, word)
        self._take_part(positions, at, phases)
        self._finish_copies()
        return Arrivals(states, faults)

    def _take_part(
        self, positions: NDArray[np.int64], at: ThreadIndices, phases: NDArray[np.int32], *, by_copies: bool = False
    ) -> None:
        """Record at which phases threads arrived, or to which their copies delivered bytes."""
        addresses = positions % self.memory.shared.stride
        for address in np.unique(addresses).tolist():
            mine = addresses == address
            found = self.phases_of_threads(address)
            last = found.copied if by_copies else found.arrived
            last[at[0][mine], at[1][mine], at[2][mine]] = phases[mine]

    def release(
        self, positions: NDArray[np.int64], at: ThreadIndices, live: NDArray[np.bool_], *, relaxed: bool
    ) -> None:
        """Release what threads know to those that see the completion of the phase at which they arrive.

        Each thread has the position of its mbarrier; with ``relaxed``, threads release only what they knew at a fence.
        """
        self._order.release(positions, at, live, relaxed=relaxed)

    def observe(
        self, positions: NDArray[np.int64], at: ThreadIndices, live: NDArray[np.bool_], *, relaxed: bool
    ) -> None:
        """Let threads that see a completed phase acquire what was released; if ``relaxed``, at their next fence."""
        proxies = self.memory.proxies
        if proxies is not None and proxies.phases is not None and len(positions):
            proxies.phases.observe(positions, at)
        self._order.observe(positions, at, live, relaxed=relaxed)

    def settle(self, position: int, word: Word) -> None:
        """Complete the phase if nothing is pending, note its copies as complete, and write the mbarrier's bits."""
        if word.completes():
            self.records[position].begin_phase()
            self._order.complete(position)
            finished = self._copies.pop(position, [])
            self._completed += finished
            self._note_phase(position, finished)
        self.put(position, word)

    def _note_phase(self, position: int, copies: list[_AttachedCopy]) -> None:
        """Let threads that do not observe the phase that is now complete not use the bytes of its bulk copies."""
        phases = None if self.memory.proxies is None else self.memory.proxies.phases
        if phases is None:
            return
        block = position // self.memory.shared.stride
        for copy, mask, _ in copies:
            access = copy.resolved.access
            if not copy.by_barrier:
                continue
            shape = np.broadcast_shapes(access.positions.shape, self.memory.threads.shape)
            writes = np.broadcast_to(True if access.mask is None else access.mask, shape)[..., block, :, :]
            own = writes if mask is None else writes & mask[block]
            pieces = np.broadcast_to(access.positions, shape)[..., block, :, :][own] >> 4
            phases.complete(position, pieces, access.instruction)
        phases.advance(position)

    def _finish_copies(self) -> None:
        """Write what completed phases have copied, each copy once for all blocks."""
        done: dict[int, _AttachedCopy] = {}
        for one in self._completed:
            before = done.get(id(one.copy))
            done[id(one.copy)] = one if before is None else one.joined(before)
        self._completed.clear()
        for copy, mask, now in done.values():
            self._async_copies.finish([(copy, mask)], now)

    def wait(
        self, instruction: PtxInstruction, positions: NDArray[np.int64], at: ThreadIndices, over: NDArray[np.bool_], *,
        by_parity: bool,
    ) -> list[Fault]:  # fmt: skip
        """Record that threads wait, and which of them saw the phase complete; return waits for the wrong parity."""
        shape = self.memory.threads.shape
        if instruction.line not in self.waiting:
            self.waiting[instruction.line] = instruction, np.full(shape, -1, np.int64)
        self.waiting[instruction.line][1][at] = np.where(over, -1, positions)
        if self.late:
            self.awaited[at] = np.where(over, -1, positions)
        faults: list[Fault] = []
        for position in np.unique(positions[over]).tolist():
            record, phases = self.records[position], self.phases_of_threads(position)
            record.seen = max(record.seen, record.phase - 1)
            chosen = np.flatnonzero(over & (positions == position))
            who = at[0][chosen], at[1][chosen], at[2][chosen]
            wrong = chosen[phases.arrived[who] == record.phase] if by_parity else chosen[:0]
            faults += [messages.wait_for_the_phase_before(i, self.location(position), record) for i in wrong.tolist()]
            phases.saw(who, np.full(len(chosen), record.phase - 1, np.int32), instruction)
        return faults

    def attach(self, position: int, copies: Iterable[tuple[AsyncCopy, Active]], now: Moment | None) -> None:
        """Let the current phase complete some copies, written at the time ``now``."""
        self._copies.setdefault(position, []).extend(_AttachedCopy(copy, mask, now) for copy, mask in copies)
