# SPDX-License-Identifier: MIT
"""Barriers in shared memory (mbarrier): phases, arrivals, bytes that are awaited, and who has seen what."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.copies import Copy, copies_of
from wmma_emu.ptx.memory.memory import Memory
from wmma_emu.ptx.memory.races.chunk import Moment
from wmma_emu.ptx.threads import Active

__all__ = ["Mbarriers", "Word", "mbarriers_of"]

_COUNT = (1 << 20) - 1
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
class _Phases:
    """What goes with a barrier beyond its bits: what those that arrived had seen, and copies that its phase ends."""

    arriving: NDArray[np.int32]
    completed: NDArray[np.int32]
    copies: list[tuple[Copy, Active, Moment | None]] = field(default_factory=list)


class Mbarriers:
    """The barriers of a chunk, by block and address.

    Those who arrive hand over what they have seen; those who see that a phase is complete have seen it from then on.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._phases: dict[int, _Phases] = {}
        self._words = memory.shared.view(8)

    def word(self, position: int) -> Word | None:
        """Read the barrier at a position of shared memory; None where none was made."""
        return Word.of(int(self._words[position >> 3]))

    def put(self, position: int, word: Word | None) -> None:
        """Write a barrier's bits; None destroys it."""
        self._words[position >> 3] = 0 if word is None else word.bits()

    def make(self, position: int, count: int) -> None:
        """Begin the first phase of a barrier that needs ``count`` arrivals."""
        self.put(position, Word(count, count, 0, 0))
        self._phases.pop(position, None)

    def phases(self, position: int) -> _Phases:
        """What goes with the barrier at a position."""
        found = self._phases.get(position)
        if found is None:
            warps = self.memory.threads.shape[1]
            found = self._phases[position] = _Phases(np.zeros(warps, np.int32), np.zeros(warps, np.int32))
        return found

    def exist(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say where there is a barrier."""
        found: NDArray[np.bool_] = self._words.take(positions >> 3) >> np.uint64(62) & np.uint64(1) != 0
        return found

    def parities(self, positions: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Parities of the phases that go on."""
        found: NDArray[np.uint64] = self._words.take(positions >> 3) >> np.uint64(63)
        return found

    def expect(self, position: int, amount: int) -> None:
        """Await more bytes, or fewer."""
        word = self.word(position)
        if word is not None:
            word.bytes += amount
            self.settle(position, word)

    def arrive(
        self, positions: NDArray[np.int64], blocks: NDArray[np.int64], warps: NDArray[np.int64],
        counts: NDArray[np.int64], expected: NDArray[np.int64], *, drop: bool = False, completes: bool = True,
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:  # fmt: skip
        """Arrive for some threads in their order, ``counts`` arrivals each, after awaiting ``expected`` more bytes.

        Returns
        -------
        tokens : uint64 array
            The barrier's bits before each arrival.
        refused : bool array
            Where a phase has not as many arrivals pending, or would complete where it may not.
        """
        tokens, refused = np.zeros(len(positions), np.uint64), np.zeros(len(positions), np.bool_)
        for position in np.unique(positions).tolist():
            mine = np.flatnonzero(positions == position)
            for block, warp in sorted(set(zip(blocks[mine].tolist(), warps[mine].tolist(), strict=True))):
                self.release(position, block, warp)
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

    def release(self, position: int, block: int, warp: int) -> None:
        """Hand over what a warp has seen, and let its time go on."""
        causality, phases = self.memory.causality, self.phases(position)
        told = causality.known[block, warp].copy()
        told[warp] = causality.now[block, warp]
        np.maximum(phases.arriving, told, out=phases.arriving)
        causality.tick_of(block, warp)

    def settle(self, position: int, word: Word) -> None:
        """Complete the phase if nothing is pending, let its copies arrive, and write the barrier's bits."""
        if word.completes():
            phases = self.phases(position)
            np.maximum(phases.completed, phases.arriving, out=phases.completed)
            copies, phases.copies = phases.copies, []
            for copy, mask, now in copies:
                copies_of(self.memory).finish([(copy, mask)], now)
        self.put(position, word)

    def observe(self, position: int, block: int, warp: int) -> None:
        """Let a warp have seen what those had seen who completed the last phase."""
        known = self.memory.causality.known[block, warp]
        np.maximum(known, self.phases(position).completed, out=known)

    def attach(self, position: int, copies: list[tuple[Copy, Active]], now: Moment | None) -> None:
        """Let the phase that goes on end some copies, written at the time ``now``."""
        self.phases(position).copies += [(copy, mask, now) for copy, mask in copies]


def mbarriers_of(memory: Memory) -> Mbarriers:
    """Return the barriers of a chunk, made when the first is asked for."""
    if memory.mbarriers is None:
        memory.mbarriers = Mbarriers(memory)
    return memory.mbarriers
