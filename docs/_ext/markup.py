# SPDX-License-Identifier: MIT
"""Small pieces of HTML for generated pages, without empty lines."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["code", "link", "relative", "table"]


def code(text: str) -> str:
    """Return text as code; it may break after a dot, so that mnemonics fit narrow screens.

    Examples
    --------
    >>> code("m16n8k16.f32")
    '<code class="docutils literal">m16n8k16.<wbr>f32</code>'
    """
    return f'<code class="docutils literal">{escape(text).replace(".", ".<wbr>")}</code>'


def link(text: str, target: str) -> str:
    """Return a link; the text is HTML, the target is not.

    Examples
    --------
    >>> link("here", "page.html#a&b")
    '<a class="reference internal" href="page.html#a&amp;b">here</a>'
    """
    return f'<a class="reference internal" href="{escape(target)}">{text}</a>'


def relative(document: str, target: str) -> str:
    """Return the relative path from a page to a file of the site, both named from the site's root.

    Examples
    --------
    >>> relative("reference/instructions/mma-sync", "explorer.html")
    '../../explorer.html'
    """
    return "../" * document.count("/") + target


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], name: str = "") -> str:
    """Return a table that scrolls separately if the page is too narrow; cells are HTML.

    Examples
    --------
    >>> print(table(["a"], [["1"], ["2"]]))
    <div class="table-wrapper"><table class="docutils">
    <thead><tr><th>a</th></tr></thead>
    <tbody>
    <tr><td>1</td></tr>
    <tr><td>2</td></tr>
    </tbody></table></div>
    """
    head = "".join(f"<th>{x}</th>" for x in headings)
    body = "\n".join(f"<tr>{''.join(f'<td>{x}</td>' for x in row)}</tr>" for row in rows)
    classes = f"docutils {name}".strip()
    return (
        f'<div class="table-wrapper"><table class="{classes}">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
