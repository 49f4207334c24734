# SPDX-License-Identifier: MIT
"""Packing of elements into registers: the first element is in the least significant bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, ShapeError
from wmma_emu.formats.rounding import Bits
from wmma_emu.formats.spec import Format


def slot_bits(fmt: Format) -> int:
    """Return the bits that an element occupies in a register: its width, but a byte for the six-bit formats.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> slot_bits(format_of("e3m2")), slot_bits(format_of("s4"))
    (8, 4)
    """
    return 8 if fmt.bits == 6 else fmt.bits


def register_dtype(fmt: Format) -> np.dtype[np.unsignedinteger[Any]]:
    """Return uint32, or uint64 for the register pairs of f64."""
    return np.dtype(np.uint64 if fmt.bits == 64 else np.uint32)


def elements_per_register(fmt: Format) -> int:
    """Return the number of elements of a format in one register."""
    return 8 * register_dtype(fmt).itemsize // slot_bits(fmt)


def pack_words(elements: Bits, fmt: Format) -> Bits:
    """Pack elements into registers along the first axis.

    Elements of shape (num_elements, ...) fill whole registers of shape (num_registers, ...), uint64 for f64. Element e
    of a register is in its bits [e * width, (e + 1) * width).

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> [hex(w) for w in pack_words(np.array([0x3C00, 0x4000], np.uint16), format_of("f16"))]
    ['0x40003c00']
    """
    count = elements_per_register(fmt)
    if elements.dtype.kind != "u" or elements.ndim == 0 or elements.shape[0] % count:
        raise ArgumentError(
            f"{count} elements of {fmt} fill a register: expected an unsigned array whose first axis is a "
            f"multiple of {count}, not {elements.dtype} of shape {elements.shape}"
        )
    if elements.dtype.itemsize * 8 > fmt.bits and (elements >> elements.dtype.type(fmt.bits)).any():
        raise ArgumentValueError(f"elements have bits set outside the {fmt.bits} of {fmt}")
    dtype = register_dtype(fmt)
    parts = elements.reshape(elements.shape[0] // count, count, *elements.shape[1:]).astype(dtype)
    words: Bits = parts[:, 0].copy()
    for slot in range(1, count):
        words |= parts[:, slot] << dtype.type(slot * slot_bits(fmt))
    return words


def unpack_words(registers: Bits, fmt: Format) -> Bits:
    """Unpack registers into elements along the first axis: the inverse of `pack_words`.

    The two bits above a six-bit element are dropped.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> unpack_words(np.array([0x76543210], np.uint32), format_of("u4"))
    array([0, 1, 2, 3, 4, 5, 6, 7], dtype=uint8)
    """
    dtype = register_dtype(fmt)
    if registers.dtype != dtype or registers.ndim == 0:
        raise ArgumentError(
            f"registers of {fmt} are {dtype} with the registers as the first axis, "
            f"not {registers.dtype} of shape {registers.shape}"
        )
    count = elements_per_register(fmt)
    rest = registers.shape[1:]
    shifts = (np.arange(count, dtype=dtype) * dtype.type(slot_bits(fmt))).reshape(-1, *(1 for _ in rest))
    parts = (registers[:, np.newaxis] >> shifts) & dtype.type(fmt.mask)
    elements: Bits = parts.reshape(registers.shape[0] * count, *rest).astype(fmt.storage)
    return elements


def unpack_axis(packed: NDArray[np.uint8], fmt: Format, axis: int, name: str = "A") -> Bits:
    """Unpack bytes along one of a matrix's two axes; the lowest element is in the lowest bits.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> unpack_axis(np.array([[0x21], [0x43]], np.uint8), format_of("u4"), -2)
    array([[1],
           [2],
           [3],
           [4]], dtype=uint8)
    """
    if axis not in (-1, -2) or packed.ndim < -axis:
        raise ShapeError(f"{name} is packed along axis {axis}, one of the last two, but has the shape {packed.shape}")
    count = 8 // fmt.bits
    shifts = np.arange(count, dtype=np.uint8) * np.uint8(fmt.bits)
    k_last = np.moveaxis(packed, axis, -1)
    parts = (k_last[..., np.newaxis] >> shifts) & np.uint8(fmt.mask)
    elements = parts.reshape(*k_last.shape[:-1], k_last.shape[-1] * count)
    return np.moveaxis(elements, -1, axis).copy()
