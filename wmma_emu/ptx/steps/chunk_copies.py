# SPDX-License-Identifier: MIT
"""Copies of chunks of 16 bytes between global and shared memory."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, joined
from wmma_emu.ptx.memory.async_copies import AsyncCopy, padded_words
from wmma_emu.ptx.memory.races.wave import Moment
from wmma_emu.ptx.program.program import Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.barrier_accesses import BarrierAccesses, deliver
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.issuers import Issuers
from wmma_emu.ptx.threads import Active, Array

CHUNK_BYTES = 16
WORD_BYTES, WORDS = 4, 4


class CopiedChunks(NamedTuple):
    """The chunks that some threads copy: (chunks, issuers).

    ``inside`` is the number of bytes of each chunk that are copied, from its beginning, -1 where there is no chunk.
    ``in_global`` are addresses in ``space``: "global", or "shared" for a copy within the shared memory of a block,
    which reads these addresses; a reduction within it writes them.
    """

    issuers: Issuers
    in_global: Array
    in_shared: Array
    inside: NDArray[np.int64]
    space: str = "global"

    def only(self, chosen: NDArray[np.bool_]) -> "CopiedChunks":
        """Return the chunks of some issuing threads."""
        return self._replace(
            issuers=self.issuers.only(chosen), in_global=self.in_global[:, chosen],
            in_shared=self.in_shared[:, chosen], inside=self.inside[:, chosen],
        )  # fmt: skip


Rounding = Callable[[Array], Array]
"""A change of loaded words, such as the rounding of TF32."""


_Load = Callable[..., tuple[Array, Undefined | None]]
"""`load` or `peek` of the memory."""


def load_chunks(
    state: State, instruction: PtxInstruction, chunks: CopiedChunks, accesses: BarrierAccesses,
    amounts: NDArray[np.int64], fill: int = 0, changed: Rounding = lambda words: words, *, packet: int = CHUNK_BYTES,
) -> None:  # fmt: skip
    """Copy chunks to shared memory; they arrive when the phases of the threads' mbarriers complete.

    ``amounts`` are the bytes that each of the threads completes, in the order of ``accesses``, in packets.
    """
    memory, barriers = state.memory, state.memory.mbarriers
    with memory.acting(chunks.issuers.actors()):
        copy, now = _begin_load(state, instruction, chunks, fill, changed)
    _note_sources(state, instruction, chunks, accesses)
    barriers.release(accesses.positions, accesses.at, state.live, relaxed=False)

    def complete(accesses: BarrierAccesses, amounts: NDArray[np.int64]) -> None:
        for position, block, warp in zip(*(x.tolist() for x in accesses[:3]), strict=True):
            barriers.attach(position, [(copy, _of_warp(state.shape, block, warp))], now)
        deliver(state, instruction, accesses, amounts, packet)

    if copy.late_words is None:
        complete(accesses, amounts)
    else:
        barriers.postpone(accesses.positions, lambda chosen: complete(accesses.only(chosen), amounts[chosen]))


def _begin_load(
    state: State, instruction: PtxInstruction, chunks: CopiedChunks, fill: int, changed: Rounding
) -> tuple[AsyncCopy, Moment | None]:  # fmt: skip
    """Read the chunks, and begin to write them; return the copy and its time."""
    memory, spread = state.memory, chunks.issuers.spread
    source, inside = spread(chunks.in_global), spread(chunks.inside + 1) - 1
    read = partial(
        _read_chunks, instruction=instruction, space=chunks.space, source=source, inside=inside, fill=fill,
        changed=changed,
    )  # fmt: skip
    words, undefined = read(memory.load)
    active = inside >= 0
    resolved = memory.resolve(
        instruction, "shared", spread(chunks.in_shared), WORD_BYTES, WORDS, CHUNK_BYTES, active,
        write=True, ordering="weak",
    )  # fmt: skip
    now = None if memory.races is None else memory.races.now()
    copy = memory.copies.begin(
        resolved, words, active, by_barrier=True, undefined=undefined,
        late_words=(lambda: read(memory.peek)[0]) if memory.asynchrony.delays(instruction) else None,
    )  # fmt: skip
    return copy, now


def _note_sources(
    state: State, instruction: PtxInstruction, chunks: CopiedChunks, accesses: BarrierAccesses
) -> None:  # fmt: skip
    """Note the chunks of global memory that copies read until the phases of their mbarriers complete."""
    proxies, heap, issuers = state.memory.proxies, state.memory.heap, chunks.issuers
    if proxies is None or proxies.phases is None or chunks.space != "global":
        return
    positions = heap.placement.positions_of(chunks.in_global)
    is_read = (chunks.inside > 0) & (positions >= 0) & (positions < len(heap.buffer))
    for position, block, warp in zip(*(x.tolist() for x in accesses[:3]), strict=True):
        own = is_read & (issuers.blocks == block) & (issuers.warps == warp)
        proxies.phases.reads(position, positions[own] // CHUNK_BYTES, instruction)


def _of_warp(shape: tuple[int, int, int], block: int, warp: int) -> NDArray[np.bool_]:
    found = np.zeros((*shape[:2], 1), np.bool_)
    found[block, warp] = True
    return np.broadcast_to(found, shape)


def _read_chunks(
    load: _Load, instruction: PtxInstruction, space: str, source: Array, inside: NDArray[np.int64], fill: int,
    changed: Rounding,
) -> tuple[Array, Undefined | None]:  # fmt: skip
    """Read the chunks, (4 words, passes, blocks, warps, 32); bytes that are not copied are the fill."""
    words = np.full((WORDS, *source.shape), fill, np.uint32)
    undefined: Undefined | None = None
    for amount in np.unique(inside[inside > 0]).tolist():
        chosen = inside == amount
        if amount == CHUNK_BYTES:
            got, lost = load(instruction, space, source, WORD_BYTES, WORDS, chosen, alignment=CHUNK_BYTES)
        else:
            some, missing = load(instruction, space, source, 1, amount, chosen, alignment=CHUNK_BYTES)
            got = padded_words(some, np.full(WORDS, fill, np.uint32).view(np.uint8))
            lost = None
            if missing is not None:
                bits = padded_words(missing.bits, np.zeros(CHUNK_BYTES, np.uint8))
                lost = Undefined(bits, missing.origin.max(axis=0))
        whole = amount // WORD_BYTES
        got = np.concatenate([changed(got[:whole]), got[whole:]])
        np.copyto(words, got, where=chosen)
        undefined = joined(chosen, lost, undefined)
    return words, undefined


def require_own_block(state: State, instruction: PtxInstruction, mask: Operand | None, active: Active) -> None:
    """Report a multicast to other blocks than the own one: a cluster has one block here."""
    if mask is None:
        return
    state.require_defined(instruction, mask, active, "the mask of blocks")
    others = np.broadcast_to(state.read(mask, "u16") != 1, state.shape)
    text = "the mask of the multicast names other blocks than block 0 of the cluster, which has one block here"
    note(state, instruction, "illegal operand", others & state.live if active is None else others & active, text)
