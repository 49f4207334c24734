# SPDX-License-Identifier: MIT
"""Barriers in shared memory (mbarrier): phases, arrivals, expected bytes, and the order that they establish."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder, ThreadIndices
from wmma_emu.ptx.memory.async_copies import AsyncCopies, AsyncCopy
from wmma_emu.ptx.memory.loads_and_stores import LoadsAndStores
from wmma_emu.ptx.memory.races.wave import Moment
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active

_BYTES = 8
_COUNT = (1 << 20) - 1
_MOST_SHOWN = 4
_TX_BITS, _TX_MASK = 21, (1 << 21) - 1


@dataclass(slots=True)
class Word:
    """The fields of the 64 bits of an mbarrier, in this project's own layout (the manual leaves it open).

    Bits 0 to 19: pending arrivals; 20 to 39: arrivals that a phase needs; 40 to 60: bytes that are still expected, in
    two's complement; 62: set if there is a barrier; 63: parity of the phase.

    Examples
    --------
    >>> word = Word(3, 3, 0, 0)
    >>> Word.of(word.bits()) == word, hex(word.bits())
    (True, '0x4000000000300003')
    """

    pending: int
    expected: int
    bytes: int
    parity: int

    @classmethod
    def of(cls, bits: int) -> "Word | None":
        """Decode a pattern; return None if it is not an mbarrier."""
        if not bits >> 62 & 1:
            return None
        awaited = bits >> 40 & _TX_MASK
        signed = awaited - (1 << _TX_BITS) if awaited >> (_TX_BITS - 1) else awaited
        return cls(bits & _COUNT, bits >> 20 & _COUNT, signed, bits >> 63)

    def bits(self) -> int:
        """Return the pattern."""
        awaited = (self.bytes & _TX_MASK) << 40
        return self.parity << 63 | 1 << 62 | awaited | (self.expected & _COUNT) << 20 | (self.pending & _COUNT)

    def completes(self) -> bool:
        """Begin the next phase if this one is complete; return whether it was."""
        if self.pending or self.bytes:
            return False
        self.pending, self.parity = self.expected, self.parity ^ 1
        return True


@dataclass(slots=True)
class _ReleasedKnowledge:
    """The knowledge that threads released at the mbarriers at one address of the shared memory of each block.

    It consists of times of the block's warps and a piece of knowledge, see `CausalityOrder.release`: those of the
    threads that have arrived, and those at the completion of the last phase.
    """

    arriving: NDArray[np.int32]
    completed: NDArray[np.int32]
    arriving_pieces: NDArray[np.int64]
    completed_pieces: NDArray[np.int64]

    @classmethod
    def nothing(cls, causality: CausalityOrder) -> "_ReleasedKnowledge":
        times, blocks = np.zeros_like(causality.now), causality.now.shape[:1]
        return cls(times, times.copy(), causality.no_pieces(blocks), causality.no_pieces(blocks))

    def forget(self, block: int) -> None:
        for x in (self.arriving, self.completed, self.arriving_pieces, self.completed_pieces):
            x[block] = 0

    def complete(self, block: int) -> None:
        self.completed[block] = self.arriving[block]
        self.completed_pieces[block] = self.arriving_pieces[block]


class _AttachedCopy(NamedTuple):
    """A copy that the phase of an mbarrier completes for the threads of a mask, as a write at a time."""

    copy: AsyncCopy
    mask: Active
    now: Moment | None

    def joined(self, other: "_AttachedCopy") -> "_AttachedCopy":
        """Return the copy for the threads of both masks; None stands for all threads."""
        both = None if self.mask is None or other.mask is None else self.mask | other.mask
        return self._replace(mask=both)


Completion = Callable[[NDArray[np.bool_]], None]
"""Completes an asynchronous operation for some of the threads that issued it."""


class _LateCompletion(NamedTuple):
    """An operation that has not completed: the position of each issuing thread's mbarrier."""

    positions: NDArray[np.int64]
    complete: Completion
    left: NDArray[np.bool_]


class Mbarriers:
    """The mbarriers of a wave, by block and address.

    Threads that arrive release what they know; threads that see that a phase is complete acquire it. ``awaited`` is the
    mbarrier that each thread has found incomplete, -1 for other threads, while there are ``late`` operations.
    """

    def __init__(self, memory: LoadsAndStores, copies: AsyncCopies) -> None:
        self.memory = memory
        self._async_copies = copies
        self._released: dict[int, _ReleasedKnowledge] = {}
        self._copies: dict[int, list[_AttachedCopy]] = {}
        self._completed: list[_AttachedCopy] = []
        self._words = memory.shared.view(8)
        self._waits: dict[int, tuple[PtxInstruction, NDArray[np.int64], NDArray[np.bool_]]] = {}
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

    def word(self, position: int) -> Word | None:
        """Read the mbarrier at a position of shared memory; None if there is none."""
        return Word.of(int(self._words[position >> 3]))

    def put(self, position: int, word: Word | None) -> None:
        """Write an mbarrier's bits; None destroys it."""
        self._words[position >> 3] = 0 if word is None else word.bits()

    def make(self, position: int, count: int) -> None:
        """Begin the first phase of an mbarrier that needs ``count`` arrivals."""
        self.put(position, Word(count, count, 0, 0))
        block, released = self._released_at(position)
        released.forget(block)
        self._copies.pop(position, None)

    def _released_at(self, position: int) -> tuple[int, _ReleasedKnowledge]:
        """Return the block of a position, and what was released at the mbarrier at its address."""
        block, address = divmod(position, self.memory.shared.stride)
        if address not in self._released:
            self._released[address] = _ReleasedKnowledge.nothing(self.memory.causality)
        return block, self._released[address]

    def exist(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return at which positions there is an mbarrier."""
        return np.asarray(self._words.take(positions >> 3) >> np.uint64(62) & np.uint64(1) != 0)

    def parities(self, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the parities of the current phases."""
        return np.asarray(self._words.take(positions >> 3) >> np.uint64(63))

    def await_more(self, positions: NDArray[np.int64]) -> None:
        """Let the current phases need an additional arrival of each thread."""
        for position in positions.tolist():
            word = self.word(position)
            if word is not None:
                word.pending += 1
                self.put(position, word)

    def expect(self, positions: NDArray[np.int64], amounts: NDArray[np.int64]) -> None:
        """Add to the numbers of expected bytes, for some threads in their order."""
        for position, amount in zip(positions.tolist(), amounts.tolist(), strict=True):
            word = self.word(position)
            if word is not None:
                word.bytes += amount
                self.settle(position, word)
        self._finish_copies()

    def deliver(self, positions: NDArray[np.int64], amounts: NDArray[np.int64]) -> None:
        """Complete the transactions of copies, whose bytes arrive in small packets.

        If more bytes arrive than the phase expects, it completes when the expected ones have arrived, and the others
        count for the next phase (NVIDIA H200, driver 580.159.04, 2026-11-23).
        """
        for position, amount in zip(positions.tolist(), amounts.tolist(), strict=True):
            word = self.word(position)
            if word is None:
                continue
            rest = amount - word.bytes if 0 < word.bytes < amount and not word.pending else 0
            word.bytes -= amount - rest
            self.settle(position, word)
            if rest:
                word.bytes -= rest
                self.put(position, word)
        self._finish_copies()

    def arrive(
        self, positions: NDArray[np.int64], counts: NDArray[np.int64], expected: NDArray[np.int64], *,
        drop: bool = False, completes: bool = True,
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:  # fmt: skip
        """Arrive for some threads in their order, ``counts`` arrivals each, after expecting ``expected`` more bytes.

        Return the mbarrier's bits before each arrival, and which arrivals are refused: a phase has too few pending
        arrivals, or would complete where it must not.
        """
        tokens, refused = np.zeros(len(positions), np.uint64), np.zeros(len(positions), np.bool_)
        for position in np.unique(positions).tolist():
            selected = np.flatnonzero(positions == position)
            word = self.word(position)
            if word is None:
                continue
            for i, count, more in zip(
                selected.tolist(), counts[selected].tolist(), expected[selected].tolist(), strict=True
            ):
                tokens[i] = word.bits()
                word.bytes += more
                if count > word.pending or (not completes and count == word.pending and not word.bytes):
                    refused[i] = True
                    continue
                word.expected -= count if drop else 0
                word.pending -= count
                self.settle(position, word)
        self._finish_copies()
        return tokens, refused

    def release(
        self, positions: NDArray[np.int64], at: ThreadIndices, live: NDArray[np.bool_], *, relaxed: bool
    ) -> None:
        """Release what threads know to those that see the completion of the phase at which they arrive.

        Each thread has the position of its mbarrier; with ``relaxed``, threads release only what they knew at a fence.
        """
        causality = self.memory.causality
        for released, participants in self._by_address(positions, at, live.shape):
            times, pieces = causality.release(participants, live, relaxed=relaxed)
            np.maximum(released.arriving, times, out=released.arriving)
            if pieces is not None:
                released.arriving_pieces[:] = causality.knowledge.join(released.arriving_pieces, pieces)

    def observe(
        self, positions: NDArray[np.int64], at: ThreadIndices, live: NDArray[np.bool_], *, relaxed: bool
    ) -> None:
        """Let threads that see a completed phase acquire what was released; if ``relaxed``, at their next fence."""
        causality = self.memory.causality
        for released, participants in self._by_address(positions, at, live.shape):
            if relaxed:
                causality.see_released(participants, released.completed, released.completed_pieces)
            else:
                causality.learn(participants, live, released.completed, released.completed_pieces)

    def _by_address(
        self, positions: NDArray[np.int64], at: ThreadIndices, shape: tuple[int, ...]
    ) -> Iterator[tuple[_ReleasedKnowledge, NDArray[np.bool_]]]:  # fmt: skip
        addresses = positions % self.memory.shared.stride
        for address in np.unique(addresses).tolist():
            selected = addresses == address
            participants = np.zeros(shape, np.bool_)
            participants[at[0][selected], at[1][selected], at[2][selected]] = True
            yield self._released_at(address)[1], participants

    def settle(self, position: int, word: Word) -> None:
        """Complete the phase if nothing is pending, note its copies as complete, and write the mbarrier's bits."""
        if word.completes():
            block, released = self._released_at(position)
            released.complete(block)
            self._completed += self._copies.pop(position, ())
        self.put(position, word)

    def _finish_copies(self) -> None:
        """Write what completed phases have copied, each copy once for all blocks."""
        done: dict[int, _AttachedCopy] = {}
        for one in self._completed:
            before = done.get(id(one.copy))
            done[id(one.copy)] = one if before is None else one.joined(before)
        self._completed.clear()
        for copy, mask, now in done.values():
            self._async_copies.finish([(copy, mask)], now)

    def note_waits(
        self, instruction: PtxInstruction, positions: NDArray[np.int64], over: NDArray[np.bool_], at: ThreadIndices
    ) -> None:
        """Record at which mbarriers threads waited last, and whether the phase was complete."""
        self._waits[instruction.line] = instruction, positions, over
        if self.late:
            self.awaited[at] = np.where(over, -1, positions)

    def describe_waits(self, block: int) -> list[str]:
        """Describe what is missing to the phases of a block's mbarriers for which threads wait."""
        stride = self.memory.shared.stride
        texts = []
        for instruction, positions, over in self._waits.values():
            for position in np.unique(positions[~over & (positions // stride == block)]).tolist()[:_MOST_SHOWN]:
                word = self.word(position)
                location = self.memory.reporter.location("shared", position - block * stride, _BYTES)
                if word is not None:
                    texts.append(
                        f"the mbarrier of {location}, for which line {instruction.line} waits, lacks {word.pending} of "
                        f"{word.expected} arrivals and {max(word.bytes, 0)} bytes"
                    )
        return texts

    def attach(self, position: int, copies: list[tuple[AsyncCopy, Active]], now: Moment | None) -> None:
        """Let the current phase complete some copies, written at the time ``now``."""
        self._copies.setdefault(position, []).extend(_AttachedCopy(copy, mask, now) for copy, mask in copies)
