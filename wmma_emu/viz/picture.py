# SPDX-License-Identifier: MIT
"""A picture: SVG that notebooks display, and that can be saved as a file of five kinds."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path

from wmma_emu.errors import ArgumentError, WmmaEmuError, shorten
from wmma_emu.suggestions import listed
from wmma_emu.viz.png import png_of
from wmma_emu.viz.svg import checked_title
from wmma_emu.viz.tikz import tikz_document, tikz_picture

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 1rem; font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  color: #1b1f24; background: #ffffff; }}
figure {{ margin: 0 0 1rem; overflow-x: auto; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #e6edf3; background: #0d1117; }} }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def page(title: str, body: str) -> str:
    """Write a self-contained HTML page.

    Examples
    --------
    >>> page("a < b", "<p>text</p>").splitlines()[6]
    '<title>a &lt; b</title>'
    """
    return _PAGE.format(title=escape(title), body=body)


def scrolled(inner: str, name: str, tag: str = "figure") -> str:
    """Put content that may be wider than its page into a box that scrolls separately, from the keyboard too.

    Examples
    --------
    >>> scrolled("<svg/>", "a < b")
    '<figure tabindex="0" role="group" aria-label="a &lt; b" style="margin:0;overflow-x:auto"><svg/></figure>'
    """
    mark = f'tabindex="0" role="group" aria-label="{escape(name)}" style="margin:0;overflow-x:auto"'
    return f"<{tag} {mark}>{inner}</{tag}>"


class PictureFileError(WmmaEmuError, ValueError):
    """A file name whose ending is not a kind of picture."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG; ``str()`` of it is the SVG.

    Parameters
    ----------
    title : str
    svg : str
        Self-contained; its styles do not affect the page that contains it.

    Raises
    ------
    FragmentMismatchError
        If a field is not a string, or the title has a character that SVG cannot contain.

    Examples
    --------
    >>> picture = Picture("nothing", "<svg/>")
    >>> str(picture), picture._repr_html_() == scrolled("<svg/>", "nothing")
    ('<svg/>', True)
    """

    title: str
    svg: str

    def __post_init__(self) -> None:
        for name, given in (("title", self.title), ("svg", self.svg)):
            if not isinstance(given, str):
                raise ArgumentError(
                    f"the {name} of a picture must be a string, not {shorten(given)}; wmma_emu.viz.draw_matrix and "
                    f"similar functions make "
                    "pictures"
                )
        checked_title(self.title)

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    def _repr_html_(self) -> str:
        return scrolled(self.svg, self.title)

    def html(self) -> str:
        """Return a whole page with the picture."""
        return page(self.title, scrolled(self.svg, self.title))

    def text(self, kind: str) -> str:
        """Return the picture as ``"svg"``, ``"html"``, ``"tex"`` (a document of LaTeX) or ``"tikz"``.

        Raises
        ------
        PictureFileError
            If ``kind`` is another string.

        Examples
        --------
        >>> Picture("nothing", "<svg/>").text("svg")
        '<svg/>'
        """
        write = _TEXTS.get(f".{kind}")
        if write is None:
            raise PictureFileError(
                f"{shorten(kind)} is not a text form of a picture; legal forms are {', '.join(x[1:] for x in _TEXTS)}"
            )
        return write(self)

    def tikz(self) -> str:
        r"""Return the picture for LaTeX: a ``tikzpicture``, to be included in a document that uses
        ``\usepackage{tikz}``.

        Raises
        ------
        FragmentMismatchError
            If the SVG was not drawn by `wmma_emu.viz`, or the title has characters that cannot be written for LaTeX.

        Examples
        --------
        >>> import wmma_emu as we
        >>> text = we.viz.draw_matrix(we.instruction("m16n8k16.f32.f16.f16.f32").a).tikz()
        >>> text.splitlines()[0], text.count(r"\node"), text.splitlines()[-1]
        ('\\begin{tikzpicture}[x=0.75bp,y=-0.75bp]', 301, '\\end{tikzpicture}')
        """
        return tikz_picture(self.svg)

    def png(self, scale: float = 2) -> bytes:
        """Return the picture as PNG, with ``scale`` pixels per pixel of the SVG; requires the extra ``png``.

        Raises
        ------
        BackendUnavailableError
            If resvg-py is not installed, or the system has no fonts.
        """
        return png_of(self.svg, scale)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, by the ending of its name.

        ``.svg``; ``.html`` for a whole page; ``.tex`` for a document of LaTeX, ``.tikz`` for a ``tikzpicture`` to
        include in one; ``.png``, with the extra ``png``.

        Raises
        ------
        PictureFileError
            If the name has another ending; it is also a ValueError.
        BackendUnavailableError
            If the ending is ``.png`` and resvg-py is not installed.
        FileNotFoundError, OSError
            If the folder does not exist, or the system rejects the operation. In each case nothing is written, and an
            existing file is unchanged.
        """
        target = Path(path)
        kind = target.suffix.lower()
        write = _WRITERS.get(kind)
        if write is None:
            legal = listed(_WRITERS, "or")
            raise PictureFileError(
                f"{shorten(path, str)} does not end in the name of a picture format; legal endings are {legal}"
            )
        _replace(target, write(self))


_TEXTS: dict[str, Callable[[Picture], str]] = {
    ".svg": lambda picture: picture.svg,
    ".html": lambda picture: picture.html(),
    ".tex": lambda picture: tikz_document(picture.svg),
    ".tikz": lambda picture: picture.tikz(),
}

_WRITERS: dict[str, Callable[[Picture], str | bytes]] = {**_TEXTS, ".png": lambda picture: picture.png()}
"""The endings of files, and the function that writes the contents of each."""


def _replace(path: Path, written: str | bytes) -> None:
    """Write a temporary file in the same folder, then rename it; the mode of a replaced file is kept."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist; create it first", str(target.parent))
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        with open(temporary, "xb") as file:
            with suppress(FileNotFoundError):
                shutil.copymode(target, temporary)
            file.write(written.encode() if isinstance(written, str) else written)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
