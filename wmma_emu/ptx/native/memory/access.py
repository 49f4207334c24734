# SPDX-License-Identifier: MIT
"""Checked accesses of the lanes of a warp: where the bytes of each lane are, and whether it may access them now.

`access` checks the bounds, the alignment, the definedness, copies in flight and races of one access of each lane. Rows
of other packages use it for the accesses of matrix instructions.
"""

from llvmlite import ir

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.native.body import BIT, BYTE, Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.copies_in_flight import check_sources
from wmma_emu.ptx.native.memory.products_in_flight import follow_write
from wmma_emu.ptx.native.memory.stamps import (
    ANY_LANE,
    check,
    expand_line,
    field,
    flag_if,
    is_expanded,
    own_stamp,
    pointer,
    raise_flag,
    stamps_of,
    state_of,
)
from wmma_emu.ptx.native.memory.state import RANGE_BYTES, SLOTS, Range, RangeFlag, Shadow, Stamp, StateField
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import WARP_NUMBER

_NONE = ir.VoidType()
_HALVINGS = 24
"""Halvings of the number of ranges after which one is left: there are fewer than 2**24."""

_EVERY_BYTE = 0x0101_0101_0101_0101_0101_0101_0101_0101_0101_0101_0101_0101_0101_0101_0101_0101


def slot_of(number: int) -> int:
    """Return the offset in the state of the slot with the last range of an instruction."""
    return 8 * (StateField.SLOTS + number % SLOTS)


@internal(POINTER, POINTER, LONG)
def search_range(body: Body, state: Bits, address: Bits) -> Bits:
    """Return the last range that begins at or before an address; without one, the empty range before all others."""
    ranges = pointer(state, StateField.RANGES)
    low, high = body.variable(LONG), body.variable(LONG)
    low.store(body.constant(LONG, 0), 8)
    high.store(field(state, StateField.RANGE_COUNT), 8)
    with body.repeat(_HALVINGS):
        lowest, highest = low.load(LONG, 8), high.load(LONG, 8)
        middle = lowest + highest + 1 >> 1
        begins = ranges.at(middle * RANGE_BYTES).at(8 * Range.FIRST).load(LONG, 8) <= address
        low.store(begins.chosen(middle, lowest), 8)
        high.store(begins.chosen(highest, middle - 1), 8)
    return ranges.at(low.load(LONG, 8) * RANGE_BYTES)


def _covers(found: Bits, address: Bits, size: Bits | int) -> Bits:
    span = found.at(8 * Range.SPAN).load(LONG, 8)
    offset = address - found.at(8 * Range.FIRST).load(LONG, 8)
    left = span - offset
    return (offset < span) & (left >= size)


@internal(POINTER, POINTER, POINTER, LONG, LONG, inline=True)
def range_of(body: Body, state: Bits, slot: Bits, address: Bits, size: Bits) -> Bits:
    """Return the range that has some bytes of global memory, the first of all, which is empty, if there is none."""
    result = body.variable(POINTER)
    result.store(slot.load(POINTER, 8), 8)
    with body.when(~_covers(result.load(POINTER, 8), address, size), likely=False):
        found = search_range(body, state, address)
        covers = _covers(found, address, size)
        result.store(covers.chosen(found, pointer(state, StateField.RANGES)), 8)
        slot.store(result.load(POINTER, 8), 8)
    return result.load(POINTER, 8)


def is_found(found: Bits) -> Bits:
    """Return whether a range has any bytes."""
    return found.at(8 * Range.SPAN).load(LONG, 8).differs(0)


@internal(BIT, POINTER, POINTER, LONG, LONG, inline=True)
def enter(body: Body, context: Bits, found: Bits, address: Bits, size: Bits, *, writes: int) -> Bits:
    """Check an access of some bytes of a range, except for races; return whether it may be done."""
    state = state_of(context)
    result = body.variable(BIT)
    result.store(body.constant(BIT, 1))
    flags = found.at(8 * Range.FLAGS).load(LONG, 8)
    if writes:
        allowed = (flags & RangeFlag.WRITEABLE).differs(0)
        with body.when(~allowed, likely=False):
            raise_flag(body, context, body.constant(WORD, Flag.BOUNDS))
            result.store(body.constant(BIT, 0))
        with body.when((flags & RangeFlag.WATCHED).equals(0), likely=False):  # it has no records
            raise_flag(body, context, body.constant(WORD, Flag.UNSUPPORTED))
            result.store(body.constant(BIT, 0))
        found.at(8 * Range.WRITTEN).store(body.constant(LONG, 1), 8)
    lost = field(state, StateField.UNINITIALISED)
    with body.when(lost.differs(0), likely=False):
        position = address + found.at(8 * Range.POSITION).load(LONG, 8)
        follow_definedness(body, context, position, size, result.load(BIT), writes=writes)
    if writes:
        with body.when(field(state, StateField.PENDING).differs(0), likely=False):
            check_sources(body, context, address + found.at(8 * Range.POSITION).load(LONG, 8), size)
    return result.load(BIT)


@internal(_NONE, POINTER, LONG, LONG, BIT)
def follow_definedness(body: Body, context: Bits, position: Bits, size: Bits, allowed: Bits, *, writes: int) -> None:
    """Check that bytes of the heap are initialised, or make them so."""
    first = pointer(state_of(context), StateField.UNINITIALISED).at(position)
    with body.when(allowed):
        if writes == 1:
            body.fill(first, 0, size)
        else:
            with body.repeat(size) as i:
                flag_if(body, first.at(i).load(BYTE).differs(0), context, Flag.UNDEFINED)


@internal(_NONE, POINTER, POINTER, LONG, cold=True)
def shadow_fault(body: Body, context: Bits, shadow: Bits, size: Bits, *, writes: int) -> None:
    """Raise the flags for bytes of which not all may be accessed."""
    with body.repeat(size) as i:
        byte = shadow.at(i).load(BYTE)
        flag_if(body, (byte & Shadow.GAP).differs(0), context, Flag.BOUNDS)
        flag_if(body, (byte & Shadow.IN_FLIGHT).differs(0), context, Flag.COPY)
        if writes != 1:
            flag_if(body, byte.equals(0), context, Flag.UNDEFINED)


def check_shadow(body: Body, context: Bits, shadow: Bits, size: int, kind: str) -> None:
    """Check the shadow of ``size`` bytes; a write makes them initialised, and a copy begins to write them."""
    kinds = ir.IntType(8 * size) if size <= 8 else ir.VectorType(LONG, size // 8)
    every = _EVERY_BYTE & (1 << min(8 * size, 64)) - 1
    known = shadow.load(kinds)
    writes = kind in ("write", "copy")
    if writes:
        wrong = (known & (Shadow.IN_FLIGHT | Shadow.GAP) * every).differs(0)
    else:
        wrong = known.differs(every)
    with body.when(wrong.any(), likely=False):
        shadow_fault(body, context, shadow, body.constant(LONG, size), writes=int(writes))
    if writes:
        shadow.store(body.constant(kinds, every * (Shadow.WRITTEN if kind == "write" else Shadow.IN_FLIGHT)))


def _log(number: int) -> int:
    return number.bit_length() - 1


def shared_records(state: Bits, offset: Bits, granule: int) -> tuple[Bits, Bits]:
    """Return the pointers to the records of the writes and the reads of a byte of shared memory."""
    at = offset >> _log(granule) << 2
    return pointer(state, StateField.SHARED_WRITES).at(at), pointer(state, StateField.SHARED_READS).at(at)


def granule_of(found: Bits, address: Bits, granule: int) -> Bits:
    """Return the index of the granule at an address of a range that is watched."""
    return address + found.at(8 * Range.RECORDS).load(LONG, 8) >> _log(granule)


def global_records(body: Body, state: Bits, index: Bits) -> tuple[Bits, Bits]:
    """Return the pointers to the records of the writes and the reads of a granule, which its line then has not."""
    line = index >> 5
    with body.when(~is_expanded(state, line), likely=False):
        expand_line(body, state, line)
    return pointer(state, StateField.WRITES).at(index << 3), pointer(state, StateField.READS).at(index << 3)


def _granules(kind: ir.Type, count: int) -> ir.Type:
    return kind if count == 1 else ir.VectorType(kind, count)


@internal(BIT, POINTER, LONG, LONG, inline=True)
def shared_lane(
    body: Body, context: Bits, offset: Bits, own: Bits, *, size: int, kind: str, granule: int, atomics: int
) -> Bits:  # fmt: skip
    """Check the access of one lane to shared memory, without its alignment; return whether it may be done."""
    state = state_of(context)
    end = context.at(8 * Word.SHARED_BYTES).load(LONG, 8)
    inside = (offset < end) & (end - offset >= size)
    with body.either(inside) as (then, otherwise):
        with then:
            check_shadow(body, context, pointer(state, StateField.SHARED_SHADOW).at(offset), size, kind)
            if kind != "read":
                follow_write(body, context, own, offset, size, kind)
            writes, reads = shared_records(state, offset, granule)
            count = max(size // granule, 1)
            check(body, context, writes, reads, stamps_of(body, own, WORD, count), kind, atomics)
        with otherwise:
            raise_flag(body, context, body.constant(WORD, Flag.BOUNDS))
    return inside


@internal(POINTER, POINTER, POINTER, LONG, LONG, inline=True)
def global_lane(
    body: Body, context: Bits, slot: Bits, address: Bits, own: Bits, *, size: int, kind: str, granule: int, atomics: int
) -> Bits:  # fmt: skip
    """Check the access of one lane to global memory, without its alignment; return the host pointer, or null."""
    state = state_of(context)
    result = body.variable(POINTER)
    result.store(body.null, 8)
    found = range_of(body, state, slot, address, body.constant(LONG, size))
    with body.either(is_found(found)) as (then, otherwise):
        with then:
            writes = {"read": 0, "write": 1}.get(kind, 2)
            allowed = enter(body, context, found, address, body.constant(LONG, size), writes=writes)
            with body.when(allowed):
                host = found.at(8 * Range.HOST).load(LONG, 8) + address
                result.store(Bits(body, body.builder.inttoptr(host.value, POINTER)), 8)
                watched = (found.at(8 * Range.FLAGS).load(LONG, 8) & RangeFlag.WATCHED).differs(0)
                with body.when(watched):
                    index = granule_of(found, address, granule)
                    last, others = global_records(body, state, index)
                    stamps = stamps_of(body, own, LONG, max(size // granule, 1))
                    check(body, context, last, others, stamps, kind, atomics)
        with otherwise:
            raise_flag(body, context, body.constant(WORD, Flag.BOUNDS))
    return result.load(POINTER, 8)


@internal(POINTER, POINTER, POINTER, LONG, LONG, inline=True)
def local_lane(body: Body, context: Bits, warp: Bits, address: Bits, lane: Bits, *, size: int, kind: str) -> Bits:
    """Check the access of one lane to its local memory, without its alignment; return the host pointer, or null."""
    result = body.variable(POINTER)
    result.store(body.null, 8)
    end = context.at(8 * Word.LOCAL_BYTES).load(LONG, 8)
    with body.either((address < end) & (end - address >= size)) as (then, otherwise):
        with then:
            thread = warp.at(WARP_NUMBER).load(WORD, 4).cast(64) * LANES + lane
            at = thread * end + address
            check_shadow(body, context, pointer(state_of(context), StateField.LOCAL_SHADOW).at(at), size, kind)
            result.store(context.at(8 * Word.LOCAL).load(POINTER, 8).at(at), 8)
        with otherwise:
            raise_flag(body, context, body.constant(WORD, Flag.BOUNDS))
    return result.load(POINTER, 8)


def _parameter_lane(body: Body, context: Bits, address: Bits, size: int, kind: str) -> Bits:
    end = field(state_of(context), StateField.PARAMETER_BYTES)
    inside = (address < end) & (end - address >= size)
    if kind != "read":
        inside = inside & body.constant(BIT, 0)
    flag_if(body, ~inside, context, Flag.BOUNDS)
    host = context.at(8 * Word.PARAMETERS).load(POINTER, 8).at(address)
    return inside.chosen(host, body.null)


@internal(WORD, POINTER, POINTER, POINTER, POINTER, POINTER, WORD)
def access(
    body: Body, context: Bits, warp: Bits, addresses: Bits, hosts: Bits, slot: Bits, mask: Bits, *,
    space: str, size: int, alignment: int, kind: str, granule: int, atomics: int,
) -> Bits:  # fmt: skip
    """Check one access of each lane of a mask; return the lanes that may do it.

    ``addresses`` has 32 addresses in the space, 64 bits each; ``hosts`` receives 32 host pointers. ``slot`` is
    ``state.at(slot_of(n))`` for global memory. ``kind`` is "read", "write", "copy" (a write that arrives later),
    "atomic1", "atomic2" or "atomic3": see `Stamp.ATOMIC`. Races of writes and copies are checked; `record_lane` records
    them.
    """
    good = body.variable(WORD, alignment=4)
    good.store(body.constant(WORD, 0), 4)
    own = own_stamp(body, state_of(context), warp)
    with body.lanes(mask) as lane:
        address = addresses.at(lane << 3).load(LONG, 8)
        is_aligned = (address & alignment - 1).equals(0)
        with body.either(is_aligned) as (then, otherwise):
            with then:
                stamp = own + lane
                if space == "shared":
                    inside = shared_lane(
                        body, context, address, stamp, size=size, kind=kind, granule=granule, atomics=atomics
                    )
                    host = context.at(8 * Word.SHARED).load(POINTER, 8).at(address)
                    host = inside.chosen(host, body.null)
                elif space == "global":
                    host = global_lane(
                        body, context, slot, address, stamp, size=size, kind=kind, granule=granule, atomics=atomics
                    )
                elif space == "local":
                    host = local_lane(body, context, warp, address, lane, size=size, kind=kind)
                else:
                    host = _parameter_lane(body, context, address, size, kind)
                hosts.at(lane << 3).store(host, 8)
                bit = host.differs(body.null).cast(32) << lane.cast(32)
                good.store(good.load(WORD, 4) | bit, 4)
            with otherwise:
                raise_flag(body, context, body.constant(WORD, Flag.ALIGNMENT))
    return good.load(WORD, 4)


@internal(BIT, POINTER, POINTER, LONG, LONG, inline=True)
def record_lane(
    body: Body, context: Bits, slot: Bits, address: Bits, own: Bits, *, space: str, size: int, granule: int
) -> Bits:  # fmt: skip
    """Record the write of one lane; return whether another lane of the warp has written the bytes at the same time.

    Call it for each lane after `access` has checked all of them.
    """
    state = state_of(context)
    count = max(size // granule, 1)
    if space == "shared":
        return _recorded(body, shared_records(state, address, granule)[0], stamps_of(body, own, WORD, count))
    found = range_of(body, state, slot, address, body.constant(LONG, size))
    writes, _ = global_records(body, state, granule_of(found, address, granule))
    return _recorded(body, writes, stamps_of(body, own, LONG, count))


def _recorded(body: Body, writes: Bits, own: Bits) -> Bits:
    change = writes.load(own.type, 4) ^ own
    again = change.differs(0) & (change & ~ANY_LANE).equals(0)
    writes.store(again.chosen(own | 1 << Stamp.LANES, own), 4)
    return again.any()
