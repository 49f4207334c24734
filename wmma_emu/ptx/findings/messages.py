# SPDX-License-Identifier: MIT
"""Messages of sightings: words, and references to the source that are written out when the message is read."""

from typing import NamedTuple

from wmma_emu.errors import printable
from wmma_emu.ptx.program.program import PtxInstruction, SourceLine


class Place(NamedTuple):
    """The position of an instruction: its line of the PTX, and the source line that it comes from."""

    line: int
    source: SourceLine | None = None

    def __str__(self) -> str:
        return f"line {self.line}" + (f" ({self.source})" if self.source else "")


UNKNOWN = Place(0)
"""Stands for the other side of a race if that side is no longer known."""


def place_of(instruction: PtxInstruction) -> Place:
    """Return the position of an instruction."""
    return Place(instruction.line, instruction.source)


class Name(NamedTuple):
    """A variable of the PTX, by its symbol, or an array of a launch, by its name in the launch's messages."""

    space: str
    owner: str

    def __str__(self) -> str:
        return self.owner


def _bytes_text(number: int) -> str:
    return "1 byte" if number == 1 else f"{number} bytes"


class MemoryLocation(NamedTuple):
    """Bytes of memory: their address, and their offset in the nearest variable or array, if there is one.

    Examples
    --------
    >>> str(MemoryLocation("shared", 0xFC, 4, "tile", 252)), str(MemoryLocation("shared", 0xFC, 1))
    ('4 bytes at 0xfc of shared memory (tile + 252)', '1 byte at 0xfc of shared memory')
    """

    space: str
    address: int
    size: int
    owner: str = ""
    offset: int = 0

    @property
    def bytes_text(self) -> str:
        """The number of bytes, as text."""
        return _bytes_text(self.size)

    @property
    def at(self) -> str:
        """The address, and the memory that it belongs to."""
        return f"{self.address:#x}" + (f" of {self.space} memory" if self.space else "")

    def __str__(self) -> str:
        sign, distance = ("-" if self.offset < 0 else "+"), abs(self.offset)
        return f"{self.bytes_text} at {self.at}" + (f" ({self.owner} {sign} {distance})" if self.owner else "")


class Extent(NamedTuple):
    """The size of a variable or an array, and its address."""

    space: str
    owner: str
    bytes: int
    where: str

    def __str__(self) -> str:
        return f" ({_bytes_text(self.bytes)}{self.where})"


class Detail(NamedTuple):
    """Words that help only readers of the PTX."""

    text: str

    def __str__(self) -> str:
        return self.text


class InSource(NamedTuple):
    """Words that help only readers of the source, which is shown without the addresses of memory."""

    text: str

    def __str__(self) -> str:
        return ""


class InRegister(NamedTuple):
    """A register of the kernel, by its index among all registers and by its name."""

    number: int
    name: str

    def __str__(self) -> str:
        return self.name


class Value(NamedTuple):
    """The bits of some bytes of memory, the byte at the lowest address first, and the words that introduce them.

    Examples
    --------
    >>> str(Value(", over ", bytes([0x3F, 0, 0, 0]))), str(Value("", bytes(range(16))))
    (', over 0x0000003f', '0x03020100 0x07060504 0x0b0a0908 0x0f0e0d0c')
    """

    lead: str
    bits: bytes

    def __str__(self) -> str:
        size = min(len(self.bits), 4)
        words = [self.bits[i : i + size] for i in range(0, len(self.bits), size)]
        return self.lead + " ".join(f"0x{word[::-1].hex()}" for word in words)


class Table(NamedTuple):
    """Lines that belong to a message: one for each mbarrier.

    Examples
    --------
    >>> str(Table((("full", ": phase 0"), ("empty", ": phase 1"))))
    '; mbarriers: full: phase 0; empty: phase 1'
    """

    rows: tuple[tuple["Word", ...], ...]

    def __str__(self) -> str:
        return f"; mbarriers: {'; '.join(map(plain_text, self.rows))}" if self.rows else ""


Word = str | Place | Name | MemoryLocation | Extent | Detail | InSource | InRegister | Value | Table
"""A part of a message."""

Message = tuple[Word, ...]
"""The parts of a message, in the order in which they are read."""


def plain_text(message: Message) -> str:
    """Write a message in terms of the PTX.

    Examples
    --------
    >>> plain_text(("reads ", MemoryLocation("shared", 4, 4, "tile", 4), ", stored at ", Place(48)))
    'reads 4 bytes at 0x4 of shared memory (tile + 4), stored at line 48'
    """
    return printable("".join(map(str, message)))
