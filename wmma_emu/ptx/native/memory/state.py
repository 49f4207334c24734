# SPDX-License-Identifier: MIT
"""The state of a worker's memory: the offsets of its fields, for the code and for Python.

Times are as in `wmma_emu.ptx.causality`, but simpler: an access is stamped with its thread, the number of barriers of
its block, and the number of times that all lanes of its warp have met since the block began. Both are counted modulo
a small number: a stamp that is seen again after a whole turn gives a flag that is not needed, never one too few.
"""

from collections.abc import Iterator
from enum import IntEnum, IntFlag
from typing import NamedTuple

from wmma_emu.ptx.causality.ordering import ordering_of, synchronises_through_memory
from wmma_emu.ptx.native.context import Word
from wmma_emu.ptx.native.turns import may_take_turns
from wmma_emu.ptx.program.polling import polls_of
from wmma_emu.ptx.program.program import Immediate, KernelProgram, PtxInstruction
from wmma_emu.ptx.widths import bits_of_type

STATE = Word.FIRST_OF_MEMORY
"""The word of a context with the host pointer to the state, whose words of 64 bits are `StateField`."""


class StateField(IntEnum):
    """The index of each word of the state."""

    SHARED_WRITES = 0
    """A host pointer to the record of the last write of each granule of shared memory: `Stamp`, 32 bits."""
    SHARED_READS = 1
    """The same for reads and atomic operations since the last barrier."""
    SHARED_RECORDS_BYTES = 2
    """The bytes of each of these two."""
    SHARED_SHADOW = 3
    """A host pointer to a `Shadow` for each byte of shared memory."""
    SHADOW_OF_BLOCK = 4
    """A host pointer to the shadow with which every block begins."""
    LOCAL_SHADOW = 5
    """A host pointer to a `Shadow` for each byte of local memory of the block's threads."""
    LOCAL_SHADOW_BYTES = 6
    WRITES = 7
    """A host pointer to the records of the granules of global memory that are watched: `Stamp`, 64 bits."""
    READS = 8
    LINE_WRITES = 9
    """A host pointer to the records of lines of `LINE` granules, each for all its granules: `Stamp`, 64 bits."""
    LINE_READS = 10
    RANGES = 11
    """A host pointer to the ranges of the heap, in the order of their addresses: `Range`."""
    RANGE_COUNT = 12
    UNINITIALISED = 13
    """A host pointer p such that p + position has the uninitialised bits of a byte of the heap; 0 if there are none."""
    BARRIERS = 14
    """The number of barriers of this worker's blocks, modulo 255, plus 1, at its place in a `Stamp`."""
    BLOCK = 15
    """The index of the block plus 1, at its place in a `Stamp`."""
    PENDING = 16
    """The number of entries in the queues of copies of all warps of the block."""
    WARPS = 17
    """A host pointer to the state of each warp of the block: `WarpField`."""
    PARAMETER_BYTES = 18
    HAS_PRODUCTS = 19
    """Whether the kernel has products of warpgroups, which read shared memory asynchronously."""
    EXPANDED = 20
    """The number of lines whose granules have their own records."""
    SLOTS = 32
    """The last range that some instructions have accessed, as host pointers: `SLOTS` of them."""


SLOTS = 64
STATE_BYTES = 8 * (StateField.SLOTS + SLOTS)


class Range(IntEnum):
    """The index of each word of a range of the heap."""

    FIRST = 0
    """The address of its first byte."""
    SPAN = 1
    """Its bytes."""
    HOST = 2
    """The difference between the host pointer and the address."""
    POSITION = 3
    """The difference between the position in the heap and the address."""
    RECORDS = 4
    """The number that makes an address a multiple of the granule's size with the granule's index, if it is watched."""
    FLAGS = 5
    """`RangeFlag`."""
    WRITTEN = 6
    """Set to 1 when a store writes to the range."""


RANGE_BYTES = 64


class RangeFlag(IntFlag):
    """The properties of a range."""

    WRITEABLE = 1
    WATCHED = 2
    """Accesses are recorded, since the kernel may write the range."""
    CONSTANT = 4
    """It is a variable of constant memory."""


class WarpField(IntEnum):
    """The offset of each field of a warp's state."""

    MEETINGS = 0
    """The number of times that all lanes of the warp have met, modulo 512, at its place in a `Stamp` (32 bits)."""
    COPIES = 4
    """The number of entries in the warp's queue of copies (32 bits)."""
    GROUPS = 64
    """The number of groups of copies that each lane has committed (32 bits each)."""
    QUEUE = 192
    """The entries: `Copy`."""


class Copy(IntEnum):
    """The offset of each field of a copy in flight."""

    MASK = 0
    """The lanes whose copy is in flight (32 bits)."""
    SIZE = 4
    """The bytes that each lane writes (32 bits)."""
    LOWEST = 8
    """The lowest position in the heap that any lane reads (64 bits)."""
    HIGHEST = 16
    """The highest end (64 bits)."""
    GROUPS = 32
    """The number of groups that each lane had committed before (32 bits each)."""
    READ = 160
    """The bytes that each lane reads (32 bits each)."""
    TARGETS = 288
    """The addresses in shared memory (32 bits each)."""
    SOURCES = 416
    """The positions in the heap (64 bits each)."""


COPY_BYTES = 672
MOST_COPIES = 96
"""The entries of a queue; a kernel with more copies in flight is not native."""

WARP_STATE_BYTES = WarpField.QUEUE + COPY_BYTES * MOST_COPIES


class Stamp(IntEnum):
    """The position of the lowest bit of each field of a stamp.

    A stamp of global memory has 64 bits, one of shared memory the lower 32. 0 means that there was no access.
    """

    LANE = 0
    WARP = 5
    MEETINGS = 10
    BARRIERS = 19
    LANES = 27
    """Several lanes of the warp have made such accesses since they met."""
    WARPS = 28
    """Several warps of the block have made such accesses since the barrier."""
    IS_READ = 29
    ATOMIC = 30
    """Two bits: 0 if there was no atomic operation; 1 or 2 for one of two operations of the kernel whose order among
    each other changes no bits; 3 for others, and for several."""
    BLOCK = 32
    SHIFT = 58
    """For a line: granule j was accessed by the lane that is j >> shift after the first."""
    BLOCKS = 61
    """Several blocks have made such accesses."""
    EXPANDED = 63
    """For a line: its granules have their own records."""


THREAD_MASK, WARP_MASK = 0x3FF, 0x3E0
MEETINGS_MASK, BARRIERS_MASK = 0x1FF << Stamp.MEETINGS, 0xFF << Stamp.BARRIERS
KINDS_MASK = 7 << Stamp.IS_READ
BLOCK_MASK = (1 << Stamp.SHIFT - Stamp.BLOCK) - 1 << Stamp.BLOCK
MOST_BLOCKS = (1 << Stamp.SHIFT - Stamp.BLOCK) - 2

LINE = 32
"""The granules of a line of global memory."""

PART = 8
"""The granules that are checked as one vector."""


class Shadow(IntFlag):
    """The state of a byte of shared or local memory: 0 if it is uninitialised."""

    WRITTEN = 1
    IN_FLIGHT = 2
    """A copy has begun to write it, and was not waited for."""
    GAP = 128
    """It belongs to no variable."""


class AtomicChecks(IntFlag):
    """The checks of accesses that depend on atomic operations."""

    EXIST = 1
    """There are atomic operations, or other strong accesses."""
    TURNS = 2
    """The order of the atomic operations of one warp may differ on the NumPy machine."""
    LOGGED = 4
    """Threads may synchronise otherwise than by barriers of whole blocks and warps: a wave logs what is unordered."""


class Checks(NamedTuple):
    """The properties of a program on which its checks depend.

    ``granule`` is the size in bytes of the smallest access to shared or global memory, at most 4: the accesses of
    whole granules are recorded. ``atomics`` has the checks of atomic operations, and of accesses that no barrier of the
    block or of a whole warp orders.
    """

    granule: int
    atomics: AtomicChecks


_VECTORS = {"v2", "v4", "v8"}
"""The modifiers of atomic operations on vectors."""

_ACCESSES = ("ld", "ldu", "st", "atom", "red")
_OWN = ("local", "param", "param::entry", "param::func", "const")


def accesses_of(program: KernelProgram) -> Iterator[PtxInstruction]:
    """Yield the loads, stores and atomic operations on memory that threads share."""
    for x in program.instructions:
        if x.mnemonic in _ACCESSES and not any(m in _OWN for m in x.modifiers):
            yield x


_last: list[tuple[KernelProgram, Checks]] = []
"""The program that was looked at last: every row of a kernel asks."""


def checks_of(program: KernelProgram) -> Checks:
    """Return what the checks of a program depend on."""
    known = _last[-1:]
    if known and known[0][0] is program:
        return known[0][1]
    found = _checks(program)
    _last[:] = [(program, found)]
    return found


def _checks(program: KernelProgram) -> Checks:
    smallest, atomics = 4, AtomicChecks(0)
    for x in accesses_of(program):
        smallest = min(smallest, bits_of_type(x.modifiers[-1]) // 8)
        if ordering_of(x.mnemonic, x.modifiers).strong:
            atomics |= AtomicChecks.EXIST
    if atomics and may_take_turns(program):
        atomics |= AtomicChecks.TURNS
    if is_logged(program):
        atomics |= AtomicChecks.LOGGED
    return Checks(smallest, atomics)


def is_logged(program: KernelProgram) -> bool:
    """Return whether threads may synchronise otherwise than by barriers of whole blocks and warps, without locks.

    Each element of a vector of atomic operations has its own time, but one stamp: such kernels are not logged.
    """
    code = program.instructions
    synchronises = synchronises_through_memory(code) or any(map(_meets_some, code))
    has_vectors = any(x.mnemonic in ("atom", "red") and not _VECTORS.isdisjoint(x.modifiers) for x in code)
    return synchronises and not has_vectors and not polls_of(program).lock_attempts


def _meets_some(instruction: PtxInstruction) -> bool:
    """Return whether an instruction may be a barrier of a part of a block or of a warp."""
    if instruction.mnemonic not in ("bar", "barrier") or "cluster" in instruction.modifiers:
        return False
    if instruction.modifiers[:1] == ("warp",):
        mask = instruction.operands[0]
        return not isinstance(mask, Immediate) or mask.value & 0xFFFF_FFFF != 0xFFFF_FFFF
    return "arrive" in instruction.modifiers or (len(instruction.operands) > 1 and "red" not in instruction.modifiers)
