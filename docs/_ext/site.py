# SPDX-License-Identifier: MIT
"""The hooks of a site build: pages are generated before it, pictures and the explorer are added to it."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from docs._ext.instruction_groups import groups
from docs._ext.layout_gallery import pictured_layouts
from docs._ext.layout_pictures import PICTURES, pictures_of
from docs._ext.pages import write_pages
from wmma_emu.viz import explorer_page

__all__ = ["EXPLORER", "setup"]

EXPLORER = "explorer.html"
"""The explorer, in the site's root."""


def _write_pictures(app: Sphinx) -> None:
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    for layout in pictured_layouts(groups()):
        for name, svg in pictures_of(layout).items():
            (folder / name).write_text(svg, encoding="utf-8")
    (Path(app.outdir) / EXPLORER).write_text(explorer_page(documentation="./"), encoding="utf-8")


def _on_start(app: Sphinx) -> None:
    write_pages(Path(app.srcdir))
    _write_pictures(app)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", _on_start)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
