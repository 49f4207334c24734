# SPDX-License-Identifier: MIT
"""The words of the tables that the driver of the native machine reads: basic blocks, entries, its part of the context.

All words have 64 bits.
"""

from enum import IntEnum

from wmma_emu.ptx.native.context import Word


class Kind(IntEnum):
    """The threads' action at the end of a basic block; with a guard, the others continue at the next basic block."""

    JUMP = 0
    BRANCH = 1
    EXIT = 2
    BARRIER = 3
    CALL = 4
    RETURN = 5
    INDEXED = 6
    TRAP = 7


class Sync(IntEnum):
    """The lanes of a warp that have to be together at the beginning of a basic block."""

    NONE = 0
    ALL = 1
    """All 32 lanes."""
    LIVE = 2
    """All lanes that have not exited."""
    NAMED = 3
    """The lanes in the membermasks of the lanes that have arrived."""
    BARRIER = 4
    """As `NAMED`; the lanes in each membermask have to have equal membermasks."""


class BlockField(IntEnum):
    """The words of a basic block. `WarpLayout` assigns the offsets."""

    CODE = 0
    """A host pointer to the entries."""
    COUNT = 1
    """The number of entries."""
    LENGTH = 2
    """The number of PTX instructions."""
    KIND = 3
    GUARD = 4
    """The offset of the guard of the end."""
    COMPLEMENT = 5
    """The word with which the guard is XORed."""
    TARGET = 6
    """The number of the basic block at which the threads for which the guard holds continue."""
    NEXT = 7
    """The number of the basic block at which the others continue."""
    SYNC = 8
    SYNC_GUARD = 9
    """The offset of the guard of the beginning."""
    SYNC_COMPLEMENT = 10
    MEMBERS = 11
    """The offset of the membermasks."""
    IS_EXIT = 12
    """Whether threads that arrive here exit at once."""
    SLOT = 13
    """For a call or a return, the offset of the numbers of the basic blocks to which the lanes return; for a barrier,
    the offset of its number."""
    THREADS = 14
    """For a barrier, the offset of the number of threads, 0 for all; for an indexed branch, a host pointer to the
    numbers of the basic blocks."""
    SOURCE = 15
    """For a barrier, the offset of the votes; for a call, the number of the basic block to which it returns; for an
    indexed branch, the number of its basic blocks."""
    VOTES_COMPLEMENT = 16
    WAITS = 17
    """Whether the threads of a barrier wait."""
    IS_SPINNING = 18
    """Whether the threads may wait here for others, in a loop."""
    POLLS = 19
    """Whether it reads data that other threads may change."""
    ONLY_READS = 20
    """Whether it changes only registers."""
    MEETS_ALL = 21
    """Whether it ends with a barrier of all threads of a block, with a number in the instruction."""
    COUNT_OF_WORDS = 24


class EntryField(IntEnum):
    """The words of an entry of a basic block."""

    FUNCTION = 0
    RECORD = 1
    GUARD = 2
    COMPLEMENT = 3
    COUNT_OF_WORDS = 4


class MachineWord(IntEnum):
    """The words of the context that belong to the driver."""

    BLOCKS = Word.FIRST_OF_MACHINE
    """A host pointer to the basic blocks."""
    NEXT_BLOCK = Word.FIRST_OF_MACHINE + 1
    """A host pointer to the linear index of the block that a worker runs next, which all workers share."""
    LAST_BLOCK = Word.FIRST_OF_MACHINE + 2
    """The number of blocks of the grid."""
    IS_RUNNING = Word.FIRST_OF_MACHINE + 3
    """Whether the worker is in the middle of a block."""
    WARP = Word.FIRST_OF_MACHINE + 4
    """The number of the warp that runs, in the middle of a block."""
    LIVE = Word.FIRST_OF_MACHINE + 5
    """The number of threads of the block that have not exited."""
    THREADS = Word.FIRST_OF_MACHINE + 6
    """The number of threads of a block."""
    ROUND_STEPS = Word.FIRST_OF_MACHINE + 7
    """The steps of the warps of the block since the round began."""
    LAST_ROUND_STEPS = Word.FIRST_OF_MACHINE + 8
    """The same of the round before."""
    IDLE_ROUNDS = Word.FIRST_OF_MACHINE + 9
    """The number of rounds in succession in which every warp stopped in a loop that waits."""
    HAS_MOVED = Word.FIRST_OF_MACHINE + 10
    """Whether a warp of the round has reached a barrier or its end."""
    BLOCK_STEPS = Word.FIRST_OF_MACHINE + 11
    """A host pointer to the steps of each block of the grid, (blocks,)."""
    ZEROED = Word.FIRST_OF_MACHINE + 12
    """A host pointer to pairs of the offset and the size of the bytes of a warp that are zeros when a block begins."""
    ZEROED_COUNT = Word.FIRST_OF_MACHINE + 13
    FILLED = Word.FIRST_OF_MACHINE + 14
    """A host pointer to triples: an offset, the index of a word of the context, the 32-bit words of a lane."""
    FILLED_COUNT = Word.FIRST_OF_MACHINE + 15
    BARRIERS = Word.FIRST_OF_MACHINE + 16
    """A host pointer to the states of the barriers of the block (`BarrierField`)."""
    BUSY_BARRIERS = Word.FIRST_OF_MACHINE + 17
    """The number of barriers at which threads have arrived."""
    CTAID_X = Word.FIRST_OF_MACHINE + 18
    CTAID_Y = Word.FIRST_OF_MACHINE + 19
    CTAID_Z = Word.FIRST_OF_MACHINE + 20
    MULTIPROCESSORS = Word.FIRST_OF_MACHINE + 21
    """The number of multiprocessors of the chip."""
    SMID = Word.FIRST_OF_MACHINE + 22
    WAITING = Word.FIRST_OF_MACHINE + 23
    """The offset in the memory of a warp of the lanes that wait at each barrier: 16 words of 32 bits."""
    LOG = Word.FIRST_OF_MACHINE + 24
    """A host pointer to the log of a wave (`wmma_emu.ptx.native.memory.log`), 0 if nothing is logged."""


class BarrierField(IntEnum):
    """The words of the state of a barrier of a block."""

    ARRIVED = 0
    EXPECTED = 1
    """The number of threads, 0 for all of the block."""
    SITE = 2
    """The basic block at which the first thread arrived."""
    VOTES = 3
    """The number of threads that voted."""
    RESULT_VOTES = 4
    RESULT_ARRIVED = 5
    """Votes and threads of the last completion, from which `bar.red` computes its result."""
    COUNT_OF_WORDS = 8


class WaveWord(IntEnum):
    """The words of the state of a wave of blocks that run together (`wmma_emu.ptx.native.wave_driver`)."""

    TABLE = 0
    """A host pointer to the basic blocks."""
    CONTEXTS = 1
    """A host pointer to the host pointers of the contexts, one for each block."""
    COUNT = 2
    """The number of blocks of the wave."""
    FIRST = 3
    """The linear index of its first block."""
    PICKED = 4
    """A host pointer to the warps that run now: `PickedWarp`."""
    LAST = 5
    """A host pointer to the number of the last pick of each basic block."""
    FUEL = 6
    STEPS = 7
    """The number of instructions that were stepped, each for all threads that executed it together."""
    HAS_EXACT_TURNS = 8
    """Whether the wave picks the same basic blocks as the NumPy machine, also where each one gets its turn."""
    PICKS = 9
    PATIENCE = 10
    TURNS = 11
    IS_TOGETHER = 12
    """Whether all threads are known to be at one basic block, `BLOCK`."""
    BLOCK = 13
    QUIET = 14
    """The number of basic blocks in succession that changed only registers."""
    COUNT_OF_WORDS = 16


class PickedWarp(IntEnum):
    """The words of a warp that runs now."""

    CONTEXT = 0
    WARP = 1
    LANES = 2
    COUNT_OF_WORDS = 3
