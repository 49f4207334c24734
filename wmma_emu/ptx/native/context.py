# SPDX-License-Identifier: MIT
"""The context of a worker of the native machine: what its functions share, as words of 64 bits, by index.

Native functions receive a pointer to it. Each worker, which runs blocks one after another, has its own.
"""

from enum import IntEnum, IntFlag


class Word(IntEnum):
    """The index of each word of a context; the words after the last are free for one more purpose each."""

    FLAGS = 0
    """The `Flag` bits that functions have raised. The machine stops at the end of a basic block if any is set."""
    YIELD = 1
    """Set by a function whose warp cannot continue now: other warps of the block run first."""
    PARAMETERS = 2
    """A host pointer to the kernel's parameters."""
    SHARED = 4
    """A host pointer to the shared memory of the block."""
    SHARED_BYTES = 5
    LOCAL = 6
    """A host pointer to the local memory of the block's threads."""
    LOCAL_BYTES = 7
    """The bytes of local memory of one thread."""
    GRID_X = 8
    GRID_Y = 9
    GRID_Z = 10
    BLOCK_X = 11
    BLOCK_Y = 12
    BLOCK_Z = 13
    BLOCK_INDEX = 14
    """The linear index of the block that runs."""
    WARPS = 15
    """The number of warps of a block."""
    WARP_BYTES = 16
    """The bytes of a warp's memory (`WarpLayout.bytes`)."""
    WARP_MEMORY = 17
    """A host pointer to the memory of warp 0; the others follow."""
    EPOCH = 18
    """The number of barriers that all threads of the block have passed, from 1."""
    FUEL = 19
    """The steps of warps that may still run before the machine returns to Python to check limits and interrupts."""
    EXECUTED = 20
    """The number of instructions executed so far, each counted once for each active thread."""
    FIRST_OF_MEMORY = 32
    """The words from here to `FIRST_OF_MACHINE` belong to `wmma_emu.ptx.native.memory`."""
    FIRST_OF_MACHINE = 96
    """The words from here to `COUNT` belong to the machine."""
    COUNT = 128


class Flag(IntFlag):
    """The reasons why a launch has to run again on the NumPy machine.

    A flag says that there may be a finding, or that the order of the native machine might change bits. No flag means
    that the NumPy machine has no finding and the same bits.
    """

    BOUNDS = 1
    ALIGNMENT = 2
    RACE = 4
    UNDEFINED = 8
    COLLECTIVE = 16
    """Lanes that take part in an instruction of a warp or of a block are missing, or more than named."""
    COPY = 32
    """A copy in flight: its source or destination was used too early."""
    DEADLOCK = 64
    LIMIT = 128
    UNORDERED = 256
    """Threads of several warps or blocks change the same bytes, and the order in which they do so affects bits."""
    UNSUPPORTED = 512
    """A case of an instruction that has no native code."""
    TRAP = 1024
