# SPDX-License-Identifier: MIT
"""A message in terms of the source: elements of arrays for addresses, lines of files for lines of PTX."""

from typing import Protocol

from wmma_emu.errors import printable
from wmma_emu.ptx.findings import Detail, InRegister, Location, Message, Name, Place, Value
from wmma_emu.ptx.reports.frames import own_frames, short_path

__all__ = ["Names", "NamesOfThePtx", "source_text"]

_FEW_BYTES = 8


class Names(Protocol):
    """What the source calls memory."""

    def variable(self, space: str, owner: str) -> str:
        """Name a variable or an array of a launch: "Bs", "A"; "" where it has no name."""

    def element(self, location: Location) -> str:
        """Name bytes of a variable: "Bs[0][0][64]"; "" where the variable has no name."""

    def described(self, space: str, owner: str) -> str:
        """Name a variable, an array with what it was given as: "A (argument 0, const half*)"; "" if it has no name."""


class NamesOfThePtx:
    """Names where only the PTX is known."""

    def variable(self, space: str, owner: str) -> str:
        """Name a variable as the PTX does."""
        return owner

    def described(self, space: str, owner: str) -> str:
        """Name a variable as the PTX does."""
        return owner

    def element(self, location: Location) -> str:
        """Name bytes by their distance from the begin of the variable."""
        sign, distance = ("-" if location.offset < 0 else "+"), abs(location.offset)
        return f"{location.owner} {sign} {distance}" if location.owner else ""


def source_text(message: Message, names: Names, verbose: bool = False) -> str:
    """Write a message in terms of the source; if ``verbose``, with addresses and all values.

    Examples
    --------
    >>> where = Location("shared", 0xFC, 4, "tile", 252)
    >>> source_text(("warp 0 reads ", where, Value(", and finds ", bytes(4)), "; warp 1 wrote it"), NamesOfThePtx())
    'warp 0 reads tile + 252 (4 bytes), and finds 0x00000000; warp 1 wrote it'
    """
    return printable("".join(_word(x, names, verbose) for x in message))


def _word(part: str | Place | Name | Location | Detail | InRegister | Value, names: Names, verbose: bool) -> str:
    if isinstance(part, Location):
        element = names.element(part)
        if not element:
            return f"{part.bytes_text} at {part.at}"
        return f"{element} ({part.bytes_text} at {part.at})" if verbose else f"{element} ({part.bytes_text})"
    if isinstance(part, Place):
        own = own_frames(part.source)
        if not own:
            return f"line {part.line} of the PTX"
        return f"{short_path(own[0].file)}:{own[0].line}" + (f" (line {part.line} of the PTX)" if verbose else "")
    if isinstance(part, Name):
        return names.described(part.space, part.owner) or part.owner
    if isinstance(part, Detail) or (isinstance(part, Value) and len(part.bits) > _FEW_BYTES):
        return str(part) if verbose else ""
    return str(part)
