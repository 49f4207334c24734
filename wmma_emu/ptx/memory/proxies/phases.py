# SPDX-License-Identifier: MIT
"""Which threads have observed the phases of mbarriers, that is, the bulk copies that these phases completed."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import CausalityOrder, ThreadIndices
from wmma_emu.ptx.memory.proxies.pieces import PIECE
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.program.program import PtxInstruction

_KEPT = 4
"""Phases of each mbarrier that are remembered: older ones count as observed."""

_PHASE_BITS = 32
_ALL_LANES = np.uint32(0xFFFFFFFF)


class _Phases(NamedTuple):
    """Phases: the slots and blocks of their mbarriers, their places among the kept ones, and whether they are kept."""

    slot: NDArray[np.int64]
    block: NDArray[np.int64]
    ring: NDArray[np.int64]
    is_kept: NDArray[np.bool_]


class ObservedPhases:
    """The phase of an mbarrier that completed the copy to each piece of shared memory, and the observers of the phase.

    The same is recorded for each piece of global memory from which a copy reads. ``global_bytes`` is the size of global
    memory.

    An mbarrier is known by the slot of its address and its block. For each slot, phase (modulo the kept ones), block
    and warp there are the lanes that observed it, and the first time at which one did.
    """

    def __init__(
        self, order: CausalityOrder, shape: tuple[int, int, int], stride: int, global_bytes: int, *, follows: bool
    ) -> None:
        self._order, self._shape, self._stride, self._follows = order, shape, stride, follows
        self._written = zeroed(shape[0] * stride // PIECE + 1, np.int64)
        self._lines = zeroed(len(self._written), np.int32)
        self._read = zeroed(-(-global_bytes // PIECE) + 1, np.int64)
        self._lines_of_reads = zeroed(len(self._read), np.int32)
        self._instructions: dict[int, PtxInstruction] = {}
        self._slots: dict[int, int] = {}
        blocks, warps, _ = shape
        self._count = np.zeros((0, blocks), np.int64)
        self._lanes = np.zeros((0, _KEPT, blocks, warps), np.uint32)
        self._first = np.zeros((0, _KEPT, blocks, warps), np.uint64)
        self.is_used = False

    def _slot(self, address: int) -> int:
        if address not in self._slots:
            self._slots[address] = len(self._slots)
            self._count, self._lanes, self._first = (
                np.concatenate([x, np.zeros((1, *x.shape[1:]), x.dtype)])
                for x in (self._count, self._lanes, self._first)
            )
        return self._slots[address]

    def _current_phase(self, position: int) -> int:
        """Return the code of the current phase of an mbarrier, which is not 0."""
        block, address = divmod(position, self._stride)
        slot = self._slot(address)
        return (slot * self._shape[0] + block) << _PHASE_BITS | int(self._count[slot, block]) + 1

    def _phases(self, codes: NDArray[np.int64]) -> _Phases:
        which, phase = codes >> _PHASE_BITS, (codes & ((1 << _PHASE_BITS) - 1)) - 1
        slot, block = np.divmod(which, self._shape[0])
        return _Phases(slot, block, phase % _KEPT, self._count[slot, block] - phase < _KEPT)

    def complete(self, position: int, pieces: NDArray[np.int64], instruction: PtxInstruction) -> None:
        """Record that the current phase of an mbarrier completes the copies of an instruction to some pieces."""
        self._written[pieces] = self._current_phase(position)
        self._lines[pieces] = instruction.line
        self._instructions[instruction.line] = instruction
        self.is_used = True

    def reads(self, position: int, pieces: NDArray[np.int64], instruction: PtxInstruction) -> None:
        """Record that copies read pieces of global memory until the current phase of an mbarrier completes."""
        self._read[pieces] = self._current_phase(position)
        self._lines_of_reads[pieces] = instruction.line
        self._instructions[instruction.line] = instruction
        self.is_used = True

    def advance(self, position: int) -> None:
        """Begin the next phase of an mbarrier."""
        block, address = divmod(position, self._stride)
        slot = self._slot(address)
        self._count[slot, block] += 1
        ring = int(self._count[slot, block]) % _KEPT
        self._lanes[slot, ring, block] = self._first[slot, ring, block] = 0

    def observe(self, positions: NDArray[np.int64], at: ThreadIndices) -> None:
        """Record that threads see the completed phases of the mbarriers at some positions."""
        g, w, lane = at
        addresses = positions % self._stride
        stamps = self._order.stamps(None).astype(np.uint64)
        for address in np.unique(addresses).tolist():
            slot, chosen = self._slot(address), addresses == address
            b, v, lanes = g[chosen], w[chosen], lane[chosen]
            bits = np.uint32(1) << lanes.astype(np.uint32)
            for back in range(1, _KEPT):
                ring = (self._count[slot, b] - back) % _KEPT
                is_new = self._first[slot, ring, b, v] == 0
                self._first[slot, ring[is_new], b[is_new], v[is_new]] = stamps[b[is_new], v[is_new], lanes[is_new]]
                np.bitwise_or.at(self._lanes, (np.full_like(ring, slot), ring, b, v), bits)

    def unobserved(self, pieces: NDArray[np.int64], threads: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return which threads know no observer of the phase that completed the copy to their piece; None: all do."""
        return self._unobserved(self._written.take(pieces), threads)

    def unobserved_reads(self, pieces: NDArray[np.int64], threads: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return the same for the last copy from their piece of global memory."""
        return self._unobserved(self._read.take(pieces), threads)

    def _unobserved(self, codes: NDArray[np.int64], threads: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        if len(codes) and (codes == codes[0]).all() and self._have_all_observed(codes[:1], threads):
            return None
        at = np.flatnonzero(codes)
        if not len(at):
            return None
        slot, block, ring, is_kept = self._phases(codes[at])
        g, w, lane = np.unravel_index(threads[at], self._shape)
        seen = self._lanes[slot, ring, g, w] >> lane.astype(np.uint32) & np.uint32(1)
        bad = is_kept & ((seen == 0) | (g != block))
        if not bad.any():
            return None
        at = at[bad]
        is_unknown = self._are_unknown(self._first[slot[bad], ring[bad], block[bad]], threads[at])
        found = np.zeros(len(codes), np.bool_)
        found[at[is_unknown]] = True
        return found if is_unknown.any() else None

    def _have_all_observed(self, code: NDArray[np.int64], threads: NDArray[np.int64]) -> bool:
        """Return whether all lanes of the warps of some threads observed a phase, (1,), or there is none."""
        if not code[0]:
            return True
        slot, block, ring, is_kept = (x[0] for x in self._phases(code))
        if not is_kept:
            return True
        has_observed = np.zeros(self._shape[:2], np.bool_)
        has_observed[block] = self._lanes[slot, ring, block] == _ALL_LANES
        return bool(has_observed.reshape(-1).take(threads // LANES).all())

    def _are_unknown(self, observers: NDArray[np.uint64], threads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which threads do not know any of the observations, (threads, warps) stamps."""
        there = observers != 0
        if not self._follows:
            return np.asarray(~there.any(axis=1))
        each = np.repeat(threads, observers.shape[1])
        unordered = self._order.unordered_for(observers.reshape(-1), each).reshape(observers.shape)
        return np.asarray(~(there & ~unordered).any(axis=1))

    def forget(self, pieces: NDArray[np.int64]) -> None:
        """Remove the record of pieces that other accesses have written since."""
        if self.is_used:
            self._written[pieces] = 0

    def forget_reads(self, pieces: NDArray[np.int64]) -> None:
        """Remove the record of pieces of global memory from which copies have read."""
        self._read[pieces] = 0

    def copy_to(self, piece: int) -> PtxInstruction:
        """Return the instruction of the copy to a piece."""
        return self._instructions[int(self._lines[piece])]

    def copy_from(self, piece: int) -> PtxInstruction:
        """Return the instruction of the last copy from a piece of global memory."""
        return self._instructions[int(self._lines_of_reads[piece])]

    def observed_by_nobody(self) -> Iterator[tuple[PtxInstruction, int]]:
        """Yield the copies whose phases no thread has observed: the instruction, and the first piece of each block."""
        pieces = np.flatnonzero(self._written) if self.is_used else np.zeros(0, np.int64)
        slot, block, ring, is_kept = self._phases(self._written[pieces])
        at = np.flatnonzero(is_kept & ~self._lanes[slot, ring, block].any(axis=-1))
        _, first = np.unique(self._lines[pieces[at]] * np.int64(self._shape[0]) + block[at], return_index=True)
        for i in at[np.sort(first)].tolist():
            yield self.copy_to(int(pieces[i])), int(pieces[i])
