# SPDX-License-Identifier: MIT
"""The check that an array fits in this machine's memory, made before it is allocated."""

import os
from functools import cache
from math import prod

from wmma_emu.errors import MemoryLimitError, shorten

_GIB = 1 << 30
_UNKNOWN = 1 << 47
"""The memory in bytes assumed if the system does not report it: the address space of a process."""


@cache
def memory_of_machine() -> int:
    """Return the memory of this machine in bytes.

    Examples
    --------
    >>> memory_of_machine() > 1 << 20
    True
    """
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def require_memory(shape: tuple[int, ...], item_bytes: int, what: str) -> None:
    """Reject an array that is larger than the memory, such as a copy of a result of `numpy.broadcast_to`.

    Examples
    --------
    >>> require_memory((16, 16), 2, "A")
    >>> try:
    ...     require_memory((1 << 50, 16), 2, "A")
    ... except MemoryLimitError as error:
    ...     print(str(error).partition(", and")[0])
    A of shape (1125899906842624, 16) takes 33554432 GiB
    """
    needed, available = prod(shape) * item_bytes, memory_of_machine()
    if needed > available:
        raise MemoryLimitError(
            f"{what} of shape {shorten(shape)} takes {shorten(-(-needed // _GIB))} GiB, and this machine has "
            f"{available / _GIB:.3g} GiB of memory: process it in parts"
        )
