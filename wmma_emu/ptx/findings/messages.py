# SPDX-License-Identifier: MIT
"""What a sighting says: words, with what the source has a name for kept apart until somebody reads them."""

from typing import NamedTuple

from wmma_emu.errors import printable
from wmma_emu.ptx.program.program import PtxInstruction, SourceLine


class Place(NamedTuple):
    """Where an instruction stands: its line of the PTX, and where the source says that it comes from."""

    line: int
    source: SourceLine | None = None

    def __str__(self) -> str:
        return f"line {self.line}" + (f" ({self.source})" if self.source else "")


UNKNOWN = Place(0)
"""Stands for the other side of a race, where that is not known any more."""


def place_of(instruction: PtxInstruction) -> Place:
    """Say where an instruction stands."""
    return Place(instruction.line, instruction.source)


class Name(NamedTuple):
    """A variable of the PTX, by its symbol, or an array of a launch, by what the launch calls it."""

    space: str
    owner: str

    def __str__(self) -> str:
        return self.owner


def _bytes_text(number: int) -> str:
    return "1 byte" if number == 1 else f"{number} bytes"


class MemoryLocation(NamedTuple):
    """Bytes of memory: as an address, and as bytes behind the begin of the nearest variable or array, if there is one.

    Examples
    --------
    >>> str(Location("shared", 0xFC, 4, "tile", 252)), str(Location("shared", 0xFC, 1))
    ('4 bytes at 0xfc of shared memory (tile + 252)', '1 byte at 0xfc of shared memory')
    """

    space: str
    address: int
    size: int
    owner: str = ""
    offset: int = 0

    @property
    def bytes_text(self) -> str:
        """How many bytes they are, in words."""
        return _bytes_text(self.size)

    @property
    def at(self) -> str:
        """Where they lie."""
        return f"{self.address:#x}" + (f" of {self.space} memory" if self.space else "")

    def __str__(self) -> str:
        sign, distance = ("-" if self.offset < 0 else "+"), abs(self.offset)
        return f"{self.bytes_text} at {self.at}" + (f" ({self.owner} {sign} {distance})" if self.owner else "")


class Extent(NamedTuple):
    """How large a variable or an array is, and where it lies."""

    space: str
    owner: str
    bytes: int
    where: str

    def __str__(self) -> str:
        return f" ({_bytes_text(self.bytes)}{self.where})"


class Detail(NamedTuple):
    """Words that only say something to those who read the PTX."""

    text: str

    def __str__(self) -> str:
        return self.text


class InRegister(NamedTuple):
    """A register of the kernel, by its index among all of them and by its name."""

    number: int
    name: str

    def __str__(self) -> str:
        return self.name


class Value(NamedTuple):
    """The bits of some bytes of memory, the byte at the lowest address first, behind the words that lead to them.

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


Word = str | Place | Name | MemoryLocation | Extent | Detail | InRegister | Value
"""A piece of a message."""

Message = tuple[Word, ...]
"""What a finding says, in the order in which it is read."""


def plain_text(message: Message) -> str:
    """Write a message in terms of the PTX.

    Examples
    --------
    >>> plain_text(("reads ", Location("shared", 4, 4, "tile", 4), ", stored at ", Place(48)))
    'reads 4 bytes at 0x4 of shared memory (tile + 4), stored at line 48'
    """
    return printable("".join(map(str, message)))
