# SPDX-License-Identifier: MIT
"""How wide are PTX types, and how do values of packed types come apart?"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNSIGNED", "join_halves", "signed", "split_halves", "unsigned_of", "width_of"]

Array = NDArray[Any]

UNSIGNED: dict[int, np.dtype[Any]] = {bits: np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)}
"""The dtype of a register's bits, by its width."""

_SIGNED = {bits: np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)}


def width_of(name: str) -> int:
    """Bits of a type; 1 for a predicate, 32 for two halves.

    Examples
    --------
    >>> [width_of(x) for x in ("u16", "f16x2", "bf16", "pred", "b64")]
    [16, 32, 16, 1, 64]
    """
    if name in ("pred", "cc"):
        return 1
    element, _, count = name.partition("x")
    digits = re.sub(r"\D", "", element)
    return int(digits) * int(count or 1)


def unsigned_of(name: str) -> np.dtype[Any]:
    """Dtype of a type's bits; bool for a predicate.

    Examples
    --------
    >>> unsigned_of("s32"), unsigned_of("pred")
    (dtype('uint32'), dtype('bool'))
    """
    return np.dtype(bool) if width_of(name) == 1 else UNSIGNED[width_of(name)]


def signed(bits: Array) -> Array:
    """Take bits as two's complement."""
    return bits.view(_SIGNED[bits.dtype.itemsize * 8])


def split_halves(word: Array) -> Array:
    """Take words of 32 bits apart, along an axis more: the lower half first.

    Examples
    --------
    >>> split_halves(np.array([0x00010002], np.uint32))
    array([[2, 1]], dtype=uint16)
    """
    return word[..., None].view(np.uint16)


def join_halves(halves: Array) -> Array:
    """Put words together again.

    Examples
    --------
    >>> hex(join_halves(np.array([[2, 1]], np.uint16))[0])
    '0x10002'
    """
    if not halves.flags.c_contiguous:
        halves = np.ascontiguousarray(halves)
    return halves.view(np.uint32)[..., 0]
