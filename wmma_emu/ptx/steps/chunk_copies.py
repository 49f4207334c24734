# SPDX-License-Identifier: MIT
"""Copies of chunks of 16 bytes between global and shared memory."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, joined
from wmma_emu.ptx.memory.async_copies import padded_words
from wmma_emu.ptx.memory.atomic import atomic
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.program.program import Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.atomic_table import operation_of
from wmma_emu.ptx.steps.barrier_accesses import BarrierAccesses, report_faults
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.issuers import Issuers
from wmma_emu.ptx.threads import Active, Array
from wmma_emu.ptx.widths import bits_of_type

CHUNK_BYTES = 16
_WORD, _WORDS = 4, 4


class CopiedChunks(NamedTuple):
    """The chunks that some threads copy: (chunks, issuers).

    ``inside`` is the number of bytes of each chunk that are copied, from its beginning, -1 where there is no chunk.
    """

    issuers: Issuers
    in_global: Array
    in_shared: Array
    inside: NDArray[np.int64]

    def only(self, chosen: NDArray[np.bool_]) -> "CopiedChunks":
        """Return the chunks of some issuing threads."""
        return CopiedChunks(
            self.issuers.only(chosen), self.in_global[:, chosen], self.in_shared[:, chosen], self.inside[:, chosen]
        )


Rounding = Callable[[Array], Array]
"""A change of loaded words, such as the rounding of TF32."""


_Copy = Callable[..., None]


def _by_issuers(copy: _Copy) -> _Copy:
    """Let the issuing threads act for the lanes that copy the chunks."""

    @wraps(copy)
    def copied(state: State, instruction: PtxInstruction, chunks: CopiedChunks, *rest: Any) -> None:
        with state.memory.acting(chunks.issuers.actors()):
            copy(state, instruction, chunks, *rest)

    return copied


@_by_issuers
def load_chunks(
    state: State, instruction: PtxInstruction, chunks: CopiedChunks, accesses: BarrierAccesses, fill: int = 0,
    changed: Rounding = lambda words: words,
) -> None:  # fmt: skip
    """Copy chunks from global to shared memory; they arrive when the phases of the threads' mbarriers complete."""
    memory, spread = state.memory, chunks.issuers.spread
    source, inside = spread(chunks.in_global), spread(chunks.inside + 1) - 1
    words, undefined = _global_words(state, instruction, source, inside, fill, changed)
    active = inside >= 0
    resolved = memory.resolve(
        instruction, "shared", spread(chunks.in_shared), _WORD, _WORDS, CHUNK_BYTES, active, write=True, ordering="weak"
    )
    now = None if memory.races is None else memory.races.now()
    copy = memory.copies.begin(resolved, words, active, by_barrier=True, undefined=undefined)
    for position, block, warp in zip(*(x.tolist() for x in accesses[:3]), strict=True):
        memory.mbarriers.attach(position, [(copy, _of_warp(state.shape, block, warp))], now)


def _of_warp(shape: tuple[int, int, int], block: int, warp: int) -> NDArray[np.bool_]:
    found = np.zeros((*shape[:2], 1), np.bool_)
    found[block, warp] = True
    return np.broadcast_to(found, shape)


def _global_words(
    state: State, instruction: PtxInstruction, source: Array, inside: NDArray[np.int64], fill: int, changed: Rounding
) -> tuple[Array, Undefined | None]:  # fmt: skip
    """Read the chunks, (4 words, passes, blocks, warps, 32); bytes that are not copied are the fill."""
    words = np.full((_WORDS, *source.shape), fill, np.uint32)
    undefined: Undefined | None = None
    for amount in np.unique(inside[inside > 0]).tolist():
        chosen = inside == amount
        if amount == CHUNK_BYTES:
            got, lost = state.memory.load(instruction, "global", source, _WORD, _WORDS, chosen, alignment=CHUNK_BYTES)
        else:
            some, missing = state.memory.load(instruction, "global", source, 1, amount, chosen, alignment=CHUNK_BYTES)
            got = padded_words(some, np.full(_WORDS, fill, np.uint32).view(np.uint8))
            lost = None
            if missing is not None:
                bits = padded_words(missing.bits, np.zeros(CHUNK_BYTES, np.uint8))
                lost = Undefined(bits, missing.origin.max(axis=0))
        whole = amount // _WORD
        got = np.concatenate([changed(got[:whole]), got[whole:]])
        np.copyto(words, got, where=chosen)
        undefined = joined(chosen, lost, undefined)
    return words, undefined


def complete(
    state: State, instruction: PtxInstruction, accesses: BarrierAccesses, amounts: NDArray[np.int64]
) -> None:  # fmt: skip
    """Complete transactions of mbarriers, which release the copied bytes to the threads that observe the phase."""
    barriers = state.memory.mbarriers
    barriers.release(accesses.positions, accesses.at, state.live, relaxed=False)
    faults = barriers.deliver(instruction, accesses.positions, accesses.at, amounts)
    report_faults(state, instruction, accesses, faults)


def require_own_block(state: State, instruction: PtxInstruction, mask: Operand | None, active: Active) -> None:
    """Report a multicast to other blocks than the own one: a cluster has one block here."""
    if mask is None:
        return
    state.require_defined(instruction, mask, active, "the mask of blocks")
    others = np.broadcast_to(state.read(mask, "u16") != 1, state.shape)
    text = "the mask of the multicast names other blocks than block 0 of the cluster, which has one block here"
    note(state, instruction, "illegal operand", others & state.live if active is None else others & active, text)


@_by_issuers
def store_chunks(state: State, instruction: PtxInstruction, chunks: CopiedChunks) -> None:
    """Copy chunks from shared to global memory, and mark the source as read until the thread waits for its group."""
    memory, spread = state.memory, chunks.issuers.spread
    words, undefined = _read_shared(state, instruction, chunks)
    target, inside = spread(chunks.in_global), spread(chunks.inside + 1) - 1
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


def _read_shared(state: State, instruction: PtxInstruction, chunks: CopiedChunks) -> tuple[Array, Undefined | None]:
    """Read the chunks of shared memory that a copy sends, and hold them until the thread waits for its bulk group."""
    memory, issuers = state.memory, chunks.issuers
    source, active = issuers.spread(chunks.in_shared), issuers.spread(chunks.inside + 1) > 0
    found = memory.load(instruction, "shared", source, _WORD, _WORDS, active, alignment=CHUNK_BYTES)
    where = memory.shared.locate(source, CHUNK_BYTES, CHUNK_BYTES, fit(active, source.shape))
    used = np.broadcast_to(active if where.used is None else where.used & active, source.shape)
    owner = np.zeros((1, *state.shape), np.int64)
    owner[0, issuers.blocks, issuers.warps] = issuers.numbers()[:, None]
    memory.bulk_groups.reads(instruction, where.positions[used] >> 4, np.broadcast_to(owner, source.shape)[used])
    return found


@_by_issuers
def reduce_chunks(
    state: State, instruction: PtxInstruction, chunks: CopiedChunks, operation: str, element: str
) -> None:
    """Combine chunks of shared memory with those of global memory, one element after another."""
    memory, issuers = state.memory, chunks.issuers
    words, undefined = _read_shared(state, instruction, chunks)
    if undefined is not None:
        memory.reporter.undefined(instruction, undefined, (undefined.bits != 0).any(axis=0), "the operand")
    size = bits_of_type(element) // 8
    each = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(f"u{size}")
    target, inside = issuers.spread(chunks.in_global), issuers.spread(chunks.inside + 1) - 1
    for turn in range(len(target)):
        for k in range(CHUNK_BYTES // size):
            active = inside[turn] >= (k + 1) * size
            if active.any():
                atomic(
                    memory, instruction, "global", target[turn] + np.uint64(k * size), (each[turn, ..., k],), active,
                    lambda where: operation_of(operation, element, where, keeps_subnormals=True), size, state.order,
                    "relaxed",
                )  # fmt: skip
