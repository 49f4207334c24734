# SPDX-License-Identifier: MIT
"""Bits of registers: the dtype that holds them, the same bits with a sign, and the halves of packed words."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits

Array = NDArray[Any]

UNSIGNED: dict[int, np.dtype[Any]] = {bits: np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)}
"""The dtype of a register's bits, by its width."""

_SIGNED = {bits: np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)}


def unsigned_of(name: str) -> np.dtype[Any]:
    """Dtype of a type's bits; bool for a predicate and for the carry flag.

    Examples
    --------
    >>> unsigned_of("s32"), unsigned_of("pred")
    (dtype('uint32'), dtype('bool'))
    """
    return dtype_of_bits(1 if name == "cc" else bits_of_type(name))


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


def per_element(kind: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """Take a function of 16-bit patterns for a type: as it is, or for both halves of words."""
    if not kind.endswith("x2"):
        return compute
    return lambda *words: join_halves(compute(*(split_halves(word) for word in words)))
