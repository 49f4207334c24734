# SPDX-License-Identifier: MIT
"""The memory of the host that a launch may use, checked before any of it is allocated."""

from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.memory.address_map import round_up

_STAMPS = 10

DEFAULT_LIMIT = 4 << 30
"""Bytes that a launch may use: copies of the arrays, a wave's shared and local memory, and the records of the checks.
"""


def require_within(limit: int, needed: int, what: str) -> None:
    """Refuse to use more memory than the launch may.

    Examples
    --------
    >>> require_within(1 << 20, 1 << 40, "shared memory of 64 blocks")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.LaunchLimitError: shared memory of 64 blocks needs 1099511627776 bytes of memory, but the limit of
    this launch is 1048576: raise max_bytes, or pass smaller arrays or copies of the parts that are needed
    """
    if needed > limit:
        raise LaunchLimitError(
            f"{what} needs {needed} bytes of memory, but the limit of this launch is {limit}: "
            "raise max_bytes, or pass smaller arrays or copies of the parts that are needed"
        )


def wave_bytes(shared: int, local: int, blocks: int, warps: int) -> int:
    """Return the largest number of bytes that a wave may need.

    ``shared`` is the shared memory of a block, ``local`` the local memory of a thread; their records are included.

    Examples
    --------
    >>> wave_bytes(1024, 0, 1, 1), wave_bytes(1024, 16, 2, 4)
    (15360, 63488)
    """
    # For each byte: the byte itself; the mask of its written bits, and the origin of undefined ones, two bytes; for
    # shared memory also a mark for pending copies, and the stamps of writes and of reads, at worst four bytes each,
    # with marks on both. The stamps of global memory are counted as they are used (`LaunchRaces`).
    return blocks * (round_up(shared, 32) * (5 + _STAMPS) + warps * 32 * round_up(local, 32) * 4)
