# SPDX-License-Identifier: MIT
"""Barriers in shared memory (mbarrier): phases, arrivals, bytes that are awaited, and who has seen what."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import At, CausalityOrder
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
    """What the 64 bits hold, in this project's own arrangement (the manual leaves it open).

    Bits 0 to 19: arrivals that are pending; 20 to 39: arrivals that a phase needs; 40 to 60: bytes that are
    awaited, in two's complement; 62: set where a barrier is; 63: parity of the phase.

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
        """Read a pattern; None where it is no barrier's."""
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
        """Begin the next phase if this one is over."""
        if self.pending or self.bytes:
            return False
        self.pending, self.parity = self.expected, self.parity ^ 1
        return True


@dataclass(slots=True)
class _Told:
    """What was handed on at the barriers that lie at one address of the shared memory of each block.

    Times of the block's warps and a piece of knowledge, see `CausalityOrder.tell`: of those that have arrived, and as
    it was when the last phase was completed.
    """

    arriving: NDArray[np.int32]
    completed: NDArray[np.int32]
    arriving_pieces: NDArray[np.int64]
    completed_pieces: NDArray[np.int64]

    @classmethod
    def nothing(cls, causality: CausalityOrder) -> "_Told":
        times, blocks = np.zeros_like(causality.now), causality.now.shape[:1]
        return cls(times, times.copy(), causality.no_pieces(blocks), causality.no_pieces(blocks))

    def forget(self, block: int) -> None:
        for x in (self.arriving, self.completed, self.arriving_pieces, self.completed_pieces):
            x[block] = 0

    def complete(self, block: int) -> None:
        self.completed[block] = self.arriving[block]
        self.completed_pieces[block] = self.arriving_pieces[block]


class Mbarriers:
    """The barriers of a chunk, by block and address.

    Those who arrive hand over what they have seen; those who see that a phase is complete have seen it from then on.
    """

    def __init__(self, memory: LoadsAndStores, copies: AsyncCopies) -> None:
        self.memory = memory
        self._under_way = copies
        self._told: dict[int, _Told] = {}
        self._copies: dict[int, list[tuple[AsyncCopy, Active, Moment | None]]] = {}
        self._words = memory.shared.view(8)
        self._waits: dict[int, tuple[PtxInstruction, NDArray[np.int64], NDArray[np.bool_]]] = {}

    def word(self, position: int) -> Word | None:
        """Read the barrier at a position of shared memory; None where none was made."""
        return Word.of(int(self._words[position >> 3]))

    def put(self, position: int, word: Word | None) -> None:
        """Write a barrier's bits; None destroys it."""
        self._words[position >> 3] = 0 if word is None else word.bits()

    def make(self, position: int, count: int) -> None:
        """Begin the first phase of a barrier that needs ``count`` arrivals."""
        self.put(position, Word(count, count, 0, 0))
        block, told = self._told_at(position)
        told.forget(block)
        self._copies.pop(position, None)

    def _told_at(self, position: int) -> tuple[int, _Told]:
        """What was handed on at the barrier at a position, and of which block it is."""
        block, address = divmod(position, self.memory.shared.stride)
        if address not in self._told:
            self._told[address] = _Told.nothing(self.memory.causality)
        return block, self._told[address]

    def exist(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say where there is a barrier."""
        return np.asarray(self._words.take(positions >> 3) >> np.uint64(62) & np.uint64(1) != 0)

    def parities(self, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Parities of the phases that go on."""
        return np.asarray(self._words.take(positions >> 3) >> np.uint64(63))

    def expect(self, position: int, amount: int) -> None:
        """Await more bytes, or fewer."""
        word = self.word(position)
        if word is not None:
            word.bytes += amount
            self.settle(position, word)

    def arrive(
        self, positions: NDArray[np.int64], counts: NDArray[np.int64], expected: NDArray[np.int64], *,
        drop: bool = False, completes: bool = True,
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:  # fmt: skip
        """Arrive for some threads in their order, ``counts`` arrivals each, after awaiting ``expected`` more bytes.

        Gives the barrier's bits before each arrival, and where it is refused: a phase has not as many arrivals pending,
        or would complete where it may not.
        """
        tokens, refused = np.zeros(len(positions), np.uint64), np.zeros(len(positions), np.bool_)
        for position in np.unique(positions).tolist():
            mine = np.flatnonzero(positions == position)
            word = self.word(position)
            if word is None:
                continue
            for i, count, more in zip(mine.tolist(), counts[mine].tolist(), expected[mine].tolist(), strict=True):
                tokens[i] = word.bits()
                word.bytes += more
                if count > word.pending or (not completes and count == word.pending and not word.bytes):
                    refused[i] = True
                    continue
                word.expected -= count if drop else 0
                word.pending -= count
                self.settle(position, word)
        return tokens, refused

    def release(self, positions: NDArray[np.int64], at: At, live: NDArray[np.bool_], *, relaxed: bool) -> None:
        """Let threads hand on what they know to those that see the phase completed that they arrive at.

        Each has the position of its barrier; ``relaxed`` ones hand on only what they knew at a fence.
        """
        causality = self.memory.causality
        for told, who in self._by_address(positions, at, live.shape):
            times, pieces = causality.tell(who, live, relaxed=relaxed)
            np.maximum(told.arriving, times, out=told.arriving)
            if pieces is not None:
                told.arriving_pieces[:] = causality.knowledge.join(told.arriving_pieces, pieces)

    def observe(self, positions: NDArray[np.int64], at: At, live: NDArray[np.bool_], *, relaxed: bool) -> None:
        """Let threads that see a phase completed know what was handed on at it, ``relaxed`` at their next fence."""
        causality = self.memory.causality
        for told, who in self._by_address(positions, at, live.shape):
            if relaxed:
                causality.see_told(who, told.completed, told.completed_pieces)
            else:
                causality.learn(who, live, told.completed, told.completed_pieces)

    def _by_address(
        self, positions: NDArray[np.int64], at: At, shape: tuple[int, ...]
    ) -> Iterator[tuple[_Told, NDArray[np.bool_]]]:  # fmt: skip
        addresses = positions % self.memory.shared.stride
        for address in np.unique(addresses).tolist():
            mine = addresses == address
            who = np.zeros(shape, np.bool_)
            who[at[0][mine], at[1][mine], at[2][mine]] = True
            yield self._told_at(address)[1], who

    def settle(self, position: int, word: Word) -> None:
        """Complete the phase if nothing is pending, let its copies arrive, and write the barrier's bits."""
        if word.completes():
            block, told = self._told_at(position)
            told.complete(block)
            for copy, mask, now in self._copies.pop(position, ()):
                self._under_way.finish([(copy, mask)], now)
        self.put(position, word)

    def note_waits(self, instruction: PtxInstruction, positions: NDArray[np.int64], over: NDArray[np.bool_]) -> None:
        """Remember at which barriers threads looked last, and whether the phase that they wait for was over."""
        self._waits[instruction.line] = instruction, positions, over

    def unmet(self, block: int) -> list[str]:
        """Say of a block's barriers whose phase threads wait for what the phase lacks."""
        stride = self.memory.shared.stride
        texts = []
        for instruction, positions, over in self._waits.values():
            for position in np.unique(positions[~over & (positions // stride == block)]).tolist()[:_MOST_SHOWN]:
                word = self.word(position)
                place = self.memory.reporter.location("shared", position - block * stride, _BYTES)
                if word is not None:
                    texts.append(
                        f"the mbarrier of {place}, at which line {instruction.line} looks, lacks {word.pending} of "
                        f"{word.expected} arrivals and {max(word.bytes, 0)} bytes"
                    )
        return texts

    def attach(self, position: int, copies: list[tuple[AsyncCopy, Active]], now: Moment | None) -> None:
        """Let the phase that goes on end some copies, written at the time ``now``."""
        self._copies.setdefault(position, []).extend((copy, mask, now) for copy, mask in copies)
