# SPDX-License-Identifier: MIT
"""Errors in PTX source, with line, column and the text of the line."""

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
"""A position in PTX source, or a node that has one."""

_LONGEST_STATEMENT = 1000
"""The most lines of a statement that are searched for a name."""


def fault(lines: tuple[str, ...], where: Positioned, message: str, name: str = "") -> PtxSyntaxError:
    """Return an error about inconsistent names; it points at ``name`` if the statement contains it."""
    if name:
        where = position_of_name(lines, where, name)
    text = lines[where.line - 1] if 0 < where.line <= len(lines) else ""
    return PtxSyntaxError(message, where.line, where.column, text)


def unsupported(lines: tuple[str, ...], where: Positioned, message: str, name: str = "") -> UnsupportedInstructionError:
    """Return an error about valid PTX source that the emulator cannot run."""
    return UnsupportedInstructionError(str(fault(lines, where, message, name)))


def refusal(instruction: PtxInstruction, why: str) -> UnsupportedInstructionError:
    """Return an error about an instruction that does not exist, or is not modelled."""
    return UnsupportedInstructionError(f"line {instruction.line}: {instruction.opcode}: {why}")


def position_of_name(lines: tuple[str, ...], where: Positioned, name: str) -> Positioned:
    """Return the position of a name in a statement; the beginning of the statement if it does not contain the name.

    Syntax trees contain only the positions of statements; names are located when an error needs them.

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
    """Return the message of an error from `unsupported`, without the position and the text of the line.

    Examples
    --------
    >>> reason_of(unsupported(("call %rd1;",), TextPosition(1, 1), "indirect: no"))
    'indirect: no'
    """
    return str(error).splitlines()[0].partition(": ")[2]


def short_name(name: str) -> str:
    """Shorten a name for a message."""
    return name if len(name) <= 60 else name[:57] + "..."
