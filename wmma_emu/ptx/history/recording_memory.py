# SPDX-License-Identifier: MIT
"""Memory that reports accesses to a recorder: accesses to watched bytes, and accesses that order others."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import ThreadIndices
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.history.recorder import Recorder
from wmma_emu.ptx.memory.async_copies import AsyncCopies, AsyncCopy
from wmma_emu.ptx.memory.masks import narrowest
from wmma_emu.ptx.memory.mbarrier_words import Word
from wmma_emu.ptx.memory.mbarriers import Mbarriers
from wmma_emu.ptx.memory.races.wave import Moment
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

_ATOMIC = ("atom", "red")
_MBARRIER = {"wait": "reads", "init": "writes", "inval": "writes"}
"""The action of mbarrier instructions on the mbarrier object, by a part of their names; the others update it."""


class RecordingMemory(WaveMemory):
    """The memory of one wave; its accesses are recorded."""

    def __init__(self, recorder: Recorder, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.recorder = recorder
        self.copies = _RecordingCopies(self)
        self.mbarriers = _RecordingMbarriers(self, self.copies)

    def resolve(
        self, instruction: PtxInstruction, space: str, addresses: Array, size: int, count: int, alignment: int,
        active: Active, *, write: bool, ordering: str,
    ) -> ResolvedAccess:  # fmt: skip
        """Resolve the bytes of an access, and record it."""
        reached = super().resolve(
            instruction, space, addresses, size, count, alignment, active, write=write, ordering=ordering
        )
        recorder, mnemonic = self.recorder, instruction.mnemonic
        what = "updates" if mnemonic in _ATOMIC else "writes" if write else "reads"
        what = "begins to copy to" if mnemonic == "cp" and write else what
        if mnemonic == "mbarrier":
            recorder.instruction = instruction
            what = next((x for words, x in _MBARRIER.items() if words in instruction.modifiers[0]), "updates")
        found = recorder.accessed(self, reached, active, what)
        is_strong = ordering != "weak" or mnemonic in _ATOMIC
        if found is None and is_strong and mnemonic != "mbarrier" and space in ("global", "shared"):
            self._note_order(reached, active)
        return reached

    def _note_order(self, reached: ResolvedAccess, active: Active) -> None:
        who = np.broadcast_to(True if active is None else active, self.threads.shape)
        if self.threads.exists is not None:
            who = who & self.threads.exists
        if not who.any():
            return
        touch = reached.access
        shape = np.broadcast_shapes(touch.addresses.shape, self.threads.shape)
        address = int(np.broadcast_to(touch.addresses, shape)[np.broadcast_to(who, shape)][0])
        where = self.reporter.location(reached.space, address, touch.size)
        detail = f"{touch.instruction.opcode} of ", where
        self.recorder.synchronised(self.threads, "synchronises", touch.instruction, who, detail)

    def note_store(
        self, reached: ResolvedAccess, written: NDArray[np.int64], active: Active, undefined: Undefined | None,
        values: Array | None = None,
    ) -> None:  # fmt: skip
        """Check a write, and record the values that it writes."""
        if values is not None:
            self.recorder.written(values)
        super().note_store(reached, written, active, undefined, values)


class _RecordingCopies(AsyncCopies):
    memory: RecordingMemory

    def begin(
        self, reached: ResolvedAccess, words: Array, active: Active, *, by_barrier: bool = False,
        undefined: Undefined | None = None, late_words: Callable[[], Array] | None = None,
    ) -> AsyncCopy:  # fmt: skip
        self.memory.recorder.written(words)
        return super().begin(reached, words, active, by_barrier=by_barrier, undefined=undefined, late_words=late_words)

    def arrive(self, copy: AsyncCopy, ready: Active, now: Moment | None = None) -> None:
        taken = narrowest(copy.mask, ready)
        if not copy.is_done and (taken is None or taken.any()):
            recorder = self.memory.recorder
            recorder.accessed(self.memory, copy.resolved, taken, "copies to")
            recorder.written(copy.words if copy.late_words is None else copy.late_words())
        super().arrive(copy, ready, now)


class _RecordingMbarriers(Mbarriers):
    memory: RecordingMemory

    def release(
        self, positions: NDArray[np.int64], at: ThreadIndices, live: NDArray[np.bool_], *, relaxed: bool
    ) -> None:
        self._record("arrives", positions, at)
        super().release(positions, at, live, relaxed=relaxed)

    def observe(
        self, positions: NDArray[np.int64], at: ThreadIndices, live: NDArray[np.bool_], *, relaxed: bool
    ) -> None:
        self._record("sees", positions, at)
        super().observe(positions, at, live, relaxed=relaxed)

    def settle(self, position: int, word: Word) -> None:
        parity = word.parity
        super().settle(position, word)
        if word.parity != parity:
            block = position // self.memory.shared.stride
            at = np.array([block]), np.array([0]), np.array([0])
            self._record("completes", np.array([position]), at)

    def _record(self, what: str, positions: NDArray[np.int64], at: ThreadIndices) -> None:
        stride = self.memory.shared.stride
        for address in np.unique(positions % stride).tolist():
            mine = positions % stride == address
            g, w, lane = at
            where = self.memory.reporter.location("shared", address, 8)
            place = "the mbarrier ", where
            self.memory.recorder.synchronised_at(self.memory.threads, what, (g[mine], w[mine], lane[mine]), place)
