# SPDX-License-Identifier: MIT
"""Stamps of accesses: which accesses are unordered, and the record of several accesses as one stamp.

Within a block, accesses are ordered by barriers; within a warp, also by `bar.warp.sync`. The last write of a granule
therefore stands for all writes before it; reads, and atomic operations, that are not ordered are recorded together, by
the bits ``LANES``, ``WARPS`` and ``BLOCKS``.
"""

from llvmlite import ir

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.memory.log import is_logging, log_conflicts
from wmma_emu.ptx.native.memory.state import (
    BARRIERS_MASK,
    BLOCK_MASK,
    KINDS_MASK,
    LINE,
    MEETINGS_MASK,
    STATE,
    THREAD_MASK,
    WARP_MASK,
    WARP_STATE_BYTES,
    AtomicChecks,
    Stamp,
    StateField,
    WarpField,
)
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD
from wmma_emu.ptx.native.warp_layout import WARP_NUMBER

KINDS = {
    "read": 1 << Stamp.IS_READ, "write": 0, "copy": 0, **{f"atomic{i}": i << Stamp.ATOMIC for i in (1, 2, 3)},
}  # fmt: skip
"""The kinds of accesses, with the bits that mark them in a stamp."""

ANY_LANE = THREAD_MASK & ~WARP_MASK | 1 << Stamp.LANES
"""The bits in which stamps of one warp at one time differ."""


_NEAR_IN_LINE = ANY_LANE | 7 << Stamp.SHIFT
_FAR = WARP_MASK | 1 << Stamp.WARPS
_ELSEWHERE = BLOCK_MASK | 1 << Stamp.BLOCKS


def state_of(context: Bits) -> Bits:
    """Return the host pointer to the state."""
    return context.at(8 * STATE).load(POINTER, 8)


def field(state: Bits, index: StateField, kind: ir.Type = LONG) -> Bits:
    """Load a word of the state."""
    return state.at(8 * index).load(kind, 8)


def pointer(state: Bits, index: StateField) -> Bits:
    """Load a host pointer from the state."""
    return field(state, index, POINTER)


@internal(ir.VoidType(), POINTER, WORD, cold=True)
def raise_flag(body: Body, context: Bits, flag: Bits) -> None:
    """Raise flags."""
    flags = context.at(8 * Word.FLAGS)
    flags.store(flags.load(LONG, 8) | flag.cast(64), 8)


def flag_if(body: Body, condition: Bits, context: Bits, flag: Flag) -> None:
    """Raise a flag if a condition holds."""
    with body.when(condition, likely=False):
        raise_flag(body, context, body.constant(WORD, flag))


def warp_state(state: Bits, number: Bits) -> Bits:
    """Return the host pointer to the state of a warp, by its number (64 bits)."""
    return pointer(state, StateField.WARPS).at(number * WARP_STATE_BYTES)


@internal(LONG, POINTER, POINTER, inline=True)
def own_stamp(body: Body, state: Bits, warp: Bits) -> Bits:
    """Return the stamp of an access by lane 0 of a warp now; the number of a lane may be added."""
    number = warp.at(WARP_NUMBER).load(WORD, 4)
    meetings = warp_state(state, number.cast(64)).at(WarpField.MEETINGS).load(WORD, 4)
    time = (number << Stamp.WARP) | meetings
    return time.cast(64) | field(state, StateField.BARRIERS) | field(state, StateField.BLOCK)


def _is_wide(old: Bits) -> bool:
    kind = old.type.element if isinstance(old.type, ir.VectorType) else old.type
    return bool(kind.width == 64)


def unordered(old: Bits, own: Bits, *, only_far: bool = False) -> Bits:
    """Return which recorded accesses are not known to happen before an access of another thread now.

    With ``only_far``, accesses of the own warp do not count.
    """
    change = old ^ own  # bits of `old` that no own stamp has are bits of the change
    far = (change & _FAR).differs(0)
    if not only_far:
        near = _NEAR_IN_LINE if _is_wide(old) else ANY_LANE
        far = far | ((change & near).differs(0) & (change & MEETINGS_MASK).equals(0))
    found = (change & BARRIERS_MASK).equals(0) & far
    return found if not _is_wide(old) else old.differs(0) & ((change & _ELSEWHERE).differs(0) | found)


def apart(old: Bits, own: Bits) -> Bits:
    """Return which recorded accesses of other threads no barrier of the block orders before an access now."""
    change = old ^ own
    found = (change & BARRIERS_MASK).equals(0) & (change & (_FAR | ANY_LANE)).differs(0)
    return found if not _is_wide(old) else old.differs(0) & ((change & _ELSEWHERE).differs(0) | found)


def joined(old: Bits, own: Bits, kind: int, *, logged: bool = False) -> Bits:
    """Return the record of recorded accesses and a new access; it keeps only the accesses that still matter."""
    change = old ^ own
    fresh = own | kind
    kept = fresh | (old & KINDS_MASK)
    near = (change & ANY_LANE).differs(0)
    if not logged:  # the number of meetings is the number of entries in the log otherwise
        near = near & (change & MEETINGS_MASK).equals(0)
    several = near.chosen(kept | 1 << Stamp.LANES, kept)
    several = (change & _FAR).differs(0).chosen(kept | 1 << Stamp.WARPS, several)
    if not _is_wide(old):
        return (change & BARRIERS_MASK).equals(0).chosen(several, fresh)
    found = (change & BARRIERS_MASK).equals(0).chosen(several, kept)  # other blocks do not know of the barrier
    found = (change & _ELSEWHERE).differs(0).chosen(kept | 1 << Stamp.BLOCKS, found)
    return old.equals(0).chosen(fresh, found)


def check(
    body: Body, context: Bits, writes: Bits, reads: Bits, own: Bits, kind: str, atomics: int
) -> None:  # fmt: skip
    """Check an access of some granules against the records at two pointers; record a read or an atomic operation.

    ``own`` has the stamp of the access for each granule. A write is recorded by storing its stamps. ``atomics`` is
    `AtomicChecks`.
    """
    last, others = writes.load(own.type, 4), reads.load(own.type, 4)
    is_write, is_logged = kind in ("write", "copy"), bool(atomics & AtomicChecks.LOGGED)
    conflicts = others.differs(0)
    if kind == "read":
        conflicts = (others & (KINDS["atomic3"] if atomics & AtomicChecks.EXIST else 0)).differs(0)
    elif not is_write:
        conflicts = (others & KINDS["read"]).differs(0)
        before = others & KINDS["atomic3"]
        order = before.differs(0)
        if kind != "atomic3":
            order = order & before.differs(KINDS[kind])
        only_far = not atomics & AtomicChecks.TURNS
        flag_if(body, (unordered(others, own, only_far=only_far) & order).any(), context, Flag.UNORDERED)
    raced = (unordered(last, own) | (unordered(others, own) & conflicts)).any()
    if is_logged:
        raced = raced & ~is_logging(context)
        with body.when(is_logging(context)):
            for record, counts in ((last, last.differs(0)), (others, conflicts)):
                log_conflicts(body, context, record, own, apart(record, own) & counts)
            if is_write:  # what is ordered after this write is ordered after the reads before it
                reads.store(body.constant(own.type, 0), 4)
    flag_if(body, raced, context, Flag.RACE)
    if not is_write:
        reads.store(joined(others, own, KINDS[kind], logged=is_logged), 4)


def stamps_of(body: Body, own: Bits, kind: ir.Type, count: int, shift: int = 31) -> Bits:
    """Return the stamps of granules, of which granule j is accessed by the lane j >> shift after that of ``own``."""
    one = own.cast(kind.width)
    if count == 1:
        return one
    found = one.repeated(count)
    steps = [j >> shift for j in range(count)]
    return found + body.constant(found.type, steps) if any(steps) else found


@internal(ir.VoidType(), POINTER, LONG)
def expand_line(body: Body, state: Bits, line: Bits) -> None:
    """Create a separate record for each granule of a line."""
    place = state.at(8 * StateField.EXPANDED)
    place.store(place.load(LONG, 8) + 1, 8)
    for lines, granules in ((StateField.LINE_WRITES, StateField.WRITES), (StateField.LINE_READS, StateField.READS)):
        place = pointer(state, lines).at(line << 3)
        record = place.load(LONG, 8)
        place.store(record | 1 << Stamp.EXPANDED, 8)
        with body.when(record.differs(0)):
            first = pointer(state, granules).at(line * (8 * LINE))
            shift, single = record >> Stamp.SHIFT & 7, record & ~(7 << Stamp.SHIFT)
            with body.repeat(LINE) as i:
                first.at(i << 3).store(single + (i >> shift), 8)


def needs_granules(old: Bits, own: Bits) -> Bits:
    """Return whether other lanes of the same warp have accessed a line since they met: one stamp cannot tell both."""
    change = old ^ own
    together = BLOCK_MASK | BARRIERS_MASK | MEETINGS_MASK | WARP_MASK
    return old.differs(0) & (change & together).equals(0) & (change & _NEAR_IN_LINE).differs(0)


def is_expanded(state: Bits, line: Bits) -> Bits:
    """Return whether the granules of a line have their own records."""
    return (pointer(state, StateField.LINE_WRITES).at(line << 3).load(LONG, 8) >> Stamp.EXPANDED).differs(0)
