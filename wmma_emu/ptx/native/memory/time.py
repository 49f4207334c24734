# SPDX-License-Identifier: MIT
"""Events that the machine reports to the memory: a block begins, threads pass a barrier, lanes of a warp meet."""

from llvmlite import ir

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.memory.log import EntryKind, is_logging, write_entry
from wmma_emu.ptx.native.memory.stamps import field, own_stamp, pointer, state_of, warp_state
from wmma_emu.ptx.native.memory.state import BARRIERS_MASK, MEETINGS_MASK, Stamp, StateField, WarpField
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import WARP_NUMBER


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


def barriers_of(context: Bits) -> Bits:
    """Return the number of barriers that the block has passed, at its place in a stamp."""
    return field(state_of(context), StateField.BARRIERS)


def log_event(
    body: Body, context: Bits, warp: Bits, kind: EntryKind, lanes: Bits, details: Bits | int = 0,
    payload: Bits | None = None, size: Bits | int = 0,
) -> None:  # fmt: skip
    """Add an event of a warp to the log, if there is one; accesses after it have another stamp."""
    with body.when(is_logging(context), likely=False):
        words = body.constant(LONG, size) if isinstance(size, int) else size
        detail = body.constant(LONG, details) if isinstance(details, int) else details
        head = (words << 40) | (detail << 8) | int(kind)
        stamp = own_stamp(body, state_of(context), warp)
        write_entry(body, context, head, stamp, lanes, body.null if payload is None else payload)
        if kind not in (EntryKind.LOAD, EntryKind.COMPLETION):
            meet_lanes(body, context, warp.at(WARP_NUMBER).load(WORD, 4))
