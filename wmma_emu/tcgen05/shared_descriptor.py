# SPDX-License-Identifier: MIT
"""What does the 64-bit shared-memory descriptor of tcgen05 say: where a matrix begins, its strides, its swizzle."""

from dataclasses import dataclass, replace
from typing import SupportsIndex

import numpy as np

from wmma_emu.errors import (
    AlignmentError,
    ArgumentError,
    OptionError,
    OutOfBoundsError,
    UnsupportedInstructionError,
    shorten,
)
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Arch
from wmma_emu.layouts.matrix_descriptor import WINDOW
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES
from wmma_emu.tcgen05.shared_table import ABSOLUTE_LEADING, ATOMS_32B, SWIZZLES, Mode

__all__ = ["FIELDS", "SharedMemoryDescriptor", "descriptor_on"]

FIELDS = {"start": (0, 14), "leading": (16, 14), "stride": (32, 14), "base_offset": (49, 3),
          "leading_absolute": (52, 1), "swizzle": (61, 3)}  # fmt: skip
"""Lowest bit and bits of every field."""

_ADDRESSES = ("start", "leading", "stride")
"""Fields in units of 16 bytes."""

_FIXED, _FIXED_MASK = 0b001 << 46, 0b111 << 46
_RESERVED = 0b11 << 14 | 0b11 << 30 | 0xFF << 53


@dataclass(frozen=True, slots=True)
class SharedMemoryDescriptor:
    """What tells tcgen05.mma and tcgen05.cp where a matrix lies in shared memory: 64 bits.

    Parameters
    ----------
    start : int
        Address of the first element in bytes, a multiple of 16; bits 13 to 0.
    leading : int
        Leading dimension: a byte offset, or with ``leading_absolute`` the address where lines go on; a multiple of
        16; bits 29 to 16. What the offsets mean depends on the swizzle and on what is contiguous; see
        `wmma_emu.tcgen05.shared_table.STEPS_OF_TENSOR`.
    stride : int
        Stride dimension byte offset, a multiple of 16; bits 45 to 32.
    swizzle : {0, 32, 64, 128, "128B with 32B atoms"}
        Bytes of a line of the swizzle's pattern, 0 for none; bits 63 to 61.
    base_offset : int
        Bits 9 to 7 of the address where the swizzle's pattern begins; 0 where that is aligned to the pattern; bits 51
        to 49.
    leading_absolute : bool
        Bit 52. It exists for K-major operands of 48 bytes of k (sm_103), with the swizzle of 128 bytes.

    Raises
    ------
    AlignmentError
        For bytes that are no multiple of 16.
    OutOfBoundsError
        For addresses and offsets that 18 bits do not hold.
    UnsupportedInstructionError
        For a swizzle or a base offset that does not exist, and for an absolute address without its swizzle.
    FragmentMismatchError
        For what is no integer.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.4.1 (fields) and 9.7.16.3.1.2 (absolute addresses). Bits 48 to 46 are 0b001, which a
    descriptor of `wgmma` has not.

    Examples
    --------
    >>> d = SharedMemoryDescriptor(start=1024, leading=16, stride=1024, swizzle=128)
    >>> hex(d.encode())
    '0x4000404000010040'
    >>> SharedMemoryDescriptor.decode(0x4000404000010040) == d
    True
    >>> SharedMemoryDescriptor.decode(0x4000004000010040)
    Traceback (most recent call last):
        ...
    wmma_emu.errors.OptionError: the shared-memory descriptor 0x4000004000010040 has 0b000 in bits 48
    to 46, which are 0b001; a descriptor of wgmma is another thing
    """

    start: int
    leading: int
    stride: int
    swizzle: Mode = 0
    base_offset: int = 0
    leading_absolute: bool = False

    def __post_init__(self) -> None:
        for name in (*_ADDRESSES, "base_offset"):
            given = integer_of(getattr(self, name))
            if given is None:
                raise ArgumentError(
                    f"{name} of a shared-memory descriptor is an integer, not {shorten(getattr(self, name))}"
                )
            object.__setattr__(self, name, given)
        for name in _ADDRESSES:
            _check_bytes(name, getattr(self, name))
        object.__setattr__(self, "swizzle", _mode(self.swizzle))
        if not 0 <= self.base_offset < 8 or (self.base_offset and not self.swizzle):
            raise OptionError(
                f"the base offset is {shorten(self.base_offset)}; legal are 0 to 7 with a swizzle, 0 without one"
            )
        absolute = self.leading_absolute
        if not isinstance(absolute, bool | np.bool_) and integer_of(absolute) not in (0, 1):
            raise OptionError(
                f"leading_absolute is {shorten(absolute)}; legal are False (an offset) and True (an address)"
            )
        object.__setattr__(self, "leading_absolute", bool(absolute))
        if self.leading_absolute and (self.swizzle != 128 or self.base_offset):
            raise OptionError(
                f"a leading dimension that is an absolute address has swizzle 128 and base offset 0, not swizzle "
                f"{self.swizzle} and base offset {self.base_offset}"
            )

    def encode(self) -> int:
        """Write the 64 bits."""
        word = _FIXED | SWIZZLES[self.swizzle].code << FIELDS["swizzle"][0]
        for name in _ADDRESSES:
            word |= getattr(self, name) // CHUNK_BYTES << FIELDS[name][0]
        return (
            word | self.base_offset << FIELDS["base_offset"][0] | self.leading_absolute << FIELDS["leading_absolute"][0]
        )

    def moved(self, by: int) -> "SharedMemoryDescriptor":
        """Return the descriptor of what lies so many bytes further on, as kernels go from one step of k to the next.

        Parameters
        ----------
        by : int
            A multiple of 16. CuTe's descriptor iterators count these.

        Raises
        ------
        FragmentMismatchError, AlignmentError, OutOfBoundsError
            As the class, of the new start.

        Examples
        --------
        >>> hex(SharedMemoryDescriptor(start=1024, leading=16, stride=1024, swizzle=128).moved(32).encode())
        '0x4000404000010042'
        """
        given = integer_of(by)
        if given is None:
            raise ArgumentError(f"a descriptor is moved by an integer of bytes, not {shorten(by)}")
        return replace(self, start=self.start + given)

    @classmethod
    def decode(cls, descriptor: SupportsIndex) -> "SharedMemoryDescriptor":
        """Read the 64 bits.

        Raises
        ------
        FragmentMismatchError
            For what is no integer of 64 bits.
        UnsupportedInstructionError
            For reserved bits that are set, fixed ones that are wrong, swizzle codes 3, 5 and 7, and fields that
            exclude each other.
        """
        word = integer_of(descriptor)
        if word is None or not 0 <= word < 1 << 64:
            raise ArgumentError(
                f"a shared-memory descriptor is an integer of 64 bits, not {shorten(descriptor)}"
            )
        of_word = f"the shared-memory descriptor {word:#018x} has"
        if word & _RESERVED:
            wrong = ", ".join(str(bit) for bit in range(64) if (word & _RESERVED) >> bit & 1)
            raise OptionError(
                f"{of_word} reserved bits set: {wrong}; reserved are 14, 15, 30, 31 and 53 to 60. Addresses and "
                "offsets are written without their low four bits"
            )
        if word & _FIXED_MASK != _FIXED:
            raise OptionError(
                f"{of_word} 0b{(word & _FIXED_MASK) >> 46:03b} in bits 48 to 46, which are 0b001; a descriptor of "
                "wgmma is another thing"
            )
        field = {name: word >> low & (1 << bits) - 1 for name, (low, bits) in FIELDS.items()}
        modes = [mode for mode, row in SWIZZLES.items() if row.code == field["swizzle"]]
        if not modes:
            codes = ", ".join(f"{row.code} ({mode})" for mode, row in SWIZZLES.items())
            raise OptionError(
                f"{of_word} the swizzle code {field['swizzle']} in bits 63 to 61; legal are {codes}"
            )
        start, leading, stride = (CHUNK_BYTES * field[name] for name in _ADDRESSES)
        return cls(start, leading, stride, modes[0], field["base_offset"], bool(field["leading_absolute"]))


def descriptor_on(given: "SharedMemoryDescriptor | SupportsIndex", chip: Arch) -> SharedMemoryDescriptor:
    """Read a descriptor, or its 64 bits, as a chip does.

    Raises
    ------
    UnsupportedInstructionError
        For an absolute leading dimension on a chip that has only offsets; and as `SharedMemoryDescriptor.decode`.
    FragmentMismatchError
        For what is no descriptor.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> descriptor_on(0x4010404000800000, arch_of("b300")).leading_absolute
    True
    >>> descriptor_on(0x4010404000800000, arch_of("b200"))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: bit 52 of a shared-memory descriptor, a leading dimension that is an
    absolute address, exists on sm_103, not on sm_100 (Blackwell)
    """
    found = given if isinstance(given, SharedMemoryDescriptor) else SharedMemoryDescriptor.decode(given)
    if found.leading_absolute and chip.name not in ABSOLUTE_LEADING.archs:
        raise UnsupportedInstructionError(
            "bit 52 of a shared-memory descriptor, a leading dimension that is an absolute address, exists on "
            f"{', '.join(ABSOLUTE_LEADING.archs)}, not on {chip.name} ({chip.generation})"
        )
    return found


def _check_bytes(name: str, given: int) -> None:
    if given % CHUNK_BYTES:
        nearest = (given + CHUNK_BYTES // 2) // CHUNK_BYTES * CHUNK_BYTES
        raise AlignmentError(
            f"{name} is {shorten(given)} bytes; a shared-memory descriptor holds multiples of {CHUNK_BYTES}, the "
            f"nearest is {shorten(nearest)}"
        )
    if not 0 <= given < WINDOW:
        raise OutOfBoundsError(
            f"{name} is {shorten(given)} bytes; a shared-memory descriptor holds 0 to {WINDOW - CHUNK_BYTES}"
        )


def _mode(given: object) -> Mode:
    """A swizzle mode as the table has it."""
    mode = given if isinstance(given, str) else integer_of(given)
    if mode is None or mode not in SWIZZLES:
        raise OptionError(
            f"there is no swizzle of {shorten(given)} bytes; the modes are 0 (none), 32, 64, 128 and {ATOMS_32B!r}"
        )
    return mode
