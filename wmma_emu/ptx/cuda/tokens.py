# SPDX-License-Identifier: MIT
"""The words of a C++ text, as far as it takes to tell declarations apart."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<skipped>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<directive>^[ \t]*\#(?:\\\r?\n|/\*.*?\*/|(?!//)[^\n])*)
    |(?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[\w.]|'\w)*)
    |(?P<mark2>\S)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class Token(NamedTuple):
    """A word, a number, a text, a directive of the preprocessor, or one character of any other kind."""

    kind: str
    text: str
    start: int
    end: int


_DEAD = re.compile(r"#[ \t]*if[ \t]+(?:0|false)[ \t]*(?://|/\*|$)")
_RESOLVED = "#"
"""Stands for a directive of which it is known what comes of it."""


def tokens_of(text: str) -> list[Token]:
    r"""Cut a text into tokens, without comments and blanks, and without what ``#if 0`` leaves out.

    Examples
    --------
    >>> [x.text for x in tokens_of("#define N 4\nint f(/* none */) { return 1'0; }  // all")]
    ['#define N 4', 'int', 'f', '(', ')', '{', 'return', "1'0", ';', '}']
    """
    found = []
    for x in _TOKEN.finditer(text):
        kind = x.lastgroup or ""
        kind = "text" if kind == "mark" else kind
        if kind != "skipped":
            found.append(Token(kind if kind != "mark2" else "mark", x[0].strip() if kind == "directive" else x[0],
                               x.start(), x.end()))  # fmt: skip
    return _without_disabled(found)


def _without_disabled(tokens: list[Token]) -> list[Token]:
    """Leave out what is between ``#if 0`` and its end; the directives stay, and mean nothing."""
    found, depth, is_dead = [], 0, False
    settled: list[int] = []  # depths of those #if whose condition is known
    for token in tokens:
        if token.kind != "directive":
            if not is_dead:
                found.append(token)
            continue
        name = token.text.lstrip("# \t")
        text = _RESOLVED if is_dead else token.text
        if name.startswith("if"):
            depth += 1
            if not is_dead and _DEAD.match(token.text):
                settled.append(depth)
                is_dead, text = True, _RESOLVED
        elif settled and depth == settled[-1] and name.startswith(("else", "endif")):
            is_dead, text = False, _RESOLVED
        elif settled and depth == settled[-1] and is_dead and name.startswith("elif"):
            # Which of the others holds is not known: they count like those of any #if.
            settled.pop()
            is_dead, text = False, f"#if {name[4:]}"
        if name.startswith("endif"):
            if settled and depth == settled[-1]:
                settled.pop()
            depth -= 1
        found.append(token._replace(text=text))
    return found


def joined(words: Sequence[str]) -> str:
    """Write words next to each other, with blanks where C++ needs some."""
    text = ""
    for word in words:
        wants = bool(text) and (word[0].isalnum() or word[0] in "_(") and (text[-1].isalnum() or text[-1] in "_,*+-/")
        text += (" " if wants or (text and word in "*+-/" and text[-1].isalnum()) else "") + word
    return text
