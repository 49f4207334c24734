# SPDX-License-Identifier: MIT
"""How much memory of the host a launch may use, decided before any of it is taken."""

from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.memory.places import round_up

_STAMPS = 10

DEFAULT_LIMIT = 4 << 30
"""Bytes that a launch may use: copies of the arrays, a chunk's shared and local memory, and what is kept on them."""


def require_within(limit: int, needed: int, what: str) -> None:
    """Refuse what would take more memory than a launch may use.

    Examples
    --------
    >>> require_within(1 << 20, 1 << 40, "shared memory of 64 blocks")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.LaunchLimitError: shared memory of 64 blocks needs 1099511627776 bytes of memory, the limit of this
    launch is 1048576: raise max_bytes, or pass smaller arrays or copies of what is needed
    """
    if needed > limit:
        raise LaunchLimitError(
            f"{what} needs {needed} bytes of memory, the limit of this launch is {limit}: "
            "raise max_bytes, or pass smaller arrays or copies of what is needed"
        )


def wave_bytes(shared: int, local: int, blocks: int, warps: int) -> int:
    """Bytes that shared memory (of a block), local memory (of a thread) and what is kept on them take, at most.

    Examples
    --------
    >>> chunk_bytes(1024, 0, 1, 1), chunk_bytes(1024, 16, 2, 4)
    (15360, 63488)
    """
    # Bytes; which of their bits are written, and where undefined ones come from, two bytes for a byte; of shared memory
    # what is on its way; and stamps of writes and of reads, at worst four bytes for a byte, with marks on both.
    # Those of global memory are counted as they are touched (`LaunchRaces`).
    return blocks * (round_up(shared, 32) * (5 + _STAMPS) + warps * 32 * round_up(local, 32) * 4)
