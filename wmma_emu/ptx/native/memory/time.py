# SPDX-License-Identifier: MIT
"""Events that the machine reports to the memory: a block begins, threads pass a barrier, lanes of a warp meet."""

from llvmlite import ir

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.memory.stamps import field, pointer, state_of, warp_state
from wmma_emu.ptx.native.memory.state import BARRIERS_MASK, MEETINGS_MASK, Stamp, StateField, WarpField
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD


@internal(ir.VoidType(), POINTER, cold=True)
def pass_barrier(body: Body, context: Bits) -> None:
    """Note that all threads of the block have passed a barrier."""
    state = state_of(context)
    place = state.at(8 * StateField.BARRIERS)
    following = place.load(LONG, 8) + (1 << Stamp.BARRIERS)
    place.store(following, 8)
    with body.when(following > BARRIERS_MASK, likely=False):  # stamps of shared memory begin again
        place.store(body.constant(LONG, 1 << Stamp.BARRIERS), 8)
        size = field(state, StateField.SHARED_RECORDS_BYTES)
        for records in (StateField.SHARED_WRITES, StateField.SHARED_READS):
            body.fill(pointer(state, records), 0, size)


@internal(ir.VoidType(), POINTER, cold=True)
def begin_block(body: Body, context: Bits) -> None:
    """Note that the block with the index `Word.BLOCK_INDEX` begins: its memory is uninitialised."""
    pass_barrier(body, context)
    state = state_of(context)
    block = context.at(8 * Word.BLOCK_INDEX).load(LONG, 8) + 1
    state.at(8 * StateField.BLOCK).store(block << Stamp.BLOCK, 8)
    size = context.at(8 * Word.SHARED_BYTES).load(LONG, 8)
    body.copy(pointer(state, StateField.SHARED_SHADOW), pointer(state, StateField.SHADOW_OF_BLOCK), size)
    body.fill(pointer(state, StateField.LOCAL_SHADOW), 0, field(state, StateField.LOCAL_SHADOW_BYTES))
    state.at(8 * StateField.PENDING).store(body.constant(LONG, 0), 8)
    with body.repeat(context.at(8 * Word.WARPS).load(LONG, 8)) as number:
        body.fill(warp_state(state, number), 0, body.constant(LONG, WarpField.QUEUE))


@internal(ir.VoidType(), POINTER, WORD)
def meet_lanes(body: Body, context: Bits, number: Bits) -> None:
    """Note that all lanes of a warp, given by its number, that have not exited have passed a `bar.warp.sync`."""
    place = warp_state(state_of(context), number.cast(64)).at(WarpField.MEETINGS)
    place.store(place.load(WORD, 4) + (1 << Stamp.MEETINGS) & MEETINGS_MASK, 4)
