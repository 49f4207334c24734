# SPDX-License-Identifier: MIT
"""Messages in terms of the source: elements instead of addresses, source lines instead of PTX lines."""

from typing import Protocol

from wmma_emu.errors import printable
from wmma_emu.ptx.findings import Detail, Extent, InSource, MemoryLocation, Message, Name, Place, Table, Value, Word
from wmma_emu.ptx.reports.frames import line_text, own_frames

_FEW_BYTES = 8


class Names(Protocol):
    """The names of memory in the source."""

    def variable(self, space: str, owner: str) -> str:
        """Return the name of a variable or of a launch's array: "Bs", "A"; "" if it has no name."""

    def element(self, location: MemoryLocation) -> str:
        """Return the name of bytes of a variable: "Bs[0][0][64]"; "" if the variable has no name."""

    def elements(self, space: str, owner: str, size: int) -> int:
        """Return the number of elements in some bytes of a variable; 0 if their type is unknown."""

    def described(self, space: str, owner: str) -> str:
        """Return a variable's name, for an array with its parameter: "A (argument 0, const half*)"; "" if unnamed."""


class NamesOfThePtx:
    """Names for kernels without source: the names of the PTX."""

    def variable(self, space: str, owner: str) -> str:
        """Return the name in the PTX."""
        return owner

    def elements(self, space: str, owner: str, size: int) -> int:
        """Return 0, since types are unknown."""
        return 0

    def described(self, space: str, owner: str) -> str:
        """Return the name in the PTX."""
        return owner

    def element(self, location: MemoryLocation) -> str:
        """Return the name with the distance from the start of the variable."""
        sign, distance = ("-" if location.offset < 0 else "+"), abs(location.offset)
        return f"{location.owner} {sign} {distance}" if location.owner else ""


def source_text(message: Message, names: Names, file: str = "") -> str:
    """Write a message in terms of the source; lines of ``file``, which the reader is looking at, without its name.

    Examples
    --------
    >>> where = MemoryLocation("shared", 0xFC, 4, "tile", 252)
    >>> source_text(("warp 0 reads ", where, Value(", and finds ", bytes(4)), "; warp 1 wrote it"), NamesOfThePtx())
    'warp 0 reads tile + 252 (4 bytes), and finds 0x00000000; warp 1 wrote it'
    """
    return printable("".join(_word(x, names, file) for x in message))


def row_text(row: Message, names: Names, file: str = "") -> str:
    """Write a row of a table in terms of the source; lines of an inlined function with those of its call.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import SourceLine
    >>> line = Place(60, SourceLine("k.cu", 12, SourceLine("k.cu", 44)))
    >>> row_text(("warp 0 waits for it at ", line), NamesOfThePtx(), "k.cu")
    'warp 0 waits for it at line 12, called at line 44'
    """
    return printable("".join(_word(x, names, file) + (_call(x, file) if isinstance(x, Place) else "") for x in row))


def _call(place: Place, file: str) -> str:
    own = own_frames(place.source)
    return f", called at {line_text(own[-1], file)}" if len(own) > 1 else ""


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
        case InSource():
            return part.text
        case Table():
            rows = "; ".join(row_text(row, names, file) for row in part.rows)
            return f"; mbarriers: {rows}" if rows else ""
        case Value() if len(part.bits) > _FEW_BYTES:
            return ""
    return str(part)
