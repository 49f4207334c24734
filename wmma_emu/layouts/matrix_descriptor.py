# SPDX-License-Identifier: MIT
"""The 64-bit descriptor of a matrix in shared memory: its start address, offsets and swizzle mode.

The descriptors of `wgmma` and `tcgen05` differ in their fields, which are entries of a `DescriptorTable`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Self, SupportsIndex

from wmma_emu.display import runs_of
from wmma_emu.errors import AlignmentError, ArgumentError, OptionError, OutOfBoundsError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.shared_memory_table import (
    CHUNK_BYTES,
    RULES,
    STEPS,
    SWIZZLES,
    WINDOW,
    Major,
    Mode,
    Steps,
    Swizzle,
    SwizzleRule,
)
from wmma_emu.layouts.spec import Ints

_ADDRESSES = ("start", "leading", "stride")
"""Fields in units of 16 bytes."""


@dataclass(frozen=True)
class DescriptorTable:
    """The facts about one kind of descriptor, and the instruction that reads matrices through it.

    A field is its lowest bit and its number of bits; ``fixed`` adds the value of bits that belong to no field and are
    not all 0. ``steps`` are keyed by the contiguous axis and whether there is a swizzle; ``rules`` list the operands
    that can be read.
    """

    name: str
    reader: str
    fields: Mapping[str, tuple[int, int]]
    swizzles: Mapping[Mode, Swizzle]
    steps: Mapping[tuple[Major, bool], Steps]
    rules: tuple[SwizzleRule, ...]
    fixed: tuple[int, int, int] = (0, 0, 0)

    @cached_property
    def reserved(self) -> int:
        """A word with the bits set that must be 0."""
        taken = sum((1 << bits) - 1 << low for low, bits in (*self.fields.values(), self.fixed[:2]))
        return taken ^ (1 << 64) - 1

    def swizzle_mode(self, given: object) -> Mode:
        """Return a swizzle mode as a key of the table, or raise `OptionError`."""
        mode = given if isinstance(given, str) else integer_of(given)
        if mode is None or mode not in self.swizzles:
            *others, last = ("0 (none)", *(repr(x) for x in self.swizzles if x))
            raise OptionError(
                f"there is no swizzle of {shorten(given)} bytes; the modes are {', '.join(others)} and {last}"
            )
        return mode

    def require_word(self, given: object) -> int:
        """Return 64 bits as an integer, or raise `ArgumentError`; raise `OptionError` for illegal reserved bits."""
        word = integer_of(given)
        if word is None or not 0 <= word < 1 << 64:
            raise ArgumentError(f"a {self.name} is an integer of 64 bits, not {shorten(given)}")
        if word & self.reserved:
            wrong, legal = ([i for i in range(64) if x >> i & 1] for x in (word & self.reserved, self.reserved))
            raise OptionError(
                f"the {self.name} {word:#018x} has reserved bits set: {', '.join(map(str, wrong))}; reserved bits are "
                f"{_runs(legal)}. Addresses and offsets are written without their low four bits"
            )
        low, bits, value = self.fixed
        found = word >> low & (1 << bits) - 1
        if found != value:
            raise OptionError(
                f"the {self.name} {word:#018x} has 0b{found:0{bits}b} in bits {low + bits - 1} to {low}, which must be "
                f"0b{value:0{bits}b}; a descriptor of wgmma has a different format"
            )
        return word


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The fields and checks shared by the descriptors of all instructions; see `MatrixDescriptor`."""

    table: ClassVar[DescriptorTable]

    start: int
    leading: int
    stride: int
    swizzle: Mode = 0
    base_offset: int = 0

    def __post_init__(self) -> None:
        name_of_kind = self.table.name
        for name in (*_ADDRESSES, "base_offset"):
            given = integer_of(getattr(self, name))
            if given is None:
                raise ArgumentError(f"{name} of a {name_of_kind} is an integer, not {shorten(getattr(self, name))}")
            object.__setattr__(self, name, given)
        for name in _ADDRESSES:
            given = getattr(self, name)
            if given % CHUNK_BYTES:
                nearest = (given + CHUNK_BYTES // 2) // CHUNK_BYTES * CHUNK_BYTES
                raise AlignmentError(
                    f"{name} is {shorten(given)} bytes; a {name_of_kind} stores multiples of {CHUNK_BYTES}, the "
                    f"nearest is {shorten(nearest)}"
                )
            if not 0 <= given < WINDOW:
                raise OutOfBoundsError(
                    f"{name} is {shorten(given)} bytes; a {name_of_kind} stores 0 to {WINDOW - CHUNK_BYTES}"
                )
        object.__setattr__(self, "swizzle", self.table.swizzle_mode(self.swizzle))
        if not 0 <= self.base_offset < 8 or (self.base_offset and not self.swizzle):
            raise OptionError(
                f"the base offset is {shorten(self.base_offset)}; it must be 0 to 7 with a swizzle, 0 without one"
            )

    @property
    def pattern(self) -> Swizzle:
        """The table entry of the swizzle mode."""
        return self.table.swizzles[self.swizzle]

    def encode(self) -> int:
        """Return the descriptor as 64 bits."""
        word = self.table.fixed[2] << self.table.fixed[0]
        for field in fields(self):
            given = getattr(self, field.name)
            if field.name == "swizzle":
                given = self.pattern.code
            elif field.name in _ADDRESSES:
                given //= CHUNK_BYTES
            word |= int(given) << self.table.fields[field.name][0]
        return word

    @classmethod
    def decode(cls, descriptor: SupportsIndex) -> Self:
        """Decode 64 bits.

        Raises
        ------
        FragmentMismatchError
            If the value is not an integer of 64 bits.
        UnsupportedInstructionError
            If reserved bits are set (their effect is unknown), fixed bits have the wrong value, the swizzle code does
            not exist, or fields exclude each other.
        """
        table = cls.table
        word = table.require_word(descriptor)
        given = {name: word >> low & (1 << bits) - 1 for name, (low, bits) in table.fields.items()}
        modes = {entry.code: mode for mode, entry in table.swizzles.items()}
        if given["swizzle"] not in modes:
            low, bits = table.fields["swizzle"]
            codes = ", ".join(f"{code} ({mode})" for code, mode in modes.items())
            raise OptionError(
                f"the {table.name} {word:#018x} has the swizzle code {given['swizzle']} in bits {low + bits - 1} to "
                f"{low}; legal codes are {codes}"
            )
        addresses = {name: CHUNK_BYTES * given[name] for name in _ADDRESSES}
        return cls(**given | addresses | {"swizzle": modes[given["swizzle"]]})  # type: ignore[arg-type]

    def require_lines(self, major: Major, along_bytes: int) -> None:
        """Reject lines that begin too late to fit into their atom; without a swizzle a line is a chunk."""
        swizzle = self.pattern
        within, taken = self.start % swizzle.line_bytes, min(along_bytes, swizzle.line_bytes)
        if swizzle.bits and within + taken > swizzle.line_bytes:
            raise AlignmentError(
                f"the matrix starts {within} bytes into a line of {swizzle.line_bytes} bytes and would cross its end; "
                f"the contiguous elements take {taken} bytes of the line"
            )

    def chunk_addresses(self, major: Major, line: Ints, chunk: Ints) -> Ints:
        """Return the addresses of chunks, given line and chunk numbers, before the swizzle."""
        swizzle = self.pattern
        steps = self.table.steps[major, bool(swizzle.bits)]
        across, along = getattr(self, steps.across_lines), getattr(self, steps.along_lines)
        of_line = (line % swizzle.lines) * swizzle.line_bytes + (line // swizzle.lines) * across
        of_chunk = (chunk % swizzle.chunks) * CHUNK_BYTES + (chunk // swizzle.chunks) * along
        addresses: Ints = self.start + of_line + of_chunk
        return addresses


@dataclass(frozen=True, slots=True)
class MatrixDescriptor(Descriptor):
    """The 64-bit description of a matrix in shared memory that `wgmma` reads.

    Parameters
    ----------
    start : int
        Address of the first element in bytes, a multiple of 16.
    leading, stride : int
        Leading dimension and stride dimension byte offset, multiples of 16. Their meaning depends on the swizzle and
        on the contiguous axis; see `wmma_emu.layouts.shared_memory_table.STEPS`.
    swizzle : {0, 32, 64, 128}
        The line size of the swizzle pattern in bytes, 0 for no swizzle.
    base_offset : int
        Bits 9 to 7 of the address at which the swizzle pattern begins; 0 if that address is aligned to the pattern.

    Raises
    ------
    AlignmentError
        If a number of bytes is not a multiple of 16.
    OutOfBoundsError
        If an address or offset does not fit in 18 bits.
    UnsupportedInstructionError
        If the swizzle or base offset does not exist.

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

    table = DescriptorTable(
        "matrix descriptor",
        "wgmma",
        {"start": (0, 14), "leading": (16, 14), "stride": (32, 14), "base_offset": (49, 3), "swizzle": (62, 2)},
        SWIZZLES,
        STEPS,
        RULES,
    )


def _runs(bits: list[int]) -> str:
    """List bits in ascending order, with ranges for three or more adjacent ones."""
    names = [x for run in runs_of(bits) for x in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    return f"{', '.join(names[:-1])} and {names[-1]}"
