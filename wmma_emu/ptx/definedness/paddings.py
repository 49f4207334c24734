# SPDX-License-Identifier: MIT
"""Which unwritten bytes may be the padding of a structure, by where written ones stand around them."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

UNIT = 16
"""Bytes to which the most aligned scalar or vector is aligned: padding begins behind data that lie in the same 16."""

ELSEWHERE, ALONE, PADDING = 0, 1, 2
"""How unwritten bytes stand: among data, where no padding is; in 16 that are all unwritten; where padding may be."""


@cache
def _paddings() -> NDArray[np.uint16]:
    """From the written bytes of an aligned unit of 16, a bit each, to those of the others that may be padding.

    Padding is what brings the next member to its alignment, or the structure to that of its members: it begins behind
    data, ends at a multiple of a power of two, and is shorter than that.
    """
    written = np.arange(1 << UNIT, dtype=np.uint32)
    found = np.zeros(1 << UNIT, np.uint32)
    for begin in range(1, UNIT):
        for end in range(begin + 1, UNIT + 1):
            if end - begin >= end & -end:
                continue
            run = (1 << end) - (1 << begin)
            edges = 1 << (begin - 1) | (1 << end) % (1 << UNIT)
            is_run = (written & run == 0) & (written & edges == edges)
            found[is_run] |= np.uint32(run)
    return found.astype(np.uint16)


def standing(units: NDArray[np.uint16], lost: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Say how unwritten bytes stand: `ELSEWHERE`, `ALONE` or `PADDING`.

    ``units`` have a bit for each written byte of the aligned units of 16 that they lie in, the lowest for the first;
    ``lost`` those that are asked for.

    Examples
    --------
    A structure of a double and an int has padding behind the int; the third of four floats is not padding, the
    fourth may be.

    >>> units = np.array([0x0FFF, 0xF0FF, 0x0FFF, 0], np.uint16)
    >>> standing(units, np.array([0xF000, 0x0F00, 0xF000, 0x000F], np.uint16)).tolist()
    [2, 0, 2, 1]
    """
    is_padding = (lost & ~_paddings()[units]) == 0
    return np.where(is_padding, np.uint8(PADDING), np.where(units == 0, np.uint8(ALONE), np.uint8(ELSEWHERE)))


def units_of_bytes(written: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """Pack which bytes of units are written, (..., 16), to a number each.

    Examples
    --------
    >>> hex(units_of_bytes(np.arange(16) < 12)[()])
    '0xfff'
    """
    packed = np.packbits(written, axis=-1, bitorder="little")
    return np.asarray(np.ascontiguousarray(packed).view("<u2")[..., 0])
