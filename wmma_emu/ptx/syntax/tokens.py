# SPDX-License-Identifier: MIT
"""Words of a PTX text and where they stand: one regular expression, in time linear in the text."""

import re
from bisect import bisect_right
from itertools import accumulate
from typing import NoReturn

from wmma_emu.errors import PtxSyntaxError, shorten
from wmma_emu.ptx.syntax.tree import Literal, Name

END = "\n"
"""The token behind the last one; no other holds a line break."""

_BLANKS = " \t\r\n\f\v"

_TOKEN = re.compile(
    r"""(?:[A-Za-z_$][\w$.]*                # a name, an opcode with its modifiers
    |%[\w$][\w$.]*                          # a register
    |[0-9]+(?:\.[0-9]*)?[eE][+-][0-9]+      # a number with a signed exponent
    |[0-9][\w.]*                            # any other number
    |\.\w+                                  # a directive, a type
    |"[^"\n]*"                              # a string
    |<<|>>|<=|>=|==|!=|&&|\|\||::
    |[^ \t\r\n\f\v])[ \t\r\n\f\v]*          # whatever else, one character; and the blanks behind it
    """,
    re.VERBOSE | re.ASCII,
)
"""Every repetition is of single characters, and none can be divided in two ways: a match takes linear time."""

_COMMENT = re.compile(r'"[^"\n]*"|//|/\*')

_NAME_STARTS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$%")


def is_name(token: str) -> bool:
    """Whether a token is a name: of a variable, a register (also ``%tid.x``), a label, a function."""
    return token[0] in _NAME_STARTS and token != "%"


def is_word(token: str) -> bool:
    """Whether a token may follow ``::`` in an opcode: a name or a number with letters (``128B``)."""
    return token[0] not in "$%" and (token[0] in _NAME_STARTS or token[0].isdigit())


class Reader:
    """The tokens of a text, and the index of the next one; zero characters at the end do not count: NVRTC leaves them.

    Three `END` close the tokens, so that two may be looked at ahead. ``simple`` are operands of one token that were met
    before, ``lines`` the text's lines, without line ends.
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
                    raise self._error_at(start, "a comment begins here and has no end; expected */")
                pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
            else:
                pieces.append(text[done:end])
            done = end
        return "".join([*pieces, text[done:]]) if pieces else text

    def position(self, index: int) -> tuple[int, int]:
        """Line and column of a token, both counted from 1."""
        at = self._positions[index]
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def error(self, message: str, index: int | None = None) -> PtxSyntaxError:
        """Make an error that points at a token, by default the next one."""
        return self._error_at(self._positions[self.index if index is None else index], message)

    def _error_at(self, position: int, message: str) -> PtxSyntaxError:
        line = bisect_right(self._starts, position)
        return PtxSyntaxError(message, line, position - self._starts[line - 1] + 1, self.lines[line - 1])

    def fail(self, expected: str) -> NoReturn:
        """Raise: the next token was found, something else is expected."""
        token = self.tokens[self.index]
        raise self.error(f"found {'the end of the text' if token == END else shorten(token)}; expected {expected}")

    def take(self, token: str, where: str = "") -> None:
        """Read this token."""
        if self.tokens[self.index] != token:
            self.fail(f"{token!r}{where and ' ' + where}")
        self.index += 1

    def accept(self, token: str) -> bool:
        """Read this token if it is the next one."""
        if self.tokens[self.index] != token:
            return False
        self.index += 1
        return True

    def name(self, what: str) -> str:
        """Read a name; ``what`` says what it names."""
        token = self.tokens[self.index]
        if not is_name(token):
            self.fail(what)
        self.index += 1
        return token

    def string(self, what: str) -> str:
        """Read a string; its quotation marks are left out."""
        token = self.tokens[self.index]
        if token[0] != '"' or len(token) < 2:
            self.fail(what)
        self.index += 1
        return token[1:-1]
