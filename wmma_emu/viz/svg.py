# SPDX-License-Identifier: MIT
"""SVG strings: elements with escaped attributes, lines that fit a width, a document in light and dark colours."""

import re
import textwrap
from collections.abc import Iterable
from html import escape

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten

_WIDE, _AVERAGE = 0.64, 0.58
"""Widths of a digit and of an average letter in units of the font size, for DejaVu Sans, one of the widest fonts."""

_NOTE, _NOTE_STEP = 12, 17
"""The font size of the sentences below a title, and their line spacing."""

_NO_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain, not even escaped: control characters, lone surrogates."""

_STYLE = """
.{name} {{ font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
.{name} text {{ fill: #1b1f24; }}
.{name} .quiet {{ fill: #57606a; }}
.{name} .back {{ fill: #ffffff; }}
.{name} .line {{ fill: none; stroke: #8c959f; }}
{day}
@media (prefers-color-scheme: dark) {{
.{name} text {{ fill: #e6edf3; }}
.{name} .quiet {{ fill: #9da7b3; }}
.{name} .back {{ fill: #0d1117; }}
.{name} .line {{ stroke: #6e7681; }}
{night}
}}
""".strip()


def checked_title(title: object) -> str:
    r"""Check a user's title; None is an empty title.

    Examples
    --------
    >>> checked_title("A of mine"), checked_title(None)
    ('A of mine', '')
    >>> checked_title("two\x00")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentValueError: the title is 'two\x00'; SVG cannot contain its character '\x00': remove it
    """
    if title is None:
        return ""
    if not isinstance(title, str):
        raise ArgumentError(f"the title is {shorten(title)}; expected a string, as in title='...'")
    found = _NO_XML.search(title)
    if found:
        raise ArgumentValueError(
            f"the title is {shorten(title)}; SVG cannot contain its character {shorten(found[0])}: remove it"
        )
    return title


def element(tag: str, *children: str, **attributes: str | int | float) -> str:
    """Write an element. Children are SVG already; attributes are escaped, and ``_`` in their names is ``-``.

    Examples
    --------
    >>> element("text", escape("a < b"), x=1.5, text_anchor="end", class_="quiet")
    '<text x="1.5" text-anchor="end" class="quiet">a &lt; b</text>'
    """
    written = "".join(f' {name.rstrip("_").replace("_", "-")}="{_value(x)}"' for name, x in attributes.items())
    inner = "".join(children)
    return f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def _value(given: str | int | float) -> str:
    return escape(given) if isinstance(given, str) else f"{given:.6g}"


def text_width(text: str, size: float) -> float:
    """Return an upper limit on the width of a line of text in common fonts.

    Examples
    --------
    >>> text_width("sm_90", 10)
    32.0
    """
    return len(text) * size * _WIDE


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Break a sentence into lines that fit; words that are too long are broken anywhere.

    Examples
    --------
    >>> wrapped("16 a step, 25 bits, RZ to f32", 100, 10)
    ['16 a step, 25', 'bits, RZ to f32']
    """
    return textwrap.wrap(text, max(int(width / (size * _AVERAGE)), 1), break_on_hyphens=False)


def text_lines(lines: Iterable[str], x: float, y: float, size: float, step: float, **attributes: str) -> list[str]:
    """Write lines one below the other; ``y`` is the base line of the first."""
    return [
        element("text", escape(line), x=x, y=y + i * step, font_size=size, **attributes) for i, line in enumerate(lines)
    ]


def heading(
    title: str, notes: Iterable[str], left: float, top: float, width: float, size: float, step: float
) -> tuple[list[str], float]:
    """Write a title in lines that fit, and sentences below it; return them and the y at which the next part may begin.

    ``top`` is the base line of the title's first line, ``step`` the distance of its lines.
    """
    titles = wrapped(title, width, 1.15 * size)  # bold letters are wider
    body = text_lines(titles, left, top, size, step, font_weight="600")
    y = top + step * (len(titles) - 1) + 20
    for note in notes:
        lines = wrapped(note, width, _NOTE)
        body += text_lines(lines, left, y, _NOTE, _NOTE_STEP, class_="quiet")
        y += _NOTE_STEP * len(lines)
    return body, y


def document(
    name: str, width: float, height: float, title: str, description: str, day: str, night: str, body: Iterable[str]
) -> str:
    """Write a picture with its own background, in colours for light and for dark surroundings.

    ``name`` is its class, with which all its style rules begin: they do not affect the surrounding page. ``day``
    are further styles, ``night`` the styles that replace them if the reader prefers dark colours. Title and
    description are for screen readers. Characters that XML cannot contain, as in quoted source, become U+FFFD.
    """
    style = _STYLE.format(name=name, day=day.strip(), night=night.strip())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{escape(name)}" width="{_value(width)}" '
        f'height="{_value(height)}" viewBox="0 0 {_value(width)} {_value(height)}" role="img">',
        element("title", escape(title)),
        element("desc", escape(description)),
        element("style", "\n", style, "\n"),
        element("rect", width=width, height=height, class_="back"),
        *body,
        "</svg>",
    ]
    return _NO_XML.sub("\ufffd", "\n".join(lines) + "\n")
