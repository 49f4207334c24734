# SPDX-License-Identifier: MIT
"""Bulk groups: copies from shared memory whose source a thread must not write before it has waited for the group."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.findings import Diagnosis, Message, place_of
from wmma_emu.ptx.memory.loads_and_stores import LoadsAndStores
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active

_MOST = (1 << 31) - 1
_PIECE = 16
_AT_END = "copy in flight at the end"


class _SourceRead(NamedTuple):
    """Pieces of 16 bytes that a group still reads, each with the number of the thread that issued the copy."""

    instruction: PtxInstruction
    pieces: NDArray[np.int64]
    threads: NDArray[np.int64]
    groups: NDArray[np.int64]

    def where(self, chosen: NDArray[np.bool_]) -> "_SourceRead":
        return _SourceRead(self.instruction, self.pieces[chosen], self.threads[chosen], self.groups[chosen])


class UnmovedStore(Protocol):
    """A copy from shared memory by some threads, whose bytes have not moved."""

    def only(self, chosen: NDArray[np.bool_]) -> "UnmovedStore":
        """Return the copy of some of the threads."""

    def read(self) -> "UnmovedStore":
        """Read the source, if it was not read before; return a copy that has been read."""

    def write(self) -> None:
        """Read the source, if it was not read before, and write the target."""


class _LateStore(NamedTuple):
    store: UnmovedStore
    threads: NDArray[np.int64]
    groups: NDArray[np.int64]

    def where(self, chosen: NDArray[np.bool_]) -> "_LateStore":
        return _LateStore(self.store.only(chosen), self.threads[chosen], self.groups[chosen])


class BulkGroups:
    """The bulk groups of a wave: each thread commits its copies to a group, and waits for all but its last groups.

    A late copy reads its source when a ``wait_group`` waits for it, and writes its target when one without ``.read``
    does, or when the kernel ends.
    """

    def __init__(self, memory: LoadsAndStores) -> None:
        self._memory = memory
        self._describe_product = memory.shared_shadow.describe_reader
        memory.shared_shadow.describe_reader = self._describe_reader
        self._committed = np.zeros(memory.threads.shape, np.int64)
        self._reads: list[_SourceRead] = []
        self._late: list[_LateStore] = []

    def postpone(self, store: UnmovedStore, threads: NDArray[np.int64]) -> None:
        """Move the bytes of a copy as late as the program allows; ``threads`` are as for `reads`."""
        self._late.append(_LateStore(store, threads, self._committed.reshape(-1)[threads]))

    def finish(self) -> None:
        """Complete the copies for which no thread has waited when the kernel ends."""
        for one in self._late:
            one.store.write()
        self._late.clear()

    def reads(self, instruction: PtxInstruction, pieces: NDArray[np.int64], threads: NDArray[np.int64]) -> None:
        """Record that a copy reads pieces of shared memory; ``threads`` are flat numbers of the issuing threads."""
        self._memory.shared_shadow.hold(pieces)
        self._reads.append(_SourceRead(instruction, pieces, threads, self._committed.reshape(-1)[threads]))

    def writes(
        self, instruction: PtxInstruction, pieces: NDArray[np.int64], threads: NDArray[np.int64], *, reduces: bool
    ) -> None:
        """Record that a copy writes pieces of global memory; ``threads`` are as for `reads`."""
        proxies = self._memory.proxies
        if proxies is not None and proxies.bulk_writes is not None:
            groups = self._committed.reshape(-1)[threads]
            proxies.bulk_writes.begin(pieces, threads, groups, instruction, reduces=reduces)

    def _describe_reader(self, piece: int) -> tuple[Message, str]:
        """Describe what still reads a piece of shared memory, and name the remedy."""
        for read in self._reads:
            if (read.pieces == piece).any():
                by = read.instruction
                missing = " may still read: no cp.async.bulk.wait_group has waited for it"
                return (f"{by.opcode} of ", place_of(by), missing), "bulk store"
        return self._describe_product(piece)

    def report_in_flight(self) -> None:
        """Report copies whose threads end without having waited until the copies have read their sources."""
        shape, reporter = self._memory.threads.shape, self._memory.reporter
        for read in self._reads:
            threads = np.zeros(shape, np.bool_)
            threads.reshape(-1)[read.threads] = True
            offset = int(read.pieces[0]) * _PIECE % self._memory.shared.stride

            def text(address: int) -> Diagnosis:
                where = reporter.location("shared", address, _PIECE)
                end = ", when its thread ends: no cp.async.bulk.wait_group has waited for it"
                return Diagnosis(("may still read ", where, end), "bulk store")

            reporter.note(_AT_END, read.instruction, threads, None, np.full((1, 1, 1), offset, np.uint64), text)

    def commit(self, active: Active) -> None:
        """End the group of the active threads."""
        self._committed += 1 if active is None else active

    def wait(self, pending: int, active: Active, *, read_only: bool) -> None:
        """Wait for all but the last ``pending`` groups of the active threads.

        With ``read_only``, they only have to have read their sources.
        """
        left = (self._committed - min(pending, _MOST)).reshape(-1)
        chosen = None if active is None else np.broadcast_to(active, self._committed.shape).reshape(-1)
        self._complete_late(left, chosen, read_only)
        proxies = self._memory.proxies
        if not read_only and proxies is not None and proxies.bulk_writes is not None:
            threads = np.arange(len(left)) if chosen is None else np.flatnonzero(chosen)
            proxies.bulk_writes.wait(left[threads], threads)
        kept = []
        for read in self._reads:
            done = read.groups < left[read.threads]
            if chosen is not None:
                done &= chosen[read.threads]
            self._memory.release(read.pieces[done])
            if self._memory.proxies is not None and done.any():
                self._memory.proxies.source_is_read(read.pieces[done], read.threads[done], read.instruction)
            if not done.all():
                kept.append(read.where(~done))
        self._reads = kept

    def _complete_late(self, left: NDArray[np.int64], chosen: NDArray[np.bool_] | None, read_only: bool) -> None:
        """Complete the late copies of groups below ``left`` by the chosen threads, in the order of issue."""
        kept = []
        for one in self._late:
            done = one.groups < left[one.threads]
            if chosen is not None:
                done &= chosen[one.threads]
            if not done.all():
                kept.append(one.where(~done) if done.any() else one)
            if not done.any():
                continue
            ready = one.where(done)
            if read_only:
                kept.append(ready._replace(store=ready.store.read()))
            else:
                ready.store.write()
        self._late = kept
