# SPDX-License-Identifier: MIT
"""The layout of the 64-bit address space, and the space to which a generic address belongs.

The heap, and the windows through which generic addresses reach shared memory, local memory and kernel parameters, have
separate addresses, as the windows of a GPU have. The numbers are this project's. None is an address of the host, so
that arrays may also be at their host addresses (`Placement`).
"""

from typing import NamedTuple

from wmma_emu.ptx.pages import ALIGNMENT

OWN = 1 << 48
"""The emulator's own addresses begin here, above those of processes.

A process has addresses of at most 47 bits on x86-64 and 48 bits on AArch64, unless it asks for larger ones (Linux,
Documentation/arch/x86/x86_64/5level-paging.rst and arch/arm64/memory.rst).
"""

HEAP = OWN + 0x7F00_0000_0000
"""Address of the heap's first byte, which is in a red zone."""

WINDOW_BITS = 32
"""A window is 2**32 bytes wide, and aligned to its size."""

WINDOWS = {"shared": OWN + 0x7E00_0000_0000, "local": OWN + 0x7D00_0000_0000, "param": OWN + 0x7C00_0000_0000}
"""Generic address of the first byte of each space."""

CODE = OWN + 0x7B00_0000_0000
"""Address of offset 0 of the code, at which no function begins. Code can be called, but neither read nor written."""

BASES = {**WINDOWS, "const": HEAP}
"""Generic address of address 0 of each space. Constants are in the heap; their own addresses are positions in it."""

_LARGEST_RED_ZONE = 1 << 20


class Range(NamedTuple):
    """Bytes of the heap that may be accessed, as positions from the heap's first byte.

    ``base`` is the aligned position from which offsets in messages count, ``writeable`` whether all of the range may be
    written.
    """

    lo: int
    hi: int
    base: int
    writeable: bool
    name: str


def round_up(number: int, multiple: int = ALIGNMENT) -> int:
    """Return the next multiple.

    Examples
    --------
    >>> round_up(0), round_up(1), round_up(256), round_up(13, 4)
    (0, 256, 256, 16)
    """
    return -(-number // multiple) * multiple


def red_zone(bytes_before: int) -> int:
    """Return the size of the red zone after an array.

    It is as large as the array, within limits, so that a row too far falls into it.

    Examples
    --------
    >>> red_zone(4), red_zone(100_000), red_zone(1 << 30)
    (65536, 100096, 1048576)
    """
    return min(max(round_up(bytes_before), 1 << 16), _LARGEST_RED_ZONE)
