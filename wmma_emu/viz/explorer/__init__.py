# SPDX-License-Identifier: MIT
"""The explorer: one page that says, of every instruction, which element a lane holds."""

import json
from pathlib import Path

from wmma_emu import __version__
from wmma_emu.documentation import DOCUMENTATION
from wmma_emu.viz.explorer.data import explorer_data
from wmma_emu.viz.explorer.links import links_to
from wmma_emu.viz.explorer.schedules import coded_schedules

__all__ = ["explorer_page"]

_HERE = Path(__file__).parent
_SCRIPTS = (
    "layouts", "catalogue", "words", "questions", "answers", "figures", "light", "product", "panels", "scales",
    "schedules", "links", "state", "choose", "show", "cells", "list", "page",
)  # fmt: skip
"""Files of one script, in the order in which they stand in it."""


def explorer_page(*, documentation: str | None = None) -> str:
    """Write the explorer: a page of HTML that needs nothing else, of every instruction in the tables.

    Parameters
    ----------
    documentation : str, optional
        Address of the documentation that the page links to, with a slash at its end: absolute, or as seen from the
        place of the page (``"./"`` beside it, ``"../"`` in a folder of it). Left out, it is the address at which the
        documentation is hosted; where there is none, as with ``""``, the page has no links.

    Returns
    -------
    str
        The whole page, under 3 MB, with its data, styles and script. It asks nothing of a network.

    Examples
    --------
    >>> page = explorer_page()
    >>> page.startswith("<!doctype html>"), len(page.encode()) < 3_000_000
    (True, True)
    >>> '<a href="./lessons/index.html">' in explorer_page(documentation="./")
    True
    """
    documentation = DOCUMENTATION if documentation is None else documentation
    text = (_HERE / "explorer.html").read_text(encoding="utf-8")
    data = {**explorer_data(), "schedules": coded_schedules(), "documentation": documentation}
    parts = {
        "links": links_to(documentation),
        "version": __version__,
        "style": (_HERE / "explorer.css").read_text(encoding="utf-8"),
        # "<" is escaped so that no text of the data ends the element that holds it.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "script": "\n".join((_HERE / "script" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS),
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part).replace(f"/*{name}*/", part)
    return text
