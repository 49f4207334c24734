# SPDX-License-Identifier: MIT
"""A picture: SVG that shows itself in a notebook, and goes into a file of any of five kinds."""

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
    """Write a page of HTML that needs nothing else.

    Examples
    --------
    >>> page("a < b", "<p>text</p>").splitlines()[6]
    '<title>a &lt; b</title>'
    """
    return _PAGE.format(title=escape(title), body=body)


def scrolled(inner: str, name: str, tag: str = "figure") -> str:
    """Put what may be wider than its page into a box that scrolls by itself, from the keyboard too.

    Examples
    --------
    >>> scrolled("<svg/>", "a < b")
    '<figure tabindex="0" role="group" aria-label="a &lt; b" style="margin:0;overflow-x:auto"><svg/></figure>'
    """
    mark = f'tabindex="0" role="group" aria-label="{escape(name)}" style="margin:0;overflow-x:auto"'
    return f"<{tag} {mark}>{inner}</{tag}>"


class PictureFileError(WmmaEmuError, ValueError):
    """A file's name whose ending says no kind of picture."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG; ``str()`` of it is the SVG.

    Parameters
    ----------
    title : str
    svg : str
        Needs nothing else; its styles leave alone the page that it is put into.

    Raises
    ------
    FragmentMismatchError
        For what is no text, and for a title that SVG cannot hold.

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
                    f"the {name} of a picture is text, not {shorten(given)}; wmma_emu.viz.draw_matrix and its kin make "
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
            For another kind.

        Examples
        --------
        >>> Picture("nothing", "<svg/>").text("svg")
        '<svg/>'
        """
        write = _TEXTS.get(f".{kind}")
        if write is None:
            raise PictureFileError(f"a picture is text as {', '.join(x[1:] for x in _TEXTS)}; not as {shorten(kind)}")
        return write(self)

    def tikz(self) -> str:
        r"""Return the picture for LaTeX: a ``tikzpicture``, to be put into a document that has ``\usepackage{tikz}``.

        Raises
        ------
        FragmentMismatchError
            For SVG of your own, and for a title with characters that have no spelling for LaTeX here.

        Examples
        --------
        >>> import wmma_emu as we
        >>> text = we.viz.draw_matrix(we.instruction("m16n8k16.f32.f16.f16.f32").a).tikz()
        >>> text.splitlines()[0], text.count(r"\node"), text.splitlines()[-1]
        ('\\begin{tikzpicture}[x=0.75bp,y=-0.75bp]', 301, '\\end{tikzpicture}')
        """
        return tikz_picture(self.svg)

    def png(self, scale: float = 2) -> bytes:
        """Return the picture as PNG, so many pixels to one of the SVG; with the extra ``png``.

        Raises
        ------
        BackendUnavailableError
            Without resvg-py, and on a system without fonts.
        """
        return png_of(self.svg, scale)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, by the ending of its name.

        ``.svg``; ``.html`` for a whole page; ``.tex`` for a document of LaTeX, ``.tikz`` for a ``tikzpicture`` to be
        put into one; ``.png``, with the extra ``png``.

        Raises
        ------
        PictureFileError
            For a name with another ending: it is a ValueError too.
        BackendUnavailableError
            For ``.png`` without resvg-py.
        FileNotFoundError, OSError
            If there is no such folder, or the system refuses. In each case nothing is written, and a file that was
            there is as it was.
        """
        target = Path(path)
        kind = target.suffix.lower()
        write = _WRITERS.get(kind)
        if write is None:
            legal = listed(_WRITERS, "or")
            raise PictureFileError(f"a picture is written as {legal}; {shorten(path, str)} is none of them")
        _replace(target, write(self))


_TEXTS: dict[str, Callable[[Picture], str]] = {
    ".svg": lambda picture: picture.svg,
    ".html": lambda picture: picture.html(),
    ".tex": lambda picture: tikz_document(picture.svg),
    ".tikz": lambda picture: picture.tikz(),
}

_WRITERS: dict[str, Callable[[Picture], str | bytes]] = {**_TEXTS, ".png": lambda picture: picture.png()}
"""Endings of files, and what is written into them."""


def _replace(path: Path, written: str | bytes) -> None:
    """Write a file under a temporary name beside it, then give it its own; one that is replaced hands its mode on."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder; make it first", str(target.parent))
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
