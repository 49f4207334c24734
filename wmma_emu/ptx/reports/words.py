# SPDX-License-Identifier: MIT
"""A message in terms of the source: elements of arrays for addresses, lines of files for lines of PTX."""

from typing import Protocol

from wmma_emu.errors import printable
from wmma_emu.ptx.findings import Detail, Extent, MemoryLocation, Message, Name, Place, Value, Word
from wmma_emu.ptx.reports.frames import line_text, own_frames

_FEW_BYTES = 8


class Names(Protocol):
    """What the source calls memory."""

    def variable(self, space: str, owner: str) -> str:
        """Name a variable or an array of a launch: "Bs", "A"; "" where it has no name."""

    def element(self, location: MemoryLocation) -> str:
        """Name bytes of a variable: "Bs[0][0][64]"; "" where the variable has no name."""

    def elements(self, space: str, owner: str, size: int) -> int:
        """Say how many elements so many bytes of a variable are; 0 where their type is not known."""

    def described(self, space: str, owner: str) -> str:
        """Name a variable, an array with what it was given as: "A (argument 0, const half*)"; "" if it has no name."""


class NamesOfThePtx:
    """Names where only the PTX is known."""

    def variable(self, space: str, owner: str) -> str:
        """Name a variable as the PTX does."""
        return owner

    def elements(self, space: str, owner: str, size: int) -> int:
        """Say that types are not known."""
        return 0

    def described(self, space: str, owner: str) -> str:
        """Name a variable as the PTX does."""
        return owner

    def element(self, location: MemoryLocation) -> str:
        """Name bytes by their distance from the begin of the variable."""
        sign, distance = ("-" if location.offset < 0 else "+"), abs(location.offset)
        return f"{location.owner} {sign} {distance}" if location.owner else ""


def source_text(message: Message, names: Names, file: str = "") -> str:
    """Write a message in terms of the source; lines of ``file``, which the reader has before him, without its name.

    Examples
    --------
    >>> where = Location("shared", 0xFC, 4, "tile", 252)
    >>> source_text(("warp 0 reads ", where, Value(", and finds ", bytes(4)), "; warp 1 wrote it"), NamesOfThePtx())
    'warp 0 reads tile + 252 (4 bytes), and finds 0x00000000; warp 1 wrote it'
    """
    return printable("".join(_word(x, names, file) for x in message))


def _word(part: Word, names: Names, file: str) -> str:
    match part:
        case MemoryLocation():
            element = names.element(part)
            return f"{element} ({part.bytes_text})" if element else f"{part.bytes_text} at {part.at}"
        case Place():
            own = own_frames(part.source)
            return line_text(own[0], file) if own else f"line {part.line} of the PTX"
        case Name():
            return names.described(part.space, part.owner) or part.owner
        case Extent():
            count = names.elements(part.space, part.owner, part.bytes)
            return f", which has {count} element{'s' * (count != 1)}" if count else str(part)
        case Detail():
            return ""
        case Value() if len(part.bits) > _FEW_BYTES:
            return ""
    return str(part)
