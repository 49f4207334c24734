# SPDX-License-Identifier: MIT
"""The navigation tree of each page: deep entries appear only on nearby pages.

Sphinx would copy the headings of all pages for each page, 1,572 instructions among them: half of the time of a build.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

__all__ = ["setup"]

_SHOWN_EVERYWHERE = 2
"""The number of levels of the tree that are on every page."""


def _entries(env: BuildEnvironment, document: str) -> Iterator[tuple[str, str]]:
    """Return the pages below a page: their titles and their names."""
    for tree in env.tocs[document].findall(addnodes.toctree):
        for title, name in tree["entries"]:
            if name in env.titles:
                yield title or env.titles[name].astext(), name


def _way_to(env: BuildEnvironment, document: str) -> tuple[str, ...]:
    """Return the pages that lead to a page, itself included."""
    parents = {x: name for name, found in env.toctree_includes.items() for x in found}
    way = [document]
    while way[-1] in parents:
        way.append(parents[way[-1]])
    return tuple(way)


def _list(app: Sphinx, page: str, document: str, way: tuple[str, ...], level: int) -> str:
    items = []
    for title, name in _entries(app.env, document):
        current = " current" if name in way else ""
        uri = "#" if name == page else app.builder.get_relative_uri(page, name)
        below = _list(app, page, name, way, level + 1) if level < _SHOWN_EVERYWHERE or name in way else ""
        items.append(
            f'<li class="toctree-l{level}{current}"><a class="{current} reference internal" href="{escape(uri)}">'
            f"{escape(title)}</a>{below}</li>"
        )
    return f"<ul>\n{chr(10).join(items)}\n</ul>" if items else ""


def _replace(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    way = _way_to(app.env, page)
    context["toctree"] = lambda **options: _list(app, page, app.config.root_doc, way, 1)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, before the theme asks for the tree."""
    app.connect("html-page-context", _replace, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
