# SPDX-License-Identifier: MIT
"""Links of pages to other files of the repository: each such file gets a page with its source.

Pages can be read in the repository too, so they link to its files by relative path: ``../../examples/lop3.py``. A
link to a file that is also a page of the site, such as the README of the examples, leads to that page.
"""

import os
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

__all__ = ["FILES", "PAGES", "ROOT", "setup"]

ROOT = Path(__file__).resolve().parents[2]
"""The root of the repository."""

FILES = "files"
"""Folder of the site with the pages of sources."""

PAGES = {
    "README.md": "index",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "docs/evidence/README.md": "evidence/index",
    "examples/README.md": "examples/index",
    "examples/ptx/README.md": "examples/ptx",
}
"""Files that pages include, whole or in large part."""

_LOGGER = logging.getLogger(__name__)
_MOST_BYTES = 400_000
"""The largest size of a shown file; larger files, and files that are not text, are not shown."""


class LinksToFiles(SphinxTransform):
    """Replace links to files of the repository by links to their pages."""

    default_priority = 10

    def apply(self, **options: Any) -> None:
        """Process every link that names a path."""
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for node in list(self.document.findall(kind)):
                if node.get("reftype") == "myst" and "://" not in node["reftarget"]:
                    self._resolve(node)

    def _resolve(self, node: nodes.Element) -> None:
        target, _, anchor = node["reftarget"].partition("#")
        if node.get("refdomain") == "doc":
            target += ".md"
            anchor = node.get("reftargetid") or ""
        path = self._find(target, node)
        if path is None:
            return
        name = path.relative_to(ROOT).as_posix()
        if name in PAGES:
            name = PAGES[name]
        elif path.suffix == ".md" and path.is_relative_to(ROOT / "docs"):
            name = f"{name.removeprefix('docs/').removesuffix('.md')}"
        elif path.is_relative_to(ROOT / "docs"):
            if isinstance(node, addnodes.pending_xref):  # named from elsewhere, by a page that is included
                _LOGGER.warning("%s is named from outside its folder", name, location=node)
            return
        else:
            self._link_to_source(node, path)
            return
        found = addnodes.pending_xref(
            "", *node.children, refdomain="doc", reftarget=name, reftargetid=anchor or None,
            refdoc=self.env.docname, reftype="myst", refexplicit=True,
        )  # fmt: skip
        found.source, found.line = node.source, node.line
        node.replace_self(found)

    def _find(self, target: str, node: nodes.Element) -> Path | None:
        """Find a file as seen from the page, or from a file that the page includes."""
        if not target:
            return None
        page = self.env.doc2path(self.env.docname).parent
        included = [ROOT / name for name, document in PAGES.items() if document == self.env.docname]
        for folder in (page, *(x.parent for x in included)):
            path = Path(os.path.normpath(folder / target))
            if path.exists() and path.is_relative_to(ROOT):
                return path
        # MyST gives the path of a page from the folder of the documentation.
        path = Path(os.path.normpath(Path(self.env.srcdir) / target))
        return path if node.get("refdomain") == "doc" and path.exists() else None

    def _link_to_source(self, node: nodes.Element, path: Path) -> None:
        name = path.relative_to(ROOT).as_posix()
        _linked(self.env).setdefault(self.env.docname, set()).add(name)
        reference = addnodes.pending_xref(
            "", *node.children, refdomain="", reftype="repository-file", reftarget=name, refexplicit=True,
            refdoc=self.env.docname,
        )  # fmt: skip
        reference.source, reference.line = node.source, node.line
        node.replace_self(reference)


def _linked(env: BuildEnvironment) -> dict[str, set[str]]:
    """Return the files that each page links to."""
    found: dict[str, set[str]] = env.__dict__.setdefault("repository_files", {})
    return found


def _reference(app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Node) -> Any:
    if node.get("reftype") != "repository-file":
        return None
    uri = app.builder.get_relative_uri(node["refdoc"], f"{FILES}/{node['reftarget']}")
    return nodes.reference("", "", content, internal=True, refuri=uri)


def _forget(app: Sphinx, env: BuildEnvironment, document: str) -> None:
    _linked(env).pop(document, None)


def _merge(app: Sphinx, env: BuildEnvironment, documents: Iterable[str], other: BuildEnvironment) -> None:
    _linked(env).update({name: files for name, files in _linked(other).items() if name in documents})


def _source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    for name in sorted(set().union(*_linked(app.env).values())):
        path = ROOT / name
        if path.is_dir():
            _LOGGER.warning("%s is a folder; link to a file", name)
            continue
        heading = f"<h1>{escape(name)}</h1>"
        yield f"{FILES}/{name}", {"title": name, "body": f"{heading}\n{_highlighted(path)}"}, "page.html"


def _highlighted(path: Path) -> str:
    raw = path.read_bytes()
    if len(raw) > _MOST_BYTES or b"\0" in raw[:4096]:
        return f"<p>{len(raw):,} bytes, not shown here.</p>"
    text = raw.decode("utf-8")
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    shown: str = highlight(text, lexer, HtmlFormatter(cssclass="highlight"))
    return shown


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_transform(LinksToFiles)
    app.connect("missing-reference", _reference)
    app.connect("env-purge-doc", _forget)
    app.connect("env-merge-info", _merge)
    app.connect("html-collect-pages", _source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
