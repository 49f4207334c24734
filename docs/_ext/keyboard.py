# SPDX-License-Identifier: MIT
"""Keyboard access to scrolling boxes: code, tables and pictures that may be wider than their column.

Each such box of a page can be reached with the Tab key, and has a name. Only a
browser can determine which boxes scroll: ``_static/reading.js`` removes the others from the tab order.
"""

import re
from functools import partial
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:  # the tests of `reachable` have no Sphinx
    from sphinx.application import Sphinx

__all__ = ["reachable", "setup"]

_BARE_TABLE = re.compile(
    r'(?<!<div class="table-wrapper">)(<table(?![^>]*docutils)(?:\s[^>]*)?>.*?</table>)', re.DOTALL
)  # fmt: skip
_BOXES = {
    "Code": re.compile(r"<pre(?=[\s>])(?![^>]*data-scrolls)"),
    "Table": re.compile(r'<div (?=class="table-wrapper)(?![^>]*data-scrolls)'),
    "Picture": re.compile(r'<div (?=class="picture")|<p(?=><img [^>]*src="[^"]*\.svg")'),
    "Output": re.compile(r'<div (?=class="output )'),
}
_HEADINGS = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
_EMPTY_HEADING = re.compile(r"<th\b([^>]*)>\s*(?:<p>\s*</p>)?\s*</th>")
_MOST = 60


def reachable(body: str) -> str:
    """Return the HTML of a page with every box that may scroll reachable from the keyboard.

    Examples
    --------
    >>> print(reachable('<div class="highlight"><pre>x</pre></div>'))
    <div class="highlight"><pre tabindex="0" role="group" aria-label="Code" data-scrolls>x</pre></div>
    >>> print(reachable('<table><tr><th>a</th><th>b</th></tr></table>').partition("<table>")[0])
    <div tabindex="0" role="group" aria-label="Table: a, b" data-scrolls class="table-wrapper">
    """
    body = _EMPTY_HEADING.sub(r"<td\1></td>", body)  # an empty heading is not a heading
    body = _BARE_TABLE.sub(r'<div class="table-wrapper">\1</div>', body)
    for name, box in _BOXES.items():
        body = box.sub(partial(_stop, name=name, body=body), body)
    return body


def _stop(found: re.Match[str], name: str, body: str) -> str:
    """Write an opening tag with the attributes of a tab stop; tables are named by the headings of their columns."""
    if name == "Table":
        table = body[found.end() : body.find("</table>", found.end())]
        texts = [unescape(re.sub(r"<[^>]+>", "", x)).strip() for x in _HEADINGS.findall(table)]
        name = f"Table: {', '.join(x for x in texts if x)}"[:_MOST] if any(texts) else name
    stop = f'tabindex="0" role="group" aria-label="{escape(name)}" data-scrolls'
    return f"{found[0]}{stop} " if found[0].endswith(" ") else f"{found[0]} {stop}"


def _on_page(app: "Sphinx", page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    if "body" in context:
        context["body"] = reachable(context["body"])


def setup(app: "Sphinx") -> dict[str, Any]:
    """Register with Sphinx, after all other handlers that change a page."""
    app.connect("html-page-context", _on_page, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
