# SPDX-License-Identifier: MIT
"""The queues of copies in flight: which bytes of the heap they still read."""

from llvmlite import ir

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.stamps import flag_if, state_of, warp_state
from wmma_emu.ptx.native.memory.state import COPY_BYTES, Copy, WarpField
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD


@internal(ir.VoidType(), POINTER, LONG, LONG, cold=True)
def check_sources(body: Body, context: Bits, position: Bits, size: Bits) -> None:
    """Raise a flag if a copy in flight of any warp of the block reads some bytes of the heap, which will be written."""
    with body.repeat(context.at(8 * Word.WARPS).load(LONG, 8)) as number:
        warp = warp_state(state_of(context), number)
        with body.repeat(warp.at(WarpField.COPIES).load(WORD, 4).cast(64)) as i:
            entry = warp.at(i * COPY_BYTES).at(WarpField.QUEUE)
            lowest, highest = (entry.at(x).load(LONG, 8) for x in (Copy.LOWEST, Copy.HIGHEST))
            with body.when((position < highest) & (lowest < position + size)):
                with body.lanes(entry.at(Copy.MASK).load(WORD, 4)) as lane:
                    source = entry.at(Copy.SOURCES).at(lane << 3).load(LONG, 8)
                    read = entry.at(Copy.READ).at(lane << 2).load(WORD, 4).cast(64)
                    overlaps = (position < source + read) & (source < position + size)
                    flag_if(body, overlaps, context, Flag.COPY)
