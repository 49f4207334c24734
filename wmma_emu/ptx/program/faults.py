# SPDX-License-Identifier: MIT
"""How a program's errors are made: with line, column and the line's text."""

from typing import NamedTuple, Protocol

from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError

__all__ = ["Place", "Placed", "fault", "reason_of", "shown", "unsupported"]


class Placed(Protocol):
    """What stands somewhere in a text."""

    @property
    def line(self) -> int:
        """Counted from 1."""

    @property
    def column(self) -> int:
        """Counted from 1."""


class Place(NamedTuple):
    """Line and column."""

    line: int
    column: int


def fault(lines: tuple[str, ...], where: Placed, message: str) -> PtxSyntaxError:
    """Make the error of a text whose names do not fit each other."""
    text = lines[where.line - 1] if 0 < where.line <= len(lines) else ""
    return PtxSyntaxError(message, where.line, where.column, text)


def unsupported(lines: tuple[str, ...], where: Placed, message: str) -> UnsupportedInstructionError:
    """Make the error of a text that is right and cannot be run."""
    return UnsupportedInstructionError(str(fault(lines, where, message)))


def reason_of(error: UnsupportedInstructionError) -> str:
    """Take the message out of such an error, without the place and the line's text.

    Examples
    --------
    >>> reason_of(unsupported(("call %rd1;",), Place(1, 1), "indirect: no"))
    'indirect: no'
    """
    return str(error).splitlines()[0].partition(": ")[2]


def shown(name: str) -> str:
    """Shorten a name for a message."""
    return name if len(name) <= 60 else name[:57] + "..."
