# SPDX-License-Identifier: MIT
"""What does a 64-bit descriptor of a matrix in shared memory say: where it begins, its offsets, its swizzle.

The descriptors of `wgmma` and of `tcgen05` differ in their fields, which are rows of a `DescriptorTable`.
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

    Fields are lowest bits and numbers of bits; ``fixed`` adds the value of bits that are no field and are not all 0.
    Steps are by what is contiguous, and whether there is a swizzle; rules say which operands are read.
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
        """A word of the bits that are 0."""
        taken = sum((1 << bits) - 1 << low for low, bits in (*self.fields.values(), self.fixed[:2]))
        return taken ^ (1 << 64) - 1

    def swizzle_mode(self, given: object) -> Mode:
        """Return a swizzle mode as the table has it, or raise `OptionError`."""
        mode = given if isinstance(given, str) else integer_of(given)
        if mode is None or mode not in self.swizzles:
            *others, last = ("0 (none)", *(repr(x) for x in self.swizzles if x))
            raise OptionError(
                f"there is no swizzle of {shorten(given)} bytes; the modes are {', '.join(others)} and {last}"
            )
        return mode

    def require_word(self, given: object) -> int:
        """Return 64 bits as an integer, or raise `ArgumentError`; those that are no fields have their values."""
        word = integer_of(given)
        if word is None or not 0 <= word < 1 << 64:
            raise ArgumentError(f"a {self.name} is an integer of 64 bits, not {shorten(given)}")
        if word & self.reserved:
            wrong, legal = ([i for i in range(64) if x >> i & 1] for x in (word & self.reserved, self.reserved))
            raise OptionError(
                f"the {self.name} {word:#018x} has reserved bits set: {', '.join(map(str, wrong))}; reserved are "
                f"{_runs(legal)}. Addresses and offsets are written without their low four bits"
            )
        low, bits, value = self.fixed
        found = word >> low & (1 << bits) - 1
        if found != value:
            raise OptionError(
                f"the {self.name} {word:#018x} has 0b{found:0{bits}b} in bits {low + bits - 1} to {low}, which are "
                f"0b{value:0{bits}b}; a descriptor of wgmma is another thing"
            )
        return word


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What the descriptors of all instructions have; `MatrixDescriptor` says what the fields are."""

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
                    f"{name} is {shorten(given)} bytes; a {name_of_kind} holds multiples of {CHUNK_BYTES}, the "
                    f"nearest is {shorten(nearest)}"
                )
            if not 0 <= given < WINDOW:
                raise OutOfBoundsError(
                    f"{name} is {shorten(given)} bytes; a {name_of_kind} holds 0 to {WINDOW - CHUNK_BYTES}"
                )
        object.__setattr__(self, "swizzle", self.table.swizzle_mode(self.swizzle))
        if not 0 <= self.base_offset < 8 or (self.base_offset and not self.swizzle):
            raise OptionError(
                f"the base offset is {shorten(self.base_offset)}; legal are 0 to 7 with a swizzle, 0 without one"
            )

    @property
    def pattern(self) -> Swizzle:
        """The row of the swizzle mode."""
        return self.table.swizzles[self.swizzle]

    def encode(self) -> int:
        """Write the 64 bits."""
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
        """Read the 64 bits.

        Raises
        ------
        FragmentMismatchError
            For what is no integer of 64 bits.
        UnsupportedInstructionError
            For reserved bits that are set, what a chip does with them is not known; for fixed ones that are wrong,
            swizzle codes that do not exist, and fields that exclude each other.
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
                f"{low}; legal are {codes}"
            )
        addresses = {name: CHUNK_BYTES * given[name] for name in _ADDRESSES}
        return cls(**given | addresses | {"swizzle": modes[given["swizzle"]]})  # type: ignore[arg-type]

    def require_lines(self, major: Major, along_bytes: int) -> None:
        """Refuse lines that begin so late that they leave their atom; without a swizzle a line is a chunk."""
        swizzle = self.pattern
        within, taken = self.start % swizzle.line_bytes, min(along_bytes, swizzle.line_bytes)
        if swizzle.bits and within + taken > swizzle.line_bytes:
            raise AlignmentError(
                f"the matrix starts {within} bytes into a line of {swizzle.line_bytes} and would leave it; what is "
                f"contiguous takes {taken} bytes of the line"
            )

    def chunk_addresses(self, major: Major, line: Ints, chunk: Ints) -> Ints:
        """Return where the chunks of lines lie, by their numbers, before addresses are swizzled."""
        swizzle = self.pattern
        steps = self.table.steps[major, bool(swizzle.bits)]
        across, along = getattr(self, steps.across_lines), getattr(self, steps.along_lines)
        of_line = (line % swizzle.lines) * swizzle.line_bytes + (line // swizzle.lines) * across
        of_chunk = (chunk % swizzle.chunks) * CHUNK_BYTES + (chunk // swizzle.chunks) * along
        addresses: Ints = self.start + of_line + of_chunk
        return addresses


@dataclass(frozen=True, slots=True)
class MatrixDescriptor(Descriptor):
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

    table = DescriptorTable(
        "matrix descriptor",
        "wgmma",
        {"start": (0, 14), "leading": (16, 14), "stride": (32, 14), "base_offset": (49, 3), "swizzle": (62, 2)},
        SWIZZLES,
        STEPS,
        RULES,
    )


def _runs(bits: list[int]) -> str:
    """Name bits in ascending order, three or more neighbours as a range."""
    names = [x for run in runs_of(bits) for x in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    return f"{', '.join(names[:-1])} and {names[-1]}"
