# SPDX-License-Identifier: MIT
"""The tokens of C++ source, as far as declarations need them."""

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
    """A word, a number, a literal, a preprocessor directive, or one character of any other kind."""

    kind: str
    text: str
    start: int
    end: int


_DEAD = re.compile(r"#[ \t]*if[ \t]+(?:0|false)[ \t]*(?://|/\*|$)")
_RESOLVED = "#"
"""Replaces a directive whose effect is already known."""


def tokens_of(text: str) -> list[Token]:
    r"""Split C++ source into tokens, without comments and whitespace, and without code that ``#if 0`` disables.

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
    """Remove the code between ``#if 0`` and its end; the directives remain, without effect."""
    found, depth, is_dead = [], 0, False
    settled: list[int] = []  # depths of #if directives with a known condition
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
            # It is unknown which other branch applies: they count like the branches of any #if.
            settled.pop()
            is_dead, text = False, f"#if {name[4:]}"
        if name.startswith("endif"):
            if settled and depth == settled[-1]:
                settled.pop()
            depth -= 1
        found.append(token._replace(text=text))
    return found


def joined(words: Sequence[str]) -> str:
    """Join words, with spaces where C++ needs them."""
    text = ""
    for word in words:
        wants = bool(text) and (word[0].isalnum() or word[0] in "_(") and (text[-1].isalnum() or text[-1] in "_,*+-/")
        text += (" " if wants or (text and word in "*+-/" and text[-1].isalnum()) else "") + word
    return text
