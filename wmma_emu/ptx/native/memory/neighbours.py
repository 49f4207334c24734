# SPDX-License-Identifier: MIT
"""Accesses of all 32 lanes to consecutive bytes, lane after lane: checked and recorded together."""

from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.native.body import BIT, Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.access import (
    check_shadow,
    enter,
    granule_of,
    is_found,
    range_of,
    shared_records,
)
from wmma_emu.ptx.native.memory.products_in_flight import follow_write
from wmma_emu.ptx.native.memory.stamps import (
    KINDS,
    check,
    expand_line,
    flag_if,
    is_expanded,
    joined,
    needs_granules,
    own_stamp,
    pointer,
    stamps_of,
    state_of,
    unordered,
)
from wmma_emu.ptx.native.memory.state import LINE, PART, Range, RangeFlag, Stamp, StateField
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD


@internal(POINTER, POINTER, POINTER, POINTER, LONG)
def move_neighbours(
    body: Body, context: Bits, warp: Bits, slot: Bits, first: Bits, *, space: str, size: int, kind: str, granule: int,
    atomics: int,
) -> Bits:  # fmt: skip
    """Check and record an access of ``size`` bytes by each lane; these bytes are consecutive, starting at ``first``.

    Return the host pointer; or null, with nothing recorded, if the lanes have to be checked one by one.
    """
    result = body.variable(POINTER)
    result.store(body.null, 8)
    if space == "shared":
        _in_shared(body, context, warp, first, result, size, kind, granule, atomics)
    else:
        _in_global(body, context, warp, slot, first, result, size, kind, granule, atomics)
    return result.load(POINTER, 8)


def _shift(size: int, granule: int) -> int:
    return (size // granule).bit_length() - 1


def _in_shared(
    body: Body, context: Bits, warp: Bits, first: Bits, result: Bits, size: int, kind: str, granule: int, atomics: int
) -> None:  # fmt: skip
    state, total = state_of(context), LANES * size
    end = context.at(8 * Word.SHARED_BYTES).load(LONG, 8)
    inside = (first < end) & (end - first >= total) & (first & size - 1).equals(0)
    with body.when(inside):
        shadow = pointer(state, StateField.SHARED_SHADOW).at(first)
        with body.repeat(total // 32) as i:
            check_shadow(body, context, shadow.at(i << 5), 32, kind)
        own = own_stamp(body, state, warp)
        if kind != "read":
            follow_write(body, context, own, first, total, kind)
        step = LANES >> _shift(size, granule)  # the lanes that access 32 granules
        with body.repeat(LANES // step) as i:
            writes, reads = shared_records(state, first + i * (granule * LINE), granule)
            stamps = stamps_of(body, own + i * step, WORD, LINE, _shift(size, granule))
            check(body, context, writes, reads, stamps, kind, atomics)
            if kind == "write":
                writes.store(stamps, 4)
        result.store(context.at(8 * Word.SHARED).load(POINTER, 8).at(first), 8)


def _in_global(
    body: Body, context: Bits, warp: Bits, slot: Bits, first: Bits, result: Bits, size: int, kind: str, granule: int,
    atomics: int,
) -> None:  # fmt: skip
    state, total = state_of(context), body.constant(LONG, LANES * size)
    found = range_of(body, state, slot, first, total)
    flags = found.at(8 * Range.FLAGS).load(LONG, 8)
    index = granule_of(found, first, granule)
    watched = (flags & RangeFlag.WATCHED).differs(0)
    both = RangeFlag.WRITEABLE | RangeFlag.WATCHED
    writeable = (flags & both).equals(both) if kind == "write" else body.constant(BIT, 1)
    with body.when(is_found(found) & (first & size - 1).equals(0) & writeable):
        enter(body, context, found, first, total, writes=int(kind == "write"))
        with body.when(watched):
            own = own_stamp(body, state, warp)
            constants = {"kind": kind, "shift": _shift(size, granule), "atomics": atomics}
            step = LANES >> _shift(size, granule)
            with body.either((index & LINE - 1).equals(0)) as (then, otherwise):
                with then, body.repeat(LANES // step) as i:
                    check_line(body, context, (index >> 5) + i, own + i * step, **constants)
                with otherwise:
                    parts = body.constant(LONG, LANES // step * (LINE // PART))
                    check_parts(body, context, index, own, parts, **constants)
        host = found.at(8 * Range.HOST).load(LONG, 8) + first
        result.store(Bits(body, body.builder.inttoptr(host.value, POINTER)), 8)


@internal(ir.VoidType(), POINTER, LONG, LONG, LONG)
def check_parts(
    body: Body, context: Bits, index: Bits, own: Bits, parts: Bits, *, kind: str, shift: int, atomics: int
) -> None:  # fmt: skip
    """Check and record an access to granules of global memory, some at a time: lane j >> shift accesses granule j."""
    state = state_of(context)
    with body.repeat(parts) as i:
        first = index + i * PART
        for one in (first, first + (PART - 1)):
            with body.when(~is_expanded(state, one >> 5), likely=False):
                expand_line(body, state, one >> 5)
        of_writes, of_reads = (pointer(state, x).at(first << 3) for x in (StateField.WRITES, StateField.READS))
        stamps = stamps_of(body, own + (i * PART >> shift), LONG, PART, shift)
        check(body, context, of_writes, of_reads, stamps, kind, atomics)
        if kind == "write":
            of_writes.store(stamps, 8)


@internal(ir.VoidType(), POINTER, LONG, LONG)
def check_line(body: Body, context: Bits, line: Bits, own: Bits, *, kind: str, shift: int, atomics: int) -> None:
    """Check and record an access to a line of global memory, of which lane j >> shift accesses granule j."""
    state = state_of(context)
    stamp = own | shift << Stamp.SHIFT
    writes = pointer(state, StateField.LINE_WRITES).at(line << 3)
    reads = pointer(state, StateField.LINE_READS).at(line << 3)
    last, others = writes.load(LONG, 8), reads.load(LONG, 8)
    parts = (last >> Stamp.EXPANDED).differs(0)
    if kind == "read":
        parts = parts | needs_granules(others, stamp)
    with body.either(parts) as (then, otherwise):
        with then:
            parts = body.constant(LONG, LINE // PART)
            check_parts(body, context, line << 5, own, parts, kind=kind, shift=shift, atomics=atomics)
        with otherwise:
            raced = unordered(last, stamp)
            if kind == "write":
                raced = raced | unordered(others, stamp)
                writes.store(stamp, 8)
            else:
                reads.store(joined(others, stamp, KINDS["read"]), 8)
            flag_if(body, raced, context, Flag.RACE)
