# SPDX-License-Identifier: MIT
"""The products of wgmma that have not been waited for: which shared memory they may still read, as ranges.

Each warp has a few entries in its head. A write by any thread to a range in flight raises a flag. The range of a
product that was waited for stays until the next barrier, because other warps do not know of the wait before. Ranges
contain more bytes than a product reads: a flag may be unnecessary, but no necessary flag is missing.

The asynchronous proxy reads what the generic proxy wrote only after a `fence.proxy.async`: by the warp that wrote it,
or by the warp with the product after that warp has synchronised with the write. A product raises a flag if any warp of
the block has written shared memory without such a fence.
"""

from enum import IntEnum

from llvmlite import ir

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.stamps import field, flag_if, state_of
from wmma_emu.ptx.native.memory.state import Stamp, StateField
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import HEAD_BYTES, WARP_NUMBER, WarpLayout

_FIRST = 192


class InFlight(IntEnum):
    """The offset of each field in the memory of a warp, 32 bits each."""

    COMMITTED = _FIRST
    """The number of groups that the warp has committed."""
    COUNT = _FIRST + 4
    """The number of entries."""
    UNFENCED = _FIRST + 8
    """The time of the warp's last write to shared memory if it has not executed a fence since; 0 otherwise."""
    FENCED = _FIRST + 12
    """The time of the warp's last fence."""
    ENTRIES = _FIRST + 16
    """The entries: the words of `ProductRead`."""


class ProductRead(IntEnum):
    """The index of each word of an entry."""

    LOW = 0
    HIGH = 1
    GROUP = 2
    """The number of groups that had been committed before; `DONE` after the wait."""
    TIME = 3
    """The time of the wait."""


_ENTRY_BYTES = 16
_MOST = (HEAD_BYTES - InFlight.ENTRIES) // _ENTRY_BYTES
_DONE = 0xFFFF_FFFF


def prepare(layout: WarpLayout) -> None:
    """Let every block begin without products in flight."""
    zeroed = _FIRST, HEAD_BYTES - _FIRST
    if zeroed not in layout.zeroed:
        layout.zeroed.append(zeroed)


def _now(context: Bits) -> Bits:
    """Return the time: the number of barriers that all threads of the block have passed, from 1."""
    return context.at(8 * Word.EPOCH).load(LONG, 8).cast(32)


def _warp(context: Bits, number: Bits) -> Bits:
    first = context.at(8 * Word.WARP_MEMORY).load(POINTER, 8)
    return first.at(number * context.at(8 * Word.WARP_BYTES).load(LONG, 8))


def _has_products(context: Bits) -> Bits:
    return field(state_of(context), StateField.HAS_PRODUCTS).differs(0)


def follow_write(body: Body, context: Bits, own: Bits, offset: Bits, size: int, kind: str) -> None:
    """Check a write to shared memory, and note it unless it is a copy, which writes when it arrives."""
    with body.when(_has_products(context), likely=False):
        note_write(body, context, own, offset, body.constant(LONG, size), arrives=int(kind != "copy"))


def follow_arrival(body: Body, context: Bits, warp: Bits) -> None:
    """Note that a copy of a warp to shared memory arrives."""
    with body.when(_has_products(context), likely=False):
        warp.at(InFlight.UNFENCED).store(_now(context), 4)


@internal(ir.VoidType(), POINTER, LONG, LONG, LONG, cold=True)
def note_write(body: Body, context: Bits, own: Bits, offset: Bits, size: Bits, *, arrives: int) -> None:
    """Note a write of a warp, given by its stamp, and raise a flag if a product may still read the bytes."""
    writer, now = own.cast(32) >> Stamp.WARP & 31, _now(context)
    if arrives:
        _warp(context, writer.cast(64)).at(InFlight.UNFENCED).store(now, 4)
    low, high = offset.cast(32), (offset + size).cast(32)
    with body.repeat(context.at(8 * Word.WARPS).load(LONG, 8)) as number:
        warp = _warp(context, number)
        with body.repeat(warp.at(InFlight.COUNT).load(WORD, 4).cast(64)) as i:
            entry = warp.at(InFlight.ENTRIES).at(i * _ENTRY_BYTES)
            words = [entry.at(4 * x).load(WORD, 4) for x in ProductRead]
            overlaps = (low < words[ProductRead.HIGH]) & (words[ProductRead.LOW] < high)
            is_done = words[ProductRead.GROUP].equals(_DONE)
            is_known = number.cast(32).equals(writer) | words[ProductRead.TIME].differs(now)
            flag_if(body, overlaps & ~(is_done & is_known), context, Flag.COPY)


@internal(ir.VoidType(), POINTER, POINTER, LONG, LONG, cold=True)
def begin_product(body: Body, context: Bits, warp: Bits, low: Bits, high: Bits) -> None:
    """Note that a product of a warp reads a range of shared memory, after the check of fences."""
    _check_fences(body, context, warp)
    start, end = low.cast(32), high.cast(32)
    _forget(body, context, warp, start, end)
    place = warp.at(InFlight.COUNT)
    count = place.load(WORD, 4)
    group = warp.at(InFlight.COMMITTED).load(WORD, 4)
    is_new = body.variable(ir.IntType(1))
    is_new.store(body.constant(ir.IntType(1), 1))
    with body.repeat(count.cast(64)) as i:
        entry = warp.at(InFlight.ENTRIES).at(i * _ENTRY_BYTES)
        first, last, of = (
            entry.at(4 * x).load(WORD, 4) for x in (ProductRead.LOW, ProductRead.HIGH, ProductRead.GROUP)
        )
        with body.when(of.equals(group) & (start <= last) & (first <= end)):
            entry.at(4 * ProductRead.LOW).store((start < first).chosen(start, first), 4)
            entry.at(4 * ProductRead.HIGH).store((last < end).chosen(end, last), 4)
            is_new.store(body.constant(ir.IntType(1), 0))
    with body.when(is_new.load(ir.IntType(1))):
        with body.either(count < _MOST) as (then, otherwise):
            with then:
                entry = warp.at(InFlight.ENTRIES).at(count.cast(64) * _ENTRY_BYTES)
                for index, value in ((ProductRead.LOW, start), (ProductRead.HIGH, end), (ProductRead.GROUP, group)):
                    entry.at(4 * index).store(value, 4)
                place.store(count + 1, 4)
            with otherwise:
                flag_if(body, count.differs(0), context, Flag.LIMIT)


def _check_fences(body: Body, context: Bits, warp: Bits) -> None:
    """Raise a flag unless fences lie between the writes of all warps and a product of one of them now.

    These are fences of the writers before the last barrier, or fences of the warp after it.
    """
    now = _now(context)
    is_fenced = warp.at(InFlight.FENCED).load(WORD, 4).equals(now)
    me = warp.at(WARP_NUMBER).load(WORD, 4)
    with body.repeat(context.at(8 * Word.WARPS).load(LONG, 8)) as number:
        other = _warp(context, number)
        unfenced, fenced = (other.at(x).load(WORD, 4) for x in (InFlight.UNFENCED, InFlight.FENCED))
        is_known = fenced.differs(now) | number.cast(32).equals(me) | is_fenced
        is_safe = (unfenced.equals(0) & is_known) | (is_fenced & unfenced.differs(now))
        flag_if(body, ~is_safe, context, Flag.COPY)


def _forget(body: Body, context: Bits, warp: Bits, start: Bits, end: Bits) -> None:
    """Remove the entries of products that were waited for before the last barrier, or that a new range contains."""
    now, place = _now(context), warp.at(InFlight.COUNT)
    before = place.load(WORD, 4).cast(64)
    with body.repeat(before) as i:
        entry = warp.at(InFlight.ENTRIES).at((before - 1 - i) * _ENTRY_BYTES)
        low, high, group, time = (entry.at(4 * x).load(WORD, 4) for x in ProductRead)
        with body.when(group.equals(_DONE) & (time.differs(now) | (start <= low) & (high <= end))):
            last = place.load(WORD, 4) - 1
            place.store(last, 4)
            four = ir.VectorType(WORD, len(ProductRead))
            entry.store(warp.at(InFlight.ENTRIES).at(last.cast(64) * _ENTRY_BYTES).load(four, 4), 4)


def commit_products(body: Body, warp: Bits) -> None:
    """Close the group of a warp."""
    place = warp.at(InFlight.COMMITTED)
    place.store(place.load(WORD, 4) + 1, 4)


@internal(ir.VoidType(), POINTER, POINTER, WORD, cold=True)
def wait_for_products(body: Body, context: Bits, warp: Bits, left: Bits) -> None:
    """Complete all but the last groups of a warp."""
    committed, now = warp.at(InFlight.COMMITTED).load(WORD, 4), _now(context)
    with body.repeat(warp.at(InFlight.COUNT).load(WORD, 4).cast(64)) as i:
        entry = warp.at(InFlight.ENTRIES).at(i * _ENTRY_BYTES)
        group = entry.at(4 * ProductRead.GROUP)
        with body.when((group.load(WORD, 4).cast(64) + left.cast(64)) < committed.cast(64)):
            group.store(body.constant(WORD, _DONE), 4)
            entry.at(4 * ProductRead.TIME).store(now, 4)


def fence_writes(body: Body, context: Bits, warp: Bits) -> None:
    """Note that all lanes of a warp have executed a fence between the proxies."""
    warp.at(InFlight.UNFENCED).store(body.constant(WORD, 0), 4)
    warp.at(InFlight.FENCED).store(_now(context), 4)
