# SPDX-License-Identifier: MIT
"""A picture: SVG that shows itself in a notebook, and goes into a file."""

import errno
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path

from wmma_emu.errors import ArgumentError, WmmaEmuError, shorten
from wmma_emu.viz.svg import checked_title

__all__ = ["Picture", "PictureFileError", "page", "scrolled"]

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
    """A file's name that says neither SVG nor a page."""


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

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, ``.svg``, or ``.html`` for a whole page.

        Raises
        ------
        PictureFileError
            For a name with another ending: it is a ValueError too.
        FileNotFoundError, OSError
            If there is no such folder, or the system refuses. In each case nothing is written, and a file that was
            there is as it was.
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind not in (".svg", ".html"):
            raise PictureFileError(f"a picture is written as .svg or .html; {shorten(path, str)} is neither")
        _replace(target, self.svg if kind == ".svg" else self.html())


def _replace(path: Path, text: str) -> None:
    """Write a file under a temporary name beside it, then give it its own; one that is replaced hands its mode on."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder; make it first", str(target.parent))
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            with suppress(FileNotFoundError):
                shutil.copymode(target, temporary)
            file.write(text)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
