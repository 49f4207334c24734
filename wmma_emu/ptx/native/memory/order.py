# SPDX-License-Identifier: MIT
"""Whether the accesses in the log of a wave are ordered: the causality order of the NumPy machine decides.

The log has what threads did to synchronise, in the order of their execution, and in between each access for which no
barrier of its block orders an earlier one. An earlier access has the last time that its stamp permits: then a race is
never missed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import order_of_launch
from wmma_emu.ptx.causality.ordering import fence_of, ordering_of
from wmma_emu.ptx.memory.access import in_passes
from wmma_emu.ptx.native.memory.log import ALL_THREADS, SHARED, EntryKind, EntryWord
from wmma_emu.ptx.native.memory.state import BARRIERS_MASK, BLOCK_MASK, MEETINGS_MASK, Stamp
from wmma_emu.ptx.program.polling import polls_of
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.steps.atomics import name_and_type
from wmma_emu.ptx.steps.loads import parse_access
from wmma_emu.ptx.widths import bits_of_type

_Mask = NDArray[np.bool_]

_LANE = np.arange(LANES)
_MOST_EVENTS, _MOST_BARRIERS = 500, 250
"""The events of a warp, and the barriers of a block, whose stamps all differ; a wave with more is not decided."""


class _Entry(NamedTuple):
    kind: EntryKind
    details: int
    block: int
    stamp: int
    lanes: int
    payload: NDArray[np.int64]

    @property
    def warp(self) -> int:
        return self.stamp >> Stamp.WARP & 31

    @property
    def key(self) -> int:
        """The part of the stamp that tells the time."""
        return self.stamp & (BARRIERS_MASK | MEETINGS_MASK)


def are_ordered(
    log: NDArray[np.int64], logged: Sequence[PtxInstruction], program: KernelProgram, exists: _Mask
) -> bool:  # fmt: skip
    """Return whether all conflicts in a log are known to be ordered.

    ``logged`` are the instructions of the program that entries name, and ``exists`` marks the threads of the wave,
    which is the whole grid, (blocks, warps, 32).
    """
    wave = _Wave(logged, program, exists)
    return all(wave.execute(entry) for entry in _entries(log)) and wave.are_ordered()


def _place_of(instruction: PtxInstruction) -> tuple[int, int, str]:
    """Return what identifies an instruction in the source."""
    return instruction.line, instruction.column, instruction.opcode


def _entries(log: NDArray[np.int64]) -> Iterator[_Entry]:
    at, first = 0, int(EntryWord.COUNT_OF_WORDS)
    while at < len(log):
        kind, block, stamp, lanes = (int(x) for x in log[at : at + first])
        size = kind >> 40
        yield _Entry(
            EntryKind(kind & 0xFF), kind >> 8 & 0xFFFF_FFFF, block, stamp, lanes, log[at + first : at + first + size]
        )
        at += first + size


class _Wave:
    """The causality order of a wave, while its log is read."""

    def __init__(self, logged: Sequence[PtxInstruction], program: KernelProgram, exists: _Mask) -> None:
        self._logged, self._live = logged, exists.copy()
        blocks, warps, _ = exists.shape
        self._order = order_of_launch(blocks, warps, program.instructions)
        self._order.begin(np.arange(blocks))
        self._keys = np.zeros((blocks, warps), np.int64)
        self._times: dict[tuple[int, int, int], int] = {}
        self._events, self._barriers = np.zeros((blocks, warps), np.int64), np.zeros(blocks, np.int64)
        self._conflicts: list[tuple[int, int]] = []
        waits = polls_of(program).waits
        others = {_place_of(x) for x in program.instructions if id(x) not in waits}
        self._polls = {_place_of(x) for x in program.instructions} - others

    def execute(self, entry: _Entry) -> bool:
        """Execute an entry; return False if an access before it is a race, or if that cannot be decided."""
        if entry.kind == EntryKind.CONFLICT:
            return self._note_conflict(entry)
        if not self.are_ordered():
            return False
        _EXECUTE[entry.kind](self, entry)
        if entry.kind not in (EntryKind.LOAD, EntryKind.COMPLETION):
            meetings = entry.key + (1 << Stamp.MEETINGS) & MEETINGS_MASK
            self._keys[entry.block, entry.warp] = entry.key & BARRIERS_MASK | meetings
            self._events[entry.block, entry.warp] += 1
        return bool(self._events.max() < _MOST_EVENTS and self._barriers.max() < _MOST_BARRIERS)

    def _note_conflict(self, entry: _Entry) -> bool:
        old = int(entry.payload[0])
        if old >> Stamp.WARPS & 1 or (entry.details == 64 and old >> Stamp.BLOCKS & 1):
            return False  # accesses of several warps, whose times are not known
        block = ((old & BLOCK_MASK) >> Stamp.BLOCK) - 1 if entry.details == 64 else entry.block
        warp, key = old >> Stamp.WARP & 31, old & (BARRIERS_MASK | MEETINGS_MASK)
        time = self._times.get((block, warp, key), int(self._order.now[block, warp]))
        first = (block * self._live.shape[1] + warp) * LANES
        own = (entry.block * self._live.shape[1] + entry.warp) * LANES + (entry.stamp & 31)
        lanes = range(LANES) if old >> Stamp.LANES & 1 else (old & 31,)
        self._conflicts += [(time << self._order.bits | first + lane, own) for lane in lanes]
        return True

    def are_ordered(self) -> bool:
        """Return whether the accesses that were noted last are ordered."""
        if not self._conflicts:
            return True
        stamps, threads = np.array([*set(self._conflicts)], np.int64).T
        self._conflicts.clear()
        return not self._order.unordered_for(stamps.astype(np.uint64), threads).any()

    def _participants(self, entry: _Entry) -> _Mask:
        found = np.zeros(self._live.shape, np.bool_)
        found[entry.block, entry.warp] = entry.lanes >> _LANE & 1
        return found

    def _close(self, block: int, warp: int, key: int) -> None:
        """Note the time of the accesses with a stamp, which is over."""
        self._times[block, warp, key] = int(self._order.now[block, warp])

    def fence(self, entry: _Entry) -> None:
        ordering = fence_of(self._logged[entry.details])
        self._close(entry.block, entry.warp, entry.key)
        if ordering is not None:
            self._order.fence(self._participants(entry), ordering)

    def _access(self, entry: _Entry, do: Callable[..., None], size: int) -> None:
        """Execute an access of the lanes of a warp, in the order of their writes."""
        is_shared = entry.details & SHARED
        instruction = self._logged[entry.details & SHARED - 1]
        lanes = np.flatnonzero(entry.lanes >> _LANE & 1)
        if entry.kind == EntryKind.STORE:
            rank = np.argsort(in_passes(_LANE, size))
            lanes = lanes[np.argsort(rank[lanes])]
        at = np.full_like(lanes, entry.block), np.full_like(lanes, entry.warp), lanes
        positions = entry.payload[lanes] + (entry.block << 24 if is_shared else 0)
        ordering = ordering_of(instruction.mnemonic, instruction.modifiers)
        if instruction.mnemonic == "atom" and "relaxed" not in instruction.modifiers:
            ordering = ordering._replace(acquires=ordering.acquires or _place_of(instruction) in self._polls)
        do("shared" if is_shared else "global", at, positions, size, ordering)

    def load(self, entry: _Entry) -> None:
        found = parse_access(self._logged[entry.details & SHARED - 1], 1, 0)
        if self._order.uses_memory_order:
            self._access(entry, self._order.loaded, found.size * found.length)

    def store(self, entry: _Entry) -> None:
        found = parse_access(self._logged[entry.details & SHARED - 1], 0, 1)
        self._write(entry, self._order.stored, found.size * found.length)

    def update(self, entry: _Entry) -> None:
        _, kind = name_and_type(self._logged[entry.details & SHARED - 1])
        self._write(entry, self._order.updated, bits_of_type(kind) // 8)

    def before_write(self, entry: _Entry) -> None:
        self._close(entry.block, entry.warp, entry.key)
        if self._order.uses_memory_order:
            self._order.before_write(self._participants(entry))

    def _write(self, entry: _Entry, do: Callable[..., None], size: int) -> None:
        self._close(entry.block, entry.warp, entry.key)
        if self._order.uses_memory_order:
            self._access(entry, do, size)

    def meet_lanes(self, entry: _Entry) -> None:
        self._close(entry.block, entry.warp, entry.key)
        masks = np.zeros(self._live.shape, np.uint32)
        masks[entry.block, entry.warp] = entry.payload
        self._order.meet_lanes(self._participants(entry), masks, self._live)

    def arrive(self, entry: _Entry) -> None:
        self._close(entry.block, entry.warp, entry.key)
        self._order.arrive(entry.details, self._participants(entry), self._live)

    def complete(self, entry: _Entry) -> None:
        block, number = entry.block, entry.details & ALL_THREADS - 1
        waiting = np.zeros(self._live.shape, np.bool_)
        waiting[block] = entry.payload[: self._live.shape[1], None] >> _LANE & 1
        passed = int(entry.payload[-1]) & BARRIERS_MASK
        for warp, key in enumerate(self._keys[block].tolist()):
            self._close(block, warp, key)
        self._keys[block] = self._keys[block] & MEETINGS_MASK | passed
        self._barriers[block] += 1
        if entry.details & ALL_THREADS:
            self._order.meet(number, np.array([block]))
        else:
            self._order.complete(number, np.array([block]), waiting, self._live)

    def exit(self, entry: _Entry) -> None:
        self._close(entry.block, entry.warp, entry.key)
        self._live &= ~self._participants(entry)


_EXECUTE: dict[EntryKind, Callable[[_Wave, _Entry], None]] = {
    EntryKind.FENCE: _Wave.fence, EntryKind.LOAD: _Wave.load, EntryKind.STORE: _Wave.store,
    EntryKind.UPDATE: _Wave.update, EntryKind.LANES: _Wave.meet_lanes, EntryKind.ARRIVAL: _Wave.arrive,
    EntryKind.COMPLETION: _Wave.complete, EntryKind.EXIT: _Wave.exit,
    EntryKind.BEFORE_WRITE: _Wave.before_write,
}  # fmt: skip
