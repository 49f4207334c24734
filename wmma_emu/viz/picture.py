# SPDX-License-Identifier: MIT
"""A picture: SVG that shows itself in a notebook, and goes into a file."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from wmma_emu.errors import UnsupportedInstructionError

__all__ = ["Picture", "page"]

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


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG; ``str()`` of it is the SVG.

    Parameters
    ----------
    title : str
    svg : str
        Needs nothing else; its styles leave alone the page that it is put into.

    Examples
    --------
    >>> picture = Picture("nothing", "<svg/>")
    >>> str(picture), picture._repr_html_()
    ('<svg/>', '<figure style="margin:0;overflow-x:auto"><svg/></figure>')
    """

    title: str
    svg: str

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    def _repr_html_(self) -> str:
        return f'<figure style="margin:0;overflow-x:auto">{self.svg}</figure>'

    def html(self) -> str:
        """Return a whole page with the picture."""
        return page(self.title, f"<figure>{self.svg}</figure>")

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, ``.svg``, or ``.html`` for a whole page.

        Raises
        ------
        UnsupportedInstructionError
            For a name with another ending; then nothing is written.
        """
        kind = Path(path).suffix.lower()
        if kind not in (".svg", ".html"):
            raise UnsupportedInstructionError(f"a picture is written as .svg or .html; {path} is neither")
        Path(path).write_text(self.svg if kind == ".svg" else self.html(), encoding="utf-8")
