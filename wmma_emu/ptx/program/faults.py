# SPDX-License-Identifier: MIT
"""How a program's errors are made: with line, column and the line's text."""

import re
from typing import NamedTuple

from wmma_emu.errors import PtxSyntaxError, UnsupportedInstructionError
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.syntax.tree import Directive, FunctionText, InstructionText, Label, VariableText


class TextPosition(NamedTuple):
    """Line and column, both counted from 1."""

    line: int
    column: int


Positioned = TextPosition | InstructionText | VariableText | FunctionText | Label | Directive
"""What stands somewhere in a text."""

_LONGEST_STATEMENT = 1000
"""Lines that are searched for a name."""


def fault(lines: tuple[str, ...], where: Positioned, message: str, name: str = "") -> PtxSyntaxError:
    """Make the error of a text whose names do not fit each other; it points at ``name`` if that stands there."""
    if name:
        where = position_of_name(lines, where, name)
    text = lines[where.line - 1] if 0 < where.line <= len(lines) else ""
    return PtxSyntaxError(message, where.line, where.column, text)


def unsupported(lines: tuple[str, ...], where: Positioned, message: str, name: str = "") -> UnsupportedInstructionError:
    """Make the error of a text that is right and cannot be run."""
    return UnsupportedInstructionError(str(fault(lines, where, message, name)))


def refusal(instruction: PtxInstruction, why: str) -> UnsupportedInstructionError:
    """Make the error of an instruction that does not exist, or is not modelled."""
    return UnsupportedInstructionError(f"line {instruction.line}: {instruction.opcode}: {why}")


def position_of_name(lines: tuple[str, ...], where: Positioned, name: str) -> Positioned:
    """Find a name in the statement that begins somewhere; where it does not stand, the statement's beginning.

    Trees say where statements begin, no more: it is looked for when there is something to be said of it.

    Examples
    --------
    >>> position_of_name(("add.s32 %r1, %r10, %r1;",), TextPosition(1, 1), "%r10")
    TextPosition(line=1, column=14)
    """
    pattern = re.compile(rf"(?<![\w$%.]){re.escape(name)}(?![\w$.])")
    start = where.column - 1
    for number in range(where.line, min(where.line + _LONGEST_STATEMENT, len(lines) + 1)):
        text = lines[number - 1]
        end = text.find(";", start)
        found = pattern.search(text, start, len(text) if end < 0 else end)
        if found is not None:
            return TextPosition(number, found.start() + 1)
        if end >= 0:
            break
        start = 0
    return where


def reason_of(error: UnsupportedInstructionError) -> str:
    """Take the message out of such an error, without the place and the line's text.

    Examples
    --------
    >>> reason_of(unsupported(("call %rd1;",), TextPosition(1, 1), "indirect: no"))
    'indirect: no'
    """
    return str(error).splitlines()[0].partition(": ")[2]


def short_name(name: str) -> str:
    """Shorten a name for a message."""
    return name if len(name) <= 60 else name[:57] + "..."
