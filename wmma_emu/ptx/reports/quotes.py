# SPDX-License-Identifier: MIT
"""Lines of the source, quoted as they stand, with the column that an instruction comes from."""

from collections.abc import Callable
from typing import NamedTuple

from wmma_emu.errors import printable
from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.frames import short_path

__all__ = ["QuotedLine", "quoted"]

_TAB = 4


class QuotedLine(NamedTuple):
    """A line that a finding is about.

    Attributes
    ----------
    role : str
        What is done there: "reads", "writes", "loads", "waits", "" where it is none of these.
    place : Place
        The instruction: its line of the PTX, and all that the source says of it.
    file : str
        Path of the file, as the compiler has it; "" where the source is not known.
    number : int
        The line, counted from 1: of the file, or of the PTX.
    column : int
        Where in ``quote`` it begins, counted from 1; 0 where that is not known.
    quote : str
        The text of the line without tabs and what is not printable; "" where it is not at hand.
    raw, raw_column : str, int
        The text and the column as the file has them.
    """

    role: str
    place: Place
    file: str
    number: int
    column: int
    quote: str
    raw: str = ""
    raw_column: int = 0

    @property
    def where(self) -> str:
        """File and line, the file by its last part: "gemm.cu:44", or "line 54" of the PTX."""
        return f"{printable(short_path(self.file))}:{self.number}" if self.file else f"line {self.number}"


def quoted(role: str, place: Place, line: SourceLine | None, text_of: Callable[[str], str], ptx: str) -> QuotedLine:
    r"""Quote a line of the source, or of the PTX, whose text is ``ptx``, where no source is known.

    ``text_of`` gives the text of a file, "" of one that is not at hand.

    Examples
    --------
    >>> line = SourceLine("/home/me/k.cu", 2, None, 5)
    >>> found = quoted("reads", Place(54, line), line, lambda file: "int x;\n\tx = s[0];", "ld.shared.u32 %r1, [s];")
    >>> found.where, found.quote, found.column
    ('k.cu:2', '    x = s[0];', 8)
    """
    if line is None:
        return QuotedLine(role, place, "", place.line, 0, printable(ptx.expandtabs(_TAB)), ptx)
    lines = text_of(line.file).split("\n")  # as compilers count them: a form feed begins no line
    raw = lines[line.line - 1].rstrip() if 0 < line.line <= len(lines) else ""
    column = len(printable(raw[: line.column - 1].expandtabs(_TAB))) + 1 if 0 < line.column <= len(raw) else 0
    quote = printable(raw.expandtabs(_TAB))
    return QuotedLine(role, place, line.file, line.line, column, quote, raw, line.column)
