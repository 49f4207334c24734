# SPDX-License-Identifier: MIT
"""The values that threads receive when they continue: the results of calls, and those of barriers with a reduction."""

from functools import partial

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.machine.barriers import decode_barrier
from wmma_emu.ptx.native.body import Bits, Body, native
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.control_words import BarrierField
from wmma_emu.ptx.native.leave import state_of_barrier
from wmma_emu.ptx.native.memory.stamps import pointer, state_of
from wmma_emu.ptx.native.memory.state import StateField
from wmma_emu.ptx.native.rows import WORD, NotNativeError, Row
from wmma_emu.ptx.native.warp_layout import WARP_NUMBER, WarpLayout
from wmma_emu.ptx.native.words import first_value, host, replace, word
from wmma_emu.ptx.program.program import ParameterCopy, PtxInstruction


def copy_row(copy: ParameterCopy) -> Row:
    """Return the row that copies arguments or results in the local memory of each thread.

    Bytes that are uninitialised, as the padding of a structure, stay so.

    Examples
    --------
    >>> copy_row(ParameterCopy(0, 16, 12)).record
    (0, 16, 12)
    """
    name = "copy of local bytes"
    return Row(name, partial(native, name, write=_copy), (copy.source, copy.target, copy.bytes))


def _copy(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    source, target, size = (record.at(4 * i).load(WORD, 4).cast(64) for i in range(3))
    each = word(context, Word.LOCAL_BYTES)
    first = warp.at(WARP_NUMBER).load(WORD, 4).cast(64) * LANES
    spaces = host(context, Word.LOCAL), pointer(state_of(context), StateField.LOCAL_SHADOW)
    with body.lanes(mask) as lane:
        for space in spaces:
            thread = space.at((first + lane) * each)
            body.copy(thread.at(target), thread.at(source), size)


def votes_row(instruction: PtxInstruction, layout: WarpLayout) -> Row:
    """Return the row that writes the result of ``bar.red`` to the threads that have waited."""
    barrier = decode_barrier(instruction)
    if barrier.result is None:
        raise NotNativeError(instruction.opcode)
    record = layout.source(barrier.number, "u32"), layout.offset_of(barrier.result)
    name = f"result of bar.red.{barrier.reduction}"
    write = partial(_write_votes, reduction=barrier.reduction)
    return Row(name, partial(native, name, write=write), record)


def _write_votes(
    body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits, *, reduction: str
) -> None:  # fmt: skip
    number, target = (record.at(4 * i).load(WORD, 4).cast(64) for i in range(2))
    state = state_of_barrier(context, first_value(warp, number, mask).cast(64))
    votes, arrived = (word(state, x) for x in (BarrierField.RESULT_VOTES, BarrierField.RESULT_ARRIVED))
    if reduction == "popc":
        return replace(warp, target, mask, votes.cast(32).repeated(32))
    holds = votes.equals(arrived) if reduction == "and" else votes.differs(0)
    others = warp.at(target).load(WORD, 4) & ~mask
    return warp.at(target).store(holds.chosen(others | mask, others), 4)
