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


def signed(bits: Array) -> Array:
    """View bits as two's complement integers."""
    return bits.view(_SIGNED[bits.dtype.itemsize * 8])


def split_halves(word: Array) -> Array:
    """Split 32-bit words along a new last axis, the lower half first.

    Examples
    --------
    >>> split_halves(np.array([0x00010002], np.uint32))
    array([[2, 1]], dtype=uint16)
    """
    return word[..., None].view(np.uint16)


def join_halves(halves: Array) -> Array:
    """Join halves to 32-bit words; the inverse of `split_halves`.

    Examples
    --------
    >>> hex(join_halves(np.array([[2, 1]], np.uint16))[0])
    '0x10002'
    """
    if not halves.flags.c_contiguous:
        halves = np.ascontiguousarray(halves)
    return halves.view(np.uint32)[..., 0]


def per_element(kind: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function of 16-bit patterns unchanged, or applied to both halves for a packed type."""
    if not kind.endswith("x2"):
        return compute
    return lambda *words: join_halves(compute(*(split_halves(word) for word in words)))
