# SPDX-License-Identifier: MIT
"""Copies and reductions of chunks of 16 bytes from shared memory: to global memory, or within shared memory."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.memory.atomic import atomic
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.atomic_table import operation_of
from wmma_emu.ptx.steps.barrier_accesses import BarrierAccesses, deliver
from wmma_emu.ptx.steps.chunk_copies import CHUNK_BYTES, WORD_BYTES, WORDS, CopiedChunks
from wmma_emu.ptx.steps.issuers import Issuers
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type


@dataclass(frozen=True)
class ChunkStore:
    """A copy of chunks from shared to global memory, or a reduction of ``element``; a late one has read no words yet.

    ``words`` are (4, passes, blocks, warps, 32).
    """

    state: State
    instruction: PtxInstruction
    chunks: CopiedChunks
    reduction: str = ""
    element: str = ""
    words: Array | None = None
    undefined: Undefined | None = None

    def only(self, chosen: NDArray[np.bool_]) -> "ChunkStore":
        """Return the copy of some of the issuing threads."""
        if chosen.all():
            return self
        return replace(self, chunks=self.chunks.only(chosen))

    def read(self) -> "ChunkStore":
        """Read the source."""
        if self.words is not None:
            return self
        source, active = _shared_chunks(self.chunks)
        words, _ = self.state.memory.peek(
            self.instruction, "shared", source, WORD_BYTES, WORDS, active, alignment=CHUNK_BYTES
        )
        return replace(self, words=words)

    def write(self) -> None:
        """Write the target, and check this."""
        words = self.read().words
        if words is not None:
            with self.state.memory.acting(self.chunks.issuers.actors()):
                act = _reduce if self.reduction else _store
                act(self, words)


class LateChunkStore(ChunkStore):
    """A copy to global memory that was checked when it was issued, and writes later."""

    def write(self) -> None:
        """Write the target."""
        with self.state.memory.checked_before():
            super().write()


def store_chunks(
    state: State, instruction: PtxInstruction, chunks: CopiedChunks, reduction: str = "", element: str = ""
) -> None:
    """Copy chunks from shared to global memory, or combine each element with that in global memory.

    The source counts as read until the thread waits for its group.
    """
    memory, groups = state.memory, state.memory.bulk_groups
    with memory.acting(chunks.issuers.actors()):
        words, undefined = _read_shared(state, instruction, chunks)
    if reduction and undefined is not None:
        memory.reporter.undefined(instruction, undefined, (undefined.bits != 0).any(axis=0), "the operand")
    given = state, instruction, chunks, reduction, element
    if memory.asynchrony.delays(instruction):
        late = LateChunkStore(*given, undefined=undefined)
        with memory.acting(chunks.issuers.actors()):
            _announce(late)
        groups.postpone(late, chunks.issuers.numbers())
    else:
        ChunkStore(*given, words, undefined).write()
    _note_target(state, instruction, chunks, reduces=bool(reduction))


def _announce(store: ChunkStore) -> None:
    """Check the writes of a copy that moves its bytes later."""
    spread, size = store.chunks.issuers.spread, bits_of_type(store.element) // 8 if store.reduction else 1
    target, inside = spread(store.chunks.in_global), spread(store.chunks.inside + 1) - 1
    for amount in np.unique(inside[inside > 0]).tolist():
        store.state.memory.announce_store(
            store.instruction, target, size, amount // size, inside == amount, alignment=CHUNK_BYTES,
            ordering="relaxed" if store.reduction else "weak",
        )  # fmt: skip


def _note_target(state: State, instruction: PtxInstruction, chunks: CopiedChunks, *, reduces: bool) -> None:
    """Note the whole chunks of global memory that a copy writes until the thread has waited for its bulk group."""
    spread, memory = chunks.issuers.spread, state.memory
    target, inside = spread(chunks.in_global), spread(chunks.inside + 1) - 1
    whole = inside == CHUNK_BYTES
    where = memory.globals.locate(0, target, CHUNK_BYTES, CHUNK_BYTES, whole, False)
    used = np.broadcast_to(whole if where.used is None else where.used & whole, target.shape)
    owners = np.broadcast_to(_owners(state, chunks.issuers), target.shape)[used]
    with memory.acting(chunks.issuers.actors()):
        memory.bulk_groups.writes(instruction, where.positions[used] >> 4, owners, reduces=reduces)


def _owners(state: State, issuers: Issuers) -> NDArray[np.int64]:
    """Return for each lane the number of the thread that issues the copies of its warp."""
    owner = np.zeros((1, *state.shape), np.int64)
    owner[0, issuers.blocks, issuers.warps] = issuers.numbers()[:, None]
    return owner


def combine_chunks(
    state: State, instruction: PtxInstruction, chunks: CopiedChunks, accesses: BarrierAccesses,
    amounts: NDArray[np.int64], reduction: str, element: str,
) -> None:  # fmt: skip
    """Combine each element with one in the shared memory of the block, and complete transactions of mbarriers."""
    memory, barriers = state.memory, state.memory.mbarriers
    chunks = chunks.only(chunks.issuers.of(accesses.mask(state.shape)))
    with memory.acting(chunks.issuers.actors()):
        source, active = _shared_chunks(chunks)
        words, undefined = memory.load(instruction, "shared", source, WORD_BYTES, WORDS, active, alignment=CHUNK_BYTES)
    if undefined is not None:
        memory.reporter.undefined(instruction, undefined, (undefined.bits != 0).any(axis=0), "the operand")
    store = ChunkStore(state, instruction, chunks, reduction, element)

    def complete(store: ChunkStore, accesses: BarrierAccesses, amounts: NDArray[np.int64]) -> None:
        store.write()
        barriers.release(accesses.positions, accesses.at, state.live, relaxed=False)
        deliver(state, instruction, accesses, amounts, CHUNK_BYTES)

    if memory.asynchrony.delays(instruction):
        barriers.postpone(
            accesses.positions, lambda chosen: complete(store.only(chosen), accesses.only(chosen), amounts[chosen])
        )
    else:
        complete(replace(store, words=words), accesses, amounts)


def _store(store: ChunkStore, words: Array) -> None:
    memory, instruction, undefined = store.state.memory, store.instruction, store.undefined
    spread = store.chunks.issuers.spread
    target, inside = spread(store.chunks.in_global), spread(store.chunks.inside + 1) - 1
    for amount in np.unique(inside[inside > 0]).tolist():
        chosen = inside == amount
        if amount == CHUNK_BYTES:
            memory.store(instruction, "global", target, words, chosen, alignment=CHUNK_BYTES, undefined=undefined)
            continue
        some = _first_bytes(words, amount)
        lost = None
        if undefined is not None:
            bits = _first_bytes(np.broadcast_to(undefined.bits, words.shape), amount)
            lost = Undefined(bits, np.broadcast_to(undefined.origin, words.shape)[:1])
        memory.store(instruction, "global", target, some, chosen, alignment=CHUNK_BYTES, undefined=lost)


def _first_bytes(words: Array, amount: int) -> Array:
    """Return the first bytes of chunks: (words, ...) to (bytes, ...)."""
    contiguous = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(np.uint8)
    return np.moveaxis(contiguous[..., :amount], -1, 0)


def _shared_chunks(chunks: CopiedChunks) -> tuple[Array, NDArray[np.bool_]]:
    """Return the addresses of the chunks in shared memory, for the lanes of the warps, and which of them exist."""
    spread = chunks.issuers.spread
    return spread(chunks.in_shared), spread(chunks.inside + 1) > 0


def _read_shared(state: State, instruction: PtxInstruction, chunks: CopiedChunks) -> tuple[Array, Undefined | None]:
    """Read the chunks of shared memory that a copy sends, and hold them until the thread waits for its bulk group."""
    memory, issuers = state.memory, chunks.issuers
    source, active = _shared_chunks(chunks)
    found = memory.load(instruction, "shared", source, WORD_BYTES, WORDS, active, alignment=CHUNK_BYTES)
    where = memory.shared.locate(source, CHUNK_BYTES, CHUNK_BYTES, fit(active, source.shape))
    used = np.broadcast_to(active if where.used is None else where.used & active, source.shape)
    owners = np.broadcast_to(_owners(state, issuers), source.shape)[used]
    memory.bulk_groups.reads(instruction, where.positions[used] >> 4, owners)
    return found


def _reduce(store: ChunkStore, words: Array) -> None:
    memory, issuers, element = store.state.memory, store.chunks.issuers, store.element
    size = bits_of_type(element) // 8
    each = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(f"u{size}")
    target, inside = issuers.spread(store.chunks.in_global), issuers.spread(store.chunks.inside + 1) - 1
    for turn in range(len(target)):
        for k in range(CHUNK_BYTES // size):
            active = inside[turn] >= (k + 1) * size
            if active.any():
                atomic(
                    memory, store.instruction, store.chunks.space, target[turn] + np.uint64(k * size),
                    (each[turn, ..., k],), active,
                    lambda where: operation_of(store.reduction, element, where, keeps_subnormals=True),
                    size, store.state.order, "relaxed",
                )  # fmt: skip
