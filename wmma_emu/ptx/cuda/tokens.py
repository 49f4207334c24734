# SPDX-License-Identifier: MIT
"""The words of a C++ text, as far as it takes to tell declarations apart."""

import re
from typing import NamedTuple

__all__ = ["Token", "tokens_of"]

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


def tokens_of(text: str) -> list[Token]:
    r"""Cut a text into tokens, without comments and blanks.

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
    return found
