# SPDX-License-Identifier: MIT
"""Rows that follow the lanes in which registers are defined, for the registers of which no analysis proves it."""

from collections.abc import Sequence
from functools import partial

from wmma_emu.ptx.native.body import Bits, Body, native
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.memory.stamps import flag_if
from wmma_emu.ptx.native.rows import WORD, Row


def require_defined(masks: Sequence[int]) -> Row:
    """Return a row that raises a flag if a register is undefined in a lane; ``masks`` are the offsets of the masks."""
    name = "require defined"
    return Row(name, partial(native, name, write=_require), (len(masks), *masks))


def propagate(sources: Sequence[int], targets: Sequence[int]) -> Row:
    """Return a row after which registers are defined in the lanes in which all sources are; in all without sources."""
    name = "propagate definedness"
    return Row(name, partial(native, name, write=_propagate), (len(sources), len(targets), *sources, *targets))


def _mask(warp: Bits, record: Bits, number: Bits) -> Bits:
    """Return the pointer to the mask whose offset is a word of the record."""
    return warp.at(record.at(number << 2).load(WORD, 4).cast(64))


def _joint(body: Body, warp: Bits, record: Bits, first: int, count: Bits) -> Bits:
    """Return the lanes that are in all masks of a part of the record."""
    both = body.variable(WORD)
    both.store(body.constant(WORD, -1), 4)
    with body.repeat(count) as i:
        both.store(both.load(WORD, 4) & _mask(warp, record, i + first).load(WORD, 4), 4)
    return both.load(WORD, 4)


def _require(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    defined = _joint(body, warp, record, 1, record.load(WORD, 4).cast(64))
    flag_if(body, (mask & ~defined).differs(0), context, Flag.UNDEFINED)


def _propagate(body: Body, context: Bits, warp: Bits, record: Bits, mask: Bits) -> None:
    sources, targets = (record.at(4 * i).load(WORD, 4).cast(64) for i in range(2))
    defined = mask & _joint(body, warp, record, 2, sources)
    with body.repeat(targets) as i:
        place = _mask(warp, record, i + sources + 2)
        place.store((place.load(WORD, 4) & ~mask) | defined, 4)
