# SPDX-License-Identifier: MIT
"""The log of a wave: how its threads synchronise, and the accesses that no barrier of a block orders.

`wmma_emu.ptx.native.memory.order` reads it after the wave. Without a log, such accesses raise a flag at once.
"""

from enum import IntEnum

from llvmlite import ir

from wmma_emu.ptx.native.body import Bits, Body, internal
from wmma_emu.ptx.native.context import Flag, Word
from wmma_emu.ptx.native.control_words import MachineWord
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD


class LogWord(IntEnum):
    """The index of each word of the head of a log; entries follow, whose words are `EntryWord`."""

    USED = 0
    """The words of all entries."""
    SPACE = 1
    """The words that entries may have."""
    COUNT_OF_WORDS = 8


class EntryWord(IntEnum):
    """The index of each word of an entry; its payload follows."""

    KIND = 0
    """`EntryKind`; from bit 8, details; from bit 40, the words of the payload."""
    BLOCK = 1
    """The linear index of the block in the grid."""
    STAMP = 2
    """The stamp of an access by the warp before the entry."""
    LANES = 3
    COUNT_OF_WORDS = 4


class EntryKind(IntEnum):
    """The kinds of entries, with their details and payload."""

    CONFLICT = 0
    """An access; the stamp of an earlier one that conflicts. The details are the bits of the stamps, 32 or 64."""
    FENCE = 1
    """The instruction, see `WarpLayout.logged`."""
    LOAD = 2
    """A strong load: the instruction and, at bit 24, whether the memory is shared; the addresses of the lanes."""
    STORE = 3
    UPDATE = 4
    LANES = 5
    """A barrier of lanes of a warp: the membermasks of the lanes."""
    ARRIVAL = 6
    """Arrivals at a barrier of the block: its number."""
    COMPLETION = 7
    """Its completion: its number and, at bit 8, whether it is for all threads; the lanes of each of 32
    warps that waited, and the barriers that the block has passed then, at their place in a stamp."""
    EXIT = 8
    BEFORE_WRITE = 9
    """The beginning of a strong write, which is the only access with its stamp."""


SHARED = 1 << 24
"""The bit of the details that marks an access to shared memory."""

ALL_THREADS = 1 << 8
"""The bit of the details that marks a barrier for all threads of the block."""


def is_logging(context: Bits) -> Bits:
    """Return whether there is a log."""
    return context.at(8 * MachineWord.LOG).load(LONG, 8).differs(0)


@internal(ir.VoidType(), POINTER, LONG, LONG, WORD, POINTER, cold=True)
def write_entry(body: Body, context: Bits, kind: Bits, stamp: Bits, lanes: Bits, payload: Bits) -> None:
    """Add an entry, with the words at a pointer as its payload; a full log raises a flag."""
    log = context.at(8 * MachineWord.LOG).load(POINTER, 8)
    used = log.at(8 * LogWord.USED).load(LONG, 8)
    size = kind >> 40
    after = used + size + EntryWord.COUNT_OF_WORDS
    with body.when(after > log.at(8 * LogWord.SPACE).load(LONG, 8), likely=False):
        flags = context.at(8 * Word.FLAGS)
        flags.store(flags.load(LONG, 8) | int(Flag.LIMIT), 8)
        body.give()
    entry = log.at((used + LogWord.COUNT_OF_WORDS) << 3)
    block = context.at(8 * Word.BLOCK_INDEX).load(LONG, 8)
    for index, value in (
        (EntryWord.KIND, kind), (EntryWord.BLOCK, block), (EntryWord.STAMP, stamp), (EntryWord.LANES, lanes.cast(64)),
    ):  # fmt: skip
        entry.at(8 * index).store(value, 8)
    body.copy(entry.at(8 * EntryWord.COUNT_OF_WORDS), payload, size << 3)
    log.at(8 * LogWord.USED).store(after, 8)


def log_conflicts(body: Body, context: Bits, old: Bits, own: Bits, chosen: Bits) -> None:
    """Add an entry for each chosen granule: the stamp of an earlier access, and that of the access now."""
    is_vector = isinstance(old.type, ir.VectorType)
    count, bits = (old.type.count, old.type.element.width) if is_vector else (1, old.type.width)
    with body.when(chosen.any(), likely=False):
        places = [body.variable(LONG, count, alignment=64) for _ in range(3)]
        for place, value in zip(places, (old, own, chosen), strict=True):
            place.store(value.cast(64), 8)
        with body.repeat(count) as i:
            before, now, is_chosen = (x.at(i << 3) for x in places)
            with body.when(is_chosen.load(LONG, 8).differs(0)):
                kind = body.constant(LONG, EntryKind.CONFLICT | bits << 8 | 1 << 40)
                write_entry(body, context, kind, now.load(LONG, 8), body.constant(WORD, 0), before)
