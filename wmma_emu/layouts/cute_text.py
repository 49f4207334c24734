# SPDX-License-Identifier: MIT
"""CuTe layouts as strings: ``((4,8),(2,2)):((32,1),(16,8))``, and as C++ types."""

import re
from typing import TypeAlias

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"
"""An integer, or a nested tuple of integers."""

_LONGEST = 2000
_MOST_DIGITS = 9
_TOKEN = re.compile(r"\s*(?:_?(\d+)|(?:Int|C)<\s*(\d+)\s*>(?:\{\})?|([(),:]))", re.ASCII)
_CPP = re.compile(r"\b(?:cute::)?(?:Layout|Shape|Stride|Step|Coord|Tile|make_(?:layout|shape|stride))\s*[<(]", re.ASCII)
_FORM = "write it as ((4,8),(2,2,2)):((32,1),(16,8,128))"


def written(numbers: IntTuple) -> str:
    """Write integers as CuTe prints them.

    Examples
    --------
    >>> written((4, (2, 3)))
    '(4,(2,3))'
    """
    return str(numbers) if isinstance(numbers, int) else f"({','.join(written(x) for x in numbers)})"


def cpp(shape: IntTuple, stride: IntTuple) -> str:
    """Write a layout's C++ type.

    Examples
    --------
    >>> cpp(((4, 8), 2), ((16, 1), 8))
    'Layout<Shape<Shape<_4,_8>,_2>, Stride<Stride<_16,_1>,_8>>'
    """
    return f"Layout<{_cpp('Shape', shape)}, {_cpp('Stride', stride)}>"


def _cpp(name: str, numbers: IntTuple) -> str:
    return f"_{numbers}" if isinstance(numbers, int) else f"{name}<{','.join(_cpp(name, x) for x in numbers)}>"


def parsed_layout(text: object) -> "tuple[IntTuple, IntTuple | None]":
    """Parse a shape and, if present, strides.

    Examples
    --------
    >>> parsed_layout("(_4,(2,3)):(1,(4,8))"), parsed_layout("Layout<_32>")
    (((4, (2, 3)), (1, (4, 8))), (32, None))
    """
    if not isinstance(text, str):
        raise ArgumentError(f"a CuTe layout is a string, not {shorten(text)}; {_FORM}")
    if len(text) > _LONGEST:
        raise ArgumentValueError(f"a string of {len(text)} characters is too long for a CuTe layout; {_FORM}")
    plain, is_cpp = text.strip(), bool(_CPP.search(text))
    if is_cpp:
        plain = re.sub(r"\b(?:Int|C)<\s*(\d+)\s*>(?:\{\})?", r"\1", plain)
        plain = _CPP.sub("(", plain).replace(">", ")").rstrip(";{} ")
    tokens = _tokens(plain, text)
    shape = _read(tokens, text)
    if is_cpp:  # the template's own parentheses contain a shape and perhaps a stride
        if tokens:
            raise _refusal(text, _left_over(tokens[0]))
        pair = shape if isinstance(shape, tuple) else (shape,)
        if len(pair) > 2:
            raise _refusal(text, "it has more than a shape and strides")
        return pair[0], pair[1] if len(pair) == 2 else None
    stride = None
    if tokens[:1] == [":"]:
        del tokens[0]
        stride = _read(tokens, text)
    if tokens:
        raise _refusal(text, _left_over(tokens[0]))
    return shape, stride


def _tokens(plain: str, text: str) -> list[str]:
    tokens, place = [], 0
    while plain[place:].strip():
        found = _TOKEN.match(plain, place)
        if found is None:
            raise ArgumentValueError(
                f"{shorten(text)} is not a CuTe layout: {plain[place:].strip()[:12]!a} is not an integer or a bracket; "
                + _FORM
            )
        token = found[1] or found[2] or found[3]
        if len(token) > _MOST_DIGITS:
            raise _refusal(text, f"{shorten(token, str)} has more than {_MOST_DIGITS} digits")
        tokens.append(token)
        place = found.end()
    return tokens


def _read(tokens: list[str], text: str) -> IntTuple:
    """Remove an integer or a bracketed list from the front of the tokens."""
    if not tokens:
        raise _refusal(text, "an integer or a bracket is missing at its end" if text.strip() else "it is empty")
    token = tokens.pop(0)
    if token.isdecimal():
        return int(token)
    if token != "(":
        raise _refusal(text, f"an integer or a bracket is missing before {token!r}")
    found = [_read(tokens, text)]
    while tokens[:1] == [","]:
        del tokens[0]
        found.append(_read(tokens, text))
    if tokens[:1] != [")"]:
        raise _refusal(text, _left_over(tokens[0]) if tokens[:1] not in ([], [":"]) else "its brackets do not close")
    del tokens[0]
    return tuple(found)


def _left_over(token: str) -> str:
    """Describe the error of a token that cannot follow the tokens before it."""
    known = {
        ":": "it has more than one ':'; a single ':' separates shape and strides",
        ")": "a bracket closes that is not open",
        ",": "',' separates modes, which must be in brackets",
    }
    return known.get(token, f"a comma is missing before {token!r}")


def _refusal(text: str, why: str) -> ArgumentValueError:
    return ArgumentValueError(f"{shorten(text)} is not a CuTe layout: {why}; {_FORM}")
