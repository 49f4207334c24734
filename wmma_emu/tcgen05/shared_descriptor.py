# SPDX-License-Identifier: MIT
"""The 64-bit shared-memory descriptor of tcgen05: start address, strides and swizzle of a matrix."""

from dataclasses import dataclass, replace
from typing import SupportsIndex

import numpy as np

from wmma_emu.errors import AlignmentError, ArgumentError, OptionError, UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Arch
from wmma_emu.layouts.matrix_descriptor import Descriptor, DescriptorTable
from wmma_emu.layouts.shared_memory_table import CHUNK_BYTES, Major
from wmma_emu.layouts.spec import Ints
from wmma_emu.tcgen05.shared_table import ABSOLUTE_LEADING, ATOMS_32B, RULES, STEPS_OF_TENSOR, SWIZZLES

FIELDS = {"start": (0, 14), "leading": (16, 14), "stride": (32, 14), "base_offset": (49, 3),
          "leading_absolute": (52, 1), "swizzle": (61, 3)}  # fmt: skip
"""Lowest bit and bits of every field."""


@dataclass(frozen=True, slots=True)
class SharedMemoryDescriptor(Descriptor):
    """The 64-bit description of a matrix in shared memory that tcgen05.mma and tcgen05.cp read.

    Parameters
    ----------
    start : int
        Address of the first element in bytes, a multiple of 16; bits 13 to 0.
    leading : int
        Leading dimension: a byte offset, or with ``leading_absolute`` the address at which lines continue; a multiple
        of 16; bits 29 to 16. The meaning of the offsets depends on the swizzle and on the contiguous axis; see
        `wmma_emu.tcgen05.shared_table.STEPS_OF_TENSOR`.
    stride : int
        Stride dimension byte offset, a multiple of 16; bits 45 to 32.
    swizzle : {0, 32, 64, 128, "128B with 32B atoms"}
        The line size of the swizzle pattern in bytes, 0 for no swizzle; bits 63 to 61.
    base_offset : int
        Bits 9 to 7 of the address at which the swizzle pattern begins; 0 if that address is aligned to the pattern;
        bits 51 to 49.
    leading_absolute : bool
        Bit 52. It is legal for K-major operands of 48 bytes of k (sm_103), with the swizzle of 128 bytes.

    Raises
    ------
    AlignmentError
        If a number of bytes is not a multiple of 16.
    OutOfBoundsError
        If an address or offset does not fit in 18 bits.
    UnsupportedInstructionError
        If a swizzle or base offset does not exist, or an absolute address is used without its swizzle.
    FragmentMismatchError
        If a value is not an integer.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.4.1 (fields) and 9.7.16.3.1.2 (absolute addresses). Bits 48 to 46 are 0b001, which
    distinguishes it from a descriptor of `wgmma`.

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
    to 46, which must be 0b001; a descriptor of wgmma has a different format
    """

    table = DescriptorTable(
        "shared-memory descriptor", "tcgen05", FIELDS, SWIZZLES, STEPS_OF_TENSOR, RULES, fixed=(46, 3, 0b001)
    )

    leading_absolute: bool = False

    def __post_init__(self) -> None:
        Descriptor.__post_init__(self)
        absolute = self.leading_absolute
        if not isinstance(absolute, bool | np.bool_) and integer_of(absolute) not in (0, 1):
            raise OptionError(
                f"leading_absolute is {shorten(absolute)}; it must be False (an offset) or True (an address)"
            )
        object.__setattr__(self, "leading_absolute", bool(absolute))
        if self.leading_absolute and (self.swizzle != 128 or self.base_offset):
            raise OptionError(
                f"a leading dimension that is an absolute address needs swizzle 128 and base offset 0, not swizzle "
                f"{self.swizzle} and base offset {self.base_offset}"
            )

    def require_lines(self, major: Major, along_bytes: int) -> None:
        """Reject lines that leave their atom, or whose absolute address of continuation is not legal."""
        if self.base_offset and self.swizzle == ATOMS_32B:
            raise UnsupportedInstructionError(
                f"the effect of a base offset on the swizzle {ATOMS_32B!r} is not documented; begin its pattern at a "
                "multiple of 1024 bytes, with base offset 0"
            )
        if not self.leading_absolute:
            Descriptor.require_lines(self, major, along_bytes)
        elif major != "k" or along_bytes != ABSOLUTE_LEADING.row_bytes:
            raise UnsupportedInstructionError(
                "a leading dimension that is an absolute address is legal for K-major operands of "
                f"{ABSOLUTE_LEADING.row_bytes} bytes of k (96 elements of 4 bits), not for {along_bytes} bytes "
                f"{'K' if major == 'k' else 'MN'}-major"
            )
        elif self.leading % self.pattern.atom_bytes:
            raise AlignmentError(
                f"lines continue at {self.leading}, not a multiple of {self.pattern.atom_bytes} bytes, where "
                "a pattern of the swizzle begins"
            )

    def chunk_addresses(self, major: Major, line: Ints, chunk: Ints) -> Ints:
        """Return the addresses of the chunks of lines; chunks past the end of an atom are at the absolute address."""
        if not self.leading_absolute:
            return Descriptor.chunk_addresses(self, major, line, chunk)
        within = self.start % self.pattern.line_bytes
        first = replace(self, start=self.start - within, leading=0, leading_absolute=False)
        late = chunk + within // CHUNK_BYTES
        gap = np.where(late < self.pattern.chunks, 0, self.leading - first.start)
        return first.chunk_addresses(major, line, late) + gap

    def moved(self, by: int) -> "SharedMemoryDescriptor":
        """Return the descriptor of the data ``by`` bytes further on, as kernels advance from one step of k to the next.

        Parameters
        ----------
        by : int
            A multiple of 16. CuTe's descriptor iterators count in this unit.

        Raises
        ------
        FragmentMismatchError, AlignmentError, OutOfBoundsError
            As for the class, with the new start.

        Examples
        --------
        >>> hex(SharedMemoryDescriptor(start=1024, leading=16, stride=1024, swizzle=128).moved(32).encode())
        '0x4000404000010042'
        """
        given = integer_of(by)
        if given is None:
            raise ArgumentError(f"a descriptor is moved by an integer number of bytes, not {shorten(by)}")
        return replace(self, start=self.start + given)


def descriptor_on(given: "SharedMemoryDescriptor | SupportsIndex", chip: Arch) -> SharedMemoryDescriptor:
    """Return a descriptor, given the object or its 64 bits, if the chip supports it.

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
