# SPDX-License-Identifier: MIT
"""Uninitialised bytes that may be the padding of a structure, according to the written bytes around them."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

UNIT = 16
"""The largest alignment of a scalar or vector in bytes: padding follows data in the same 16 bytes."""

ELSEWHERE, ALONE, PADDING = 0, 1, 2
"""Classes of uninitialised bytes: elsewhere, where no padding can be; in 16 bytes that are all uninitialised; where
padding may be."""


@cache
def _paddings() -> NDArray[np.uint16]:
    """Return, for each pattern of written bytes of an aligned unit of 16, the other bytes that may be padding.

    A bit stands for each byte. Padding aligns the next member, or the size of the structure: it follows data, ends at a
    multiple of a power of two, and is shorter than that.
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


def padding_class_of(units: NDArray[np.uint16], lost: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Classify uninitialised bytes: `ELSEWHERE`, `ALONE` or `PADDING`.

    ``units`` have a bit for each written byte of the aligned units of 16 that contain them, the lowest for the first
    byte; ``lost`` are the bytes to classify.

    Examples
    --------
    A structure of a double and an int has padding after the int; the third of four floats is not padding, the
    fourth may be.

    >>> units = np.array([0x0FFF, 0xF0FF, 0x0FFF, 0], np.uint16)
    >>> padding_class_of(units, np.array([0xF000, 0x0F00, 0xF000, 0x000F], np.uint16)).tolist()
    [2, 0, 2, 1]
    """
    is_padding = (lost & ~_paddings()[units]) == 0
    return np.where(is_padding, np.uint8(PADDING), np.where(units == 0, np.uint8(ALONE), np.uint8(ELSEWHERE)))


def units_of_bytes(written: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """Pack a mask of the written bytes of units, (..., 16), into a number each.

    Examples
    --------
    >>> hex(units_of_bytes(np.arange(16) < 12)[()])
    '0xfff'
    """
    packed = np.packbits(written, axis=-1, bitorder="little")
    return np.asarray(np.ascontiguousarray(packed).view("<u2")[..., 0])
