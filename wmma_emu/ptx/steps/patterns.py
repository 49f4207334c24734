# SPDX-License-Identifier: MIT
"""Register bits as arrays: their dtype, their signed view, and the halves of packed words."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits

Array = NDArray[Any]

UNSIGNED: dict[int, np.dtype[Any]] = {bits: np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)}
"""The dtype of a register's bits, by width."""

_SIGNED = {bits: np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)}


def unsigned_of(name: str) -> np.dtype[Any]:
    """Return the dtype of a type's bits; bool for a predicate and for the carry flag.

    Examples
    --------
    >>> unsigned_of("s32"), unsigned_of("pred")
    (dtype('uint32'), dtype('bool'))
    """
    return dtype_of_bits(1 if name == "cc" else bits_of_type(name))


def unchanged(bits: Array) -> Array:
    """Return the bits themselves."""
    return bits


def signed(bits: Array) -> Array:
    """View bits as two's complement integers."""
    return bits.view(_SIGNED[bits.dtype.itemsize * 8])


def split_halves(word: Array) -> Array:
    """Split words along a new last axis, the lower half first.

    Examples
    --------
    >>> split_halves(np.array([0x00010002], np.uint32))
    array([[2, 1]], dtype=uint16)
    """
    return _split(word, 2)


def _split(word: Array, count: int) -> Array:
    return word[..., None].view(UNSIGNED[word.dtype.itemsize * 8 // count])


def join_halves(halves: Array) -> Array:
    """Join halves to words; the inverse of `split_halves`.

    Examples
    --------
    >>> hex(join_halves(np.array([[2, 1]], np.uint16))[0])
    '0x10002'
    """
    return _join(halves, 2)


def _join(parts: Array, count: int) -> Array:
    if not parts.flags.c_contiguous:
        parts = np.ascontiguousarray(parts)
    return parts.view(UNSIGNED[parts.dtype.itemsize * 8 * count])[..., 0]


def per_element(kind: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function of patterns unchanged, or applied to each element of a packed type, "f16x2" or "u8x4"."""
    _, packed, number = kind.partition("x")
    if not packed:
        return compute
    count = int(number)
    return lambda *words: _join(compute(*(_split(word, count) for word in words)), count)
