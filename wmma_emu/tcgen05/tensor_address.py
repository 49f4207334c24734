# SPDX-License-Identifier: MIT
"""Where is a word of tensor memory: addresses of lane and column, and arrays of indices, none of them outside."""

from typing import Any

import numpy as np

from wmma_emu.errors import ArgumentError, OutOfBoundsError, shorten
from wmma_emu.formats.arrays import integer_of, is_masked
from wmma_emu.layouts.spec import Ints

LANES = 128
"""Lanes of tensor memory; 32 for each warp of a warpgroup."""

COLUMNS = 512
"""Columns of 32 bits."""

_FARTHEST = 1 << 62
"""Indices beyond this stand for any that are far outside."""


def address(lane: int, column: int) -> int:
    """Return the address of a word of tensor memory: the lane in bits 31 to 16, the column in bits 15 to 0.

    Raises
    ------
    OutOfBoundsError
        If the lane or column does not exist; indices do not wrap.
    FragmentMismatchError
        If a value is not an integer.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.2.2.

    Examples
    --------
    >>> hex(address(lane=32, column=256))
    '0x200100'
    """
    return _within("lane", lane, LANES) << 16 | _within("column", column, COLUMNS)


def lane_of(where: int) -> int:
    """Return the lane of an address; raises as `address` does.

    Examples
    --------
    >>> lane_of(0x200100)
    32
    """
    return lane_and_column(where)[0]


def column_of(where: int) -> int:
    """Return the column of an address; raises as `address` does.

    Examples
    --------
    >>> column_of(0x200100)
    256
    """
    return lane_and_column(where)[1]


def _within(name: str, given: object, stop: int) -> int:
    index = integer_of(given)
    if index is None:
        raise ArgumentError(f"the {name} of an address is an integer, 0 to {stop - 1}, not {shorten(given)}")
    if not 0 <= index < stop:
        raise OutOfBoundsError(
            f"there is no {name} {shorten(index)} of tensor memory; it has {stop}, 0 to {stop - 1}, and nothing wraps"
        )
    return index


def lane_and_column(where: object) -> tuple[int, int]:
    """Return both parts of an address; raises as `address` does."""
    word = integer_of(where)
    if word is None:
        raise ArgumentError(f"an address of tensor memory is an integer, lane << 16 | column, not {shorten(where)}")
    return _within("lane", word >> 16, LANES), _within("column", word & 0xFFFF, COLUMNS)


def indices(name: str, given: Any) -> Ints:
    """Read an array of indices, of any shape; numbers that are far outside stay outside."""
    try:
        found = np.asarray(given)
    except ValueError:  # rows of unequal length
        found = np.asarray(None)
    if found.dtype == object and found.size and all(integer_of(x) is not None for x in found.flat):
        found = np.asarray(np.clip(found, -_FARTHEST, _FARTHEST), np.int64)
    if found.dtype.kind not in "iu" or is_masked(given):
        raise ArgumentError(f"{name} of tensor memory are integers, not {shorten(given)}")
    if found.dtype == np.uint64:  # so that no large number turns negative
        found = np.minimum(found, np.uint64(_FARTHEST))
    return found.astype(np.int64)
