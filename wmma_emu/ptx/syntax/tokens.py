# SPDX-License-Identifier: MIT
"""The tokens of PTX source and their positions, found by one regular expression in linear time."""

import re
from bisect import bisect_right
from itertools import accumulate
from typing import NoReturn

from wmma_emu.errors import PtxSyntaxError, shorten
from wmma_emu.ptx.syntax.tree import Literal, Name

END = "\n"
"""The token after the last one; no other token contains a line break."""

_BLANKS = " \t\r\n\f\v"

_TOKEN = re.compile(
    r"""(?:[A-Za-z_$][\w$.]*                # a name, an opcode with its modifiers
    |%[\w$][\w$.]*                          # a register
    |[0-9]+(?:\.[0-9]*)?[eE][+-][0-9]+      # a number with a signed exponent
    |[0-9][\w.]*                            # any other number
    |\.\w+                                  # a directive, a type
    |"[^"\n]*"                              # a string
    |<<|>>|<=|>=|==|!=|&&|\|\||::
    |[^ \t\r\n\f\v])[ \t\r\n\f\v]*          # any other single character; and the whitespace after it
    """,
    re.VERBOSE | re.ASCII,
)
"""Every repetition matches single characters, and a match can be split in one way only: matching takes linear time."""

_COMMENT = re.compile(r'"[^"\n]*"|//|/\*')

_NAME_STARTS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$%")


def is_name(token: str) -> bool:
    """Return whether a token names a variable, a register (also ``%tid.x``), a label or a function."""
    return token[0] in _NAME_STARTS and token != "%"


def is_word(token: str) -> bool:
    """Return whether a token may follow ``::`` in an opcode: a name, or a number with letters (``128B``)."""
    return token[0] not in "$%" and (token[0] in _NAME_STARTS or token[0].isdigit())


class Reader:
    """The tokens of PTX source, and the index of the next one; NUL characters at the end, as from NVRTC, are ignored.

    Three `END` tokens follow the last one, which allows a look-ahead of two. ``simple`` caches operands that are one
    token; ``lines`` are the lines of the source without line ends.
    """

    __slots__ = ("_positions", "_starts", "index", "lines", "simple", "tokens")

    def __init__(self, text: str) -> None:
        text = text.rstrip("\0")
        rows = text.split("\n")
        self.lines = tuple([x.rstrip("\r") for x in rows])
        self._starts = [0, *accumulate([len(x) + 1 for x in rows])][:-1]
        text = self._without_comments(text)
        first = len(text) - len(text.lstrip(_BLANKS))
        found = _TOKEN.findall(text, first)
        self._positions = list(accumulate(map(len, found), initial=first))
        self._positions += [self._positions[-1]] * 2
        self.tokens: list[str] = [x.rstrip(_BLANKS) for x in found]
        self.tokens += [END] * 3
        self.index = 0
        self.simple: dict[str, Name | Literal] = {}

    def _without_comments(self, text: str) -> str:
        pieces, done = [], 0
        while match := _COMMENT.search(text, done):
            start, end = match.span()
            if match[0] == "//":
                end = text.find("\n", start)
                end = len(text) if end < 0 else end
                pieces += [text[done:start], " " * (end - start)]
            elif match[0] == "/*":
                end = text.find("*/", start + 2) + 2
                if end < 2:
                    raise self._error_at(start, "this comment is not closed; expected */")
                pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
            else:
                pieces.append(text[done:end])
            done = end
        return "".join([*pieces, text[done:]]) if pieces else text

    def position(self, index: int) -> tuple[int, int]:
        """Return the line and the column of a token, both counted from 1."""
        at = self._positions[index]
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def span(self, index: int) -> tuple[int, int]:
        """Return the offsets in the source of a token's first character and of the character after it."""
        at = self._positions[index]
        return at, at + len(self.tokens[index])

    def error(self, message: str, index: int | None = None) -> PtxSyntaxError:
        """Return an error that points at a token, by default the next one."""
        return self._error_at(self._positions[self.index if index is None else index], message)

    def _error_at(self, position: int, message: str) -> PtxSyntaxError:
        line = bisect_right(self._starts, position)
        return PtxSyntaxError(message, line, position - self._starts[line - 1] + 1, self.lines[line - 1])

    def fail(self, expected: str) -> NoReturn:
        """Raise an error: the next token was found where ``expected`` has to be."""
        token = self.tokens[self.index]
        raise self.error(f"found {'the end of the source' if token == END else shorten(token)}; expected {expected}")

    def take(self, token: str, where: str = "") -> None:
        """Read the given token, or raise an error if a different token is next."""
        if self.tokens[self.index] != token:
            self.fail(f"{token!r}{where and ' ' + where}")
        self.index += 1

    def accept(self, token: str) -> bool:
        """Read the given token if it is the next one; return whether it was."""
        if self.tokens[self.index] != token:
            return False
        self.index += 1
        return True

    def name(self, what: str) -> str:
        """Read a name; ``what`` describes it in the error message."""
        token = self.tokens[self.index]
        if not is_name(token):
            self.fail(what)
        self.index += 1
        return token

    def string(self, what: str) -> str:
        """Read a string; return it without quotation marks."""
        token = self.tokens[self.index]
        if token[0] != '"' or len(token) < 2:
            self.fail(what)
        self.index += 1
        return token[1:-1]
