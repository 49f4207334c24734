# SPDX-License-Identifier: MIT
"""What does the 64-bit matrix descriptor of `wgmma` say: where a matrix begins, its offsets, its swizzle."""

from dataclasses import dataclass
from typing import SupportsIndex

from wmma_emu.errors import AlignmentError, ArgumentError, OptionError, OutOfBoundsError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, SWIZZLES

__all__ = ["WINDOW", "MatrixDescriptor"]

WINDOW = 1 << 18
"""Bytes that a descriptor can address: 14 bits, in units of 16 bytes."""

_FIELDS = {"start": 0, "leading": 16, "stride": 32}
"""Lowest bit of every address and offset, 14 bits each."""

_RESERVED = (0b11 << 14) | (0b11 << 30) | (0b111 << 46) | (0x3FF << 52)


@dataclass(frozen=True, slots=True)
class MatrixDescriptor:
    """What tells `wgmma` where a matrix lies in shared memory: 64 bits.

    Parameters
    ----------
    start : int
        Address of the first element in bytes, a multiple of 16.
    leading, stride : int
        Leading dimension and stride dimension byte offset, multiples of 16. What they mean depends on the swizzle and
        on what is contiguous; see `wmma_emu.layouts.shared_memory_table.STEPS`.
    swizzle : {0, 32, 64, 128}
        Bytes of a line of the swizzle's pattern, 0 for none.
    base_offset : int
        Bits 9 to 7 of the address where the swizzle's pattern begins; 0 where that is aligned to the pattern.

    Raises
    ------
    AlignmentError
        For bytes that are no multiple of 16.
    OutOfBoundsError
        For addresses and offsets that 18 bits do not hold.
    UnsupportedInstructionError
        For a swizzle or a base offset that does not exist.

    Notes
    -----
    PTX ISA 9.1, section 9.7.15.5.1.2.2.

    Examples
    --------
    >>> d = MatrixDescriptor(start=1024, leading=16, stride=1024, swizzle=128)
    >>> hex(d.encode())
    '0x4000004000010040'
    >>> MatrixDescriptor.decode(0x4000004000010040) == d
    True
    """

    start: int
    leading: int
    stride: int
    swizzle: int = 0
    base_offset: int = 0

    def __post_init__(self) -> None:
        for name in ("start", "leading", "stride", "swizzle", "base_offset"):
            given = integer_of(getattr(self, name))
            if given is None:
                raise ArgumentError(
                    f"{name} of a matrix descriptor is an integer, not {shorten(getattr(self, name))}"
                )
            object.__setattr__(self, name, given)
        for name in _FIELDS:
            given = getattr(self, name)
            if given % CHUNK_BYTES:
                nearest = (given + CHUNK_BYTES // 2) // CHUNK_BYTES * CHUNK_BYTES
                raise AlignmentError(
                    f"{name} is {shorten(given)} bytes; a matrix descriptor holds multiples of {CHUNK_BYTES}, the "
                    f"nearest is {shorten(nearest)}"
                )
            if not 0 <= given < WINDOW:
                raise OutOfBoundsError(
                    f"{name} is {shorten(given)} bytes; a matrix descriptor holds 0 to {WINDOW - CHUNK_BYTES}"
                )
        if self.swizzle not in SWIZZLES:
            raise OptionError(
                f"there is no swizzle of {shorten(self.swizzle)} bytes; the modes are 0 (none), 32, 64 and 128"
            )
        if not 0 <= self.base_offset < 8 or (self.base_offset and not self.swizzle):
            raise OptionError(
                f"the base offset is {shorten(self.base_offset)}; legal are 0 to 7 with a swizzle, 0 without one"
            )

    def encode(self) -> int:
        """Write the 64 bits."""
        word = sum(getattr(self, name) >> 4 << bit for name, bit in _FIELDS.items())
        return int(word) | self.base_offset << 49 | SWIZZLES[self.swizzle].code << 62

    @classmethod
    def decode(cls, descriptor: SupportsIndex) -> "MatrixDescriptor":
        """Read the 64 bits.

        Raises
        ------
        FragmentMismatchError
            For what is no integer of 64 bits.
        UnsupportedInstructionError
            For reserved bits that are set: what a chip does with them is not known.
        """
        word = integer_of(descriptor)
        if word is None or not 0 <= word < 1 << 64:
            raise ArgumentError(f"a matrix descriptor is an integer of 64 bits, not {shorten(descriptor)}")
        if word & _RESERVED:
            wrong = ", ".join(str(bit) for bit in range(64) if (word & _RESERVED) >> bit & 1)
            raise OptionError(
                f"the matrix descriptor {word:#018x} has reserved bits set: {wrong}; reserved are 14, 15, 30, 31, "
                "46 to 48 and 52 to 61. Addresses and offsets are written without their low four bits"
            )
        start, leading, stride = (CHUNK_BYTES * (word >> bit & 0x3FFF) for bit in _FIELDS.values())
        swizzle = next(row.width for row in SWIZZLES.values() if row.code == word >> 62)
        return cls(start, leading, stride, swizzle, word >> 49 & 7)
