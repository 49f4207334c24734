# SPDX-License-Identifier: MIT
"""Whether this machine can hold what is asked for: said before it is tried, and in numbers."""

import os
from functools import cache
from math import prod

from wmma_emu.errors import MemoryLimitError

_GIB = 1 << 30
_UNKNOWN = 1 << 47
"""Bytes where the system does not say how many it has: what a process can address."""


@cache
def memory_of_machine() -> int:
    """Bytes of memory that this machine has.

    Examples
    --------
    >>> memory_of_machine() > 1 << 20
    True
    """
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def require_room(shape: tuple[int, ...], item_bytes: int, what: str) -> None:
    """Refuse an array that is larger than all memory, such as a copy of what `numpy.broadcast_to` stretched.

    Examples
    --------
    >>> require_room((16, 16), 2, "A")
    >>> try:
    ...     require_room((1 << 50, 16), 2, "A")
    ... except MemoryLimitError as error:
    ...     print(str(error).partition(", and")[0])
    A of shape (1125899906842624, 16) takes 33554432 GiB
    """
    needed, there = prod(shape) * item_bytes, memory_of_machine()
    if needed > there:
        raise MemoryLimitError(
            f"{what} of shape {shape} takes {-(-needed // _GIB)} GiB, and this machine has {there / _GIB:.3g} GiB of "
            "memory: take a part of it at a time"
        )
