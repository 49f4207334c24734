# SPDX-License-Identifier: MIT
"""A recorder of a launch's accesses to the watched bytes, and of its synchronisation."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import ThreadIndices
from wmma_emu.ptx.findings import Message
from wmma_emu.ptx.history.log import Hit, Log, Note
from wmma_emu.ptx.history.watch import Watch, WatchedParts, watched_parts
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array, Threads


class Recorder:
    """Records the notes of a launch; the launch's memory and execution report to it.

    ``instruction`` is the instruction that is being executed, if the execution reports it, and ``active`` its threads.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch, self.log = watch, Log()
        self.instruction: PtxInstruction | None = None
        self.active: Active = None
        self._moment = 0
        self._open: list[tuple[Note, WatchedParts]] = []

    def begin(self) -> None:
        """Discard all notes, because the launch starts again."""
        self.log.clear()
        self._open.clear()
        self._moment = 0

    def accessed(self, memory: WaveMemory, reached: ResolvedAccess, active: Active, what: str) -> WatchedParts | None:
        """Record an access if it touches watched bytes: with their bits, unless it writes."""
        self.settle()
        found = watched_parts(self.watch, memory, reached, active)
        if found is None:
            return None
        hits = found.hits(None if what in ("writes", "begins to copy to", "copies to") else found.bytes_now())
        note = Note(memory.threads, what, reached.access.instruction, self._next(), hits)
        if what == "reads":
            self.log.add(note)
        else:
            self._open.append((note, found))
        return found

    def written(self, values: Array) -> None:
        """Add to the last recorded access the values that it writes, (count, *threads)."""
        for note, found in self._open:
            note.hits = found.hits(found.bytes_of(values))
            self.log.add(note)
        self._open.clear()

    def settle(self) -> None:
        """Read the memory after the last recorded access, if its values were not reported."""
        for note, found in self._open:
            note.hits = found.after(note.hits or [])
            self.log.add(note)
        self._open.clear()

    def synchronised(
        self,
        threads: Threads,
        what: str,
        instruction: PtxInstruction | None,
        who: NDArray[np.bool_],
        detail: Message = (),
    ) -> None:
        """Record that threads, a mask of (G, W, 32), synchronise."""
        instruction = self.instruction if instruction is None else instruction
        if instruction is None or not who.any():
            return
        if self.watch.block >= 0:
            mine = threads.blocks == self.watch.block
            if not mine.any() or not who[mine].any():
                return
        self.log.add(Note(threads, what, instruction, self._next(), None, np.packbits(who), detail))

    def synchronised_at(self, threads: Threads, what: str, at: ThreadIndices, detail: Message) -> None:
        """Record that some threads, by block, warp and lane, synchronise."""
        who = np.zeros(threads.shape, np.bool_)
        who[at] = True
        self.synchronised(threads, what, None, who, detail)

    def register(
        self, threads: Threads, instruction: PtxInstruction, value: Array, size: int, who: NDArray[np.bool_]
    ) -> None:
        """Record that threads write the watched register."""
        mine = np.broadcast_to(who, threads.shape) & (threads.blocks == self.watch.block).reshape(-1, 1, 1)
        wide = np.broadcast_to(value, threads.shape)
        warp = self.watch.thread // 32
        hits = [
            Hit(g, w, lane, 0, size, int(wide[g, w, lane]))
            for g, w, lane in zip(*(x.tolist() for x in np.nonzero(mine)), strict=True)
            if w == warp
        ]
        if hits:
            self.settle()
            self.log.add(Note(threads, "writes register", instruction, self._next(), hits))

    def _next(self) -> int:
        self._moment += 1
        return self._moment
