# SPDX-License-Identifier: MIT
"""Positions of statements and comments in source code: compilers name a statement's first line, or its last."""

import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_BLANKED = re.compile(
    r"^[ \t]*\#(?:\\\r?\n|(?!//|/\*)[^\n])*"  # a preprocessor directive with its continuation lines
    r"|(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))"
    r'|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r"|(?<!\w)\d[\w.]*(?:'\w+)+"  # a number, whose digit separators do not start a character literal
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL | re.MULTILINE,
)
_PUNCTUATION = re.compile(r"[;{}()\[\]]")
_HEAD = re.compile(r"\s*(?:else\s+)?(?:if(?:\s+constexpr)?|for|while|switch)\s*\Z")
_IN_AN_EXPRESSION = re.compile(r"(?:[=,(\[]|\breturn)\s*\Z")
_NO_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
)  # fmt: skip


class Comment(NamedTuple):
    """A comment: its first and last line, its text, and whether these lines contain no code."""

    first: int
    last: int
    text: str
    is_alone: bool


class Outline(NamedTuple):
    """The statements of source code, each by its first and last line, and its comments; lines count from 1."""

    statements: tuple[tuple[int, int], ...]
    comments: tuple[Comment, ...]
    code: tuple[str, ...]

    def around(self, line: int) -> range:
        """Return the lines of the statements that a line belongs to; only the line itself if there are none."""
        ends = [x for x in self.statements if x[0] <= line <= x[1]]
        return range(min((x[0] for x in ends), default=line), max((x[1] for x in ends), default=line) + 1)

    def code_of(self, lines: Iterable[int]) -> str:
        """Join the code of some lines, without comments and whitespace."""
        return "".join("".join(self.code[x - 1].split()) for x in lines if 0 < x <= len(self.code))

    def about(self, comment: Comment) -> int:
        """Return the line that a comment refers to: its own, or, if it has no code, the next line with code."""
        if not comment.is_alone:
            return comment.first if self.code[comment.first - 1].strip() else comment.last
        following = range(comment.last, len(self.code))
        return next((i + 1 for i in following if self.code[i].strip()), comment.last)


def is_python(file: str) -> bool:
    """Return whether a file is a Python file, by its name."""
    return file.endswith((".py", ".pyw", ".ipynb")) or file.startswith("<ipython")


@lru_cache(maxsize=32)
def outline_of(text: str, python: bool = False) -> Outline:
    r"""Find the statements and the comments of CUDA C++ or Python source.

    Examples
    --------
    >>> found = outline_of("int x = f(1,\n          2);  // two\n// three\nfor (;;) { y(); }\n")
    >>> list(found.around(2)), list(found.around(4)), [found.about(x) for x in found.comments]
    ([1, 2], [4], [2, 4])
    >>> outline_of("x = f(1,  # one\n      2)\n", python=True).code_of([1, 2])
    'x=f(1,2)'
    """
    if python:
        try:
            return _of_python(text)
        except (tokenize.TokenError, SyntaxError):  # if it is not Python, read it like C++
            pass
    return _of_cpp(text)


def _of_cpp(text: str) -> Outline:
    blanked: list[str] = []  # spaces replace everything except code, so that positions do not change
    found: list[tuple[int, int]] = []
    end = 0
    for match in _BLANKED.finditer(text):
        blanked.append(text[end : match.start()])
        end = match.end()
        if match["comment"]:
            found.append(match.span())
        is_code = match[0][:1] in "\"'R" or match[0][:1].isdigit()
        blanked.append(re.sub(r"[;{}()\[\]]", "_", match[0]) if is_code else re.sub(r"[^\n]", " ", match[0]))
    code = "".join([*blanked, text[end:]])
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    lines = tuple(code.split("\n"))
    comments = []
    for start, stop in found:
        first, last = _line(starts, start), _line(starts, stop - 1)
        is_alone = not any(lines[i - 1].strip() for i in range(first, last + 1))
        comments.append(Comment(first, last, text[start:stop], is_alone))
    statements = tuple((_line(starts, a), _line(starts, b - 1)) for a, b in _statements(code))
    return Outline(statements, tuple(comments), lines)


def _line(starts: list[int], offset: int) -> int:
    return bisect_right(starts, offset)


def _statements(code: str) -> list[tuple[int, int]]:
    """Split code at semicolons, at the braces of blocks, and after the conditions of statements.

    Braces of initialisers do not split a statement.
    """
    found: list[tuple[int, int]] = []
    open_ones: list[str] = []
    start = 0

    def end(stop: int) -> None:
        nonlocal start
        part = code[start:stop]
        if part.strip():
            found.append((start + len(part) - len(part.lstrip()), start + len(part.rstrip())))
        start = stop

    for match in _PUNCTUATION.finditer(code):
        sign, at = match[0], match.start()
        if sign in "([":
            is_head = open_ones[-1:] in ([], ["{"]) and _HEAD.match(code, start, at)
            open_ones.append("condition" if is_head else sign)
        elif sign in ")]":
            if open_ones[-1:] == ["condition"]:
                end(at + 1)
            if open_ones and open_ones[-1] in ("(", "[", "condition"):
                open_ones.pop()
        elif sign == "{":
            is_value = _IN_AN_EXPRESSION.search(code, start, at) or open_ones[-1:] == ["value"]
            open_ones.append("value" if is_value else "{")
            if not is_value:
                end(at + 1)
        elif sign == ";":
            if not open_ones or open_ones[-1] == "{":
                end(at + 1)
        elif open_ones[-1:] == ["value"]:
            open_ones.pop()
        else:
            end(at)
            start = at + 1
            while open_ones and open_ones.pop() != "{":
                pass
    end(len(code))
    return found


def _of_python(text: str) -> Outline:
    lines = text.split("\n")
    code = list(lines)
    comments: list[Comment] = []
    statements: list[tuple[int, int]] = []
    first = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, column = token.start
        if token.type == tokenize.COMMENT:
            code[line - 1] = code[line - 1][:column]
            comments.append(Comment(line, line, token.string, not lines[line - 1][:column].strip()))
        elif token.type == tokenize.NEWLINE and first:
            statements.append((first, line))
            first = 0
        elif token.type not in _NO_CODE and not first:
            first = line
    return Outline(tuple(statements), tuple(comments), tuple(code))
