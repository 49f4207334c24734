# SPDX-License-Identifier: MIT
"""The trace of one block, searched backwards: what wrote a register of a thread, or some bytes, before a moment."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.program.program import Immediate, KernelProgram, PtxInstruction, Register, VectorOperand
from wmma_emu.ptx.variants.trace import Record


class Node(NamedTuple):
    """A register that a thread writes: the record, the warp, the lane, and which of the instruction's registers."""

    record: int
    warp: int
    lane: int
    slot: int


class Written(NamedTuple):
    """A thread that wrote some bytes, and the distance from the start of its access to the bytes."""

    record: int
    warp: int
    lane: int
    offset: int


class _Stores(NamedTuple):
    """Stores of a block in one space, in the order of their words and their moments."""

    words: NDArray[np.uint64]
    records: NDArray[np.int64]
    threads: NDArray[np.int64]
    offsets: NDArray[np.int64]


class BlockTrace:
    """The records of a block, in the order of their execution."""

    def __init__(self, program: KernelProgram, records: Sequence[Record]) -> None:
        self.program, self.records = program, records
        self._stores: dict[str, _Stores] = {}

    def instruction(self, record: int) -> PtxInstruction:
        """Return the instruction of a record."""
        return self.program.instructions[self.records[record].pc]

    def bits(self, node: Node) -> int:
        """Return the bits that a node writes."""
        return int(self.records[node.record].values[node.slot][node.warp, node.lane])

    def text(self, record: int) -> str:
        """Return the PTX of a record."""
        return self.program.text(self.instruction(record).line)

    @cached_property
    def _writers(self) -> dict[int, list[tuple[int, int]]]:
        """The records that write each register, and the slot."""
        found: dict[int, list[tuple[int, int]]] = {}
        slots = {x.pc: writes(self.program.instructions[x.pc]) for x in self.records}
        for i, record in enumerate(self.records):
            for slot, register in enumerate(slots[record.pc]):
                found.setdefault(register, []).append((i, slot))
        return found

    def producer(self, register: int, before: int, warp: int, lane: int) -> Node | None:
        """Return what wrote a register of a thread last before a record; None for a register that was never written."""
        writers = self._writers.get(register, [])
        low, high = 0, len(writers)
        while low < high:  # the first writer at or after the record
            middle = (low + high) // 2
            low, high = (middle + 1, high) if writers[middle][0] < before else (low, middle)
        for i, slot in reversed(writers[:low]):
            if self.records[i].mask[warp, lane]:
                return Node(i, warp, lane, slot)
        return None

    def operand(self, given: object, before: int, warp: int, lane: int) -> int | None:
        """Return the bits of an operand of a thread, None if they are not known."""
        if isinstance(given, Immediate):
            return given.value
        if not isinstance(given, Register):
            return None
        node = self.producer(given.index, before, warp, lane)
        return None if node is None else self.bits(node)

    def writer(self, space: str, address: int, before: int, warp: int, lane: int) -> Written | None:
        """Return the thread of the block that stored a byte last before a record; local memory is the thread's own."""
        if space not in self._stores:
            self._stores[space] = self._read_stores(space)
        stores = self._stores[space]
        word = np.uint64(address // 4)
        first, end = np.searchsorted(stores.words, word), np.searchsorted(stores.words, word, side="right")
        for i in range(int(end) - 1, int(first) - 1, -1):
            own = divmod(int(stores.threads[i]), LANES)
            if stores.records[i] < before and (space != "local" or own == (warp, lane)):
                return Written(int(stores.records[i]), *own, int(stores.offsets[i]) + address % 4)
        return None

    def _read_stores(self, space: str) -> _Stores:
        parts = list(self._words_of_stores(space))
        if not parts:
            none = np.zeros(0, np.int64)
            return _Stores(none.view(np.uint64), none, none, none)
        words, records, threads, offsets = (np.concatenate(x) for x in zip(*parts, strict=True))
        order = np.lexsort((records, words))
        return _Stores(words[order], records[order], threads[order], offsets[order])

    def _words_of_stores(self, space: str) -> Iterator[tuple[NDArray[np.uint64], ...]]:
        """Yield the words of each store, with its record, its threads, and the offsets of the words in the access."""
        for i, record in enumerate(self.records):
            for access in record.accesses:
                if not access.is_write or access.space != space or not access.mask.any():
                    continue
                _, warps, lanes = np.nonzero(access.mask)
                begin = access.addresses[access.mask]
                for k in range(-(-(access.size + 3) // 4)):
                    words = begin // np.uint64(4) + np.uint64(k)
                    offsets = (words * np.uint64(4)).astype(np.int64) - begin.astype(np.int64)
                    inside = offsets < access.size
                    count = int(inside.sum())
                    yield (
                        words[inside], np.full(count, i), (warps * LANES + lanes)[inside], offsets[inside],
                    )  # type: ignore[misc]  # fmt: skip

    def place_of_slot(self, node: Node) -> int:
        """Return the position in its vector of the register that a node writes."""
        first = self.instruction(node.record).operands[0]
        if not isinstance(first, VectorOperand):
            return 0
        return [i for i, x in enumerate(first.elements) if isinstance(x, Register)][node.slot]
