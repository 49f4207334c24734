# SPDX-License-Identifier: MIT
"""Conversion between elements and registers that hold them in wider containers."""

from wmma_emu.errors import ArgumentValueError
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.packing import pack_words, slot_bits, unpack_words
from wmma_emu.instructions.spec import Container

_BYTE = format_of("u8")


def pack_containers(elements: Bits, fmt: Format, container: Container) -> Bits:
    """Pack elements into registers along the first axis, each at its position in its container, with zero padding.

    Elements are patterns of the format, (num_elements, ...); the result is uint32 (uint64 for f64) of shape
    (num_registers, ...).

    Examples
    --------
    >>> import numpy as np
    >>> elements = np.array([0xF, 0x1, 0x0, 0x7], np.uint8)
    >>> hex(pack_containers(elements, format_of("e2m1"), Container(8, 2))[0])     # a nibble in bits 5 to 2
    '0x1c00043c'
    """
    if container == (slot_bits(fmt), 0):
        return pack_words(elements, fmt)
    if (elements & ~elements.dtype.type(fmt.mask)).any():
        raise ArgumentValueError(f"elements have bits set outside the {fmt.bits} of {fmt}")
    return pack_words(elements << elements.dtype.type(container.shift), _BYTE)


def unpack_containers(registers: Bits, fmt: Format, container: Container) -> Bits:
    """Unpack registers into elements along the first axis: the inverse of `pack_containers`, padding ignored.

    Examples
    --------
    >>> import numpy as np
    >>> unpack_containers(np.array([0x1C00043C | 0xC3C3C3C3], np.uint32), format_of("e2m1"), Container(8, 2))
    array([15,  1,  0,  7], dtype=uint8)
    """
    if container == (slot_bits(fmt), 0):
        return unpack_words(registers, fmt)
    elements = unpack_words(registers, _BYTE)
    found: Bits = (elements >> elements.dtype.type(container.shift) & elements.dtype.type(fmt.mask)).astype(fmt.storage)
    return found
