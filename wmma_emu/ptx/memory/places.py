# SPDX-License-Identifier: MIT
"""Where things lie in the 64-bit address space, and which space a generic address belongs to.

No address is one of the host: the heap, and the windows through which generic addresses see shared memory, local
memory and kernel parameters, have places of their own, as the windows of a GPU have. The numbers are this
project's.
"""

from typing import NamedTuple

ALIGNMENT = 256
"""Bytes to which an allocation is aligned, as cudaMalloc's are."""

HEAP = 0x7F00_0000_0000
"""Address of the heap's first byte: a red zone."""

WINDOW_BITS = 32
"""A window is 2**32 bytes wide, and aligned to that."""

WINDOWS = {"shared": 0x7E00_0000_0000, "local": 0x7D00_0000_0000, "param": 0x7C00_0000_0000}
"""Generic address of the first byte of a space."""

BASES = {**WINDOWS, "const": HEAP}
"""Generic address of address 0 of a space. Constants lie in the heap; their own addresses are positions in it."""

_LARGEST_RED_ZONE = 1 << 20


class Range(NamedTuple):
    """Bytes of the heap that may be accessed: positions counted from the heap's first byte.

    ``base`` is the aligned position from which the kernel counts, ``writeable`` whether all of it may be written.
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
    """Size of the red zone behind an array: as large as the array, within reason: a row too far falls into it.

    Examples
    --------
    >>> red_zone(4), red_zone(100_000), red_zone(1 << 30)
    (65536, 100096, 1048576)
    """
    return min(max(round_up(bytes_before), 1 << 16), _LARGEST_RED_ZONE)
