# SPDX-License-Identifier: MIT
"""The explorer: one page that shows, for every instruction, which lane holds which element; and handouts to print."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from wmma_emu.applications.explorer.data import explorer_data
from wmma_emu.applications.explorer.schedules import coded_schedules
from wmma_emu.documentation import DOCUMENTATION
from wmma_emu.instructions import Instruction, arch_of, lookup
from wmma_emu.instructions.arch import usual_chip
from wmma_emu.instructions.reference_pages import FOLDER
from wmma_emu.version import __version__

__all__ = ["explorer_page", "handout_page"]

_HERE = Path(__file__).parent
_SCRIPTS = (
    "layouts", "tensor", "catalogue", "words", "names", "cute", "english", "questions", "answers", "figures", "light",
    "product", "panels", "handout", "scales", "tile", "schedules", "links", "state", "choose", "show", "saves", "cells",
    "list", "page",
)  # fmt: skip
"""The files of the explorer's script, in order."""

_HANDOUT_SCRIPTS = (
    "layouts", "tensor", "catalogue", "words", "names", "cute", "answers", "figures", "panels", "handout",
)  # fmt: skip
"""The files of the script that draws a handout."""


_PAGES = (
    ("index.html", "Documentation"),
    ("how-to/find-what-a-lane-holds.html", "How to use the explorer"),
    ("lessons/index.html", "Lessons"),
)
"""Pages of the documentation that are always linked."""


def explorer_page(*, documentation: str | None = None) -> str:
    """Write the explorer: a self-contained HTML page of every instruction in the tables.

    Parameters
    ----------
    documentation : str, optional
        The address of the documentation that the page links to, with a slash at its end: absolute, or relative to the
        page (``"./"`` in the same folder, ``"../"`` in a subfolder). By default, the address of the hosted
        documentation; if there is none, as with ``""``, the page has no links.

    Returns
    -------
    str
        The whole page, under 3 MB, with its data, styles and script. It needs no network.

    Examples
    --------
    >>> page = explorer_page()
    >>> page.startswith("<!doctype html>"), len(page.encode()) < 3_000_000
    (True, True)
    >>> '<a href="./lessons/index.html">' in explorer_page(documentation="./")
    True
    """
    documentation = DOCUMENTATION if documentation is None else documentation
    return _joined("explorer.html", ("explorer.css", "handout.css"), _SCRIPTS, {
        **explorer_data(), "schedules": coded_schedules(), "documentation": documentation, "version": __version__,
    }, {"links": _links_to(documentation)})  # fmt: skip


def handout_page(instruction: str | Instruction, arch: str | None = None) -> str:
    """Write a handout of an instruction: an HTML page that prints on one sheet, A4 or Letter.

    Parameters
    ----------
    instruction : str or Instruction
        A PTX mnemonic, or an entry of the table.
    arch : str, optional
        A chip; by default sm_90, or the first chip with the instruction.

    Returns
    -------
    str
        The whole page, with A, B, C and D, the lanes and registers of their elements, and the formulas.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction does not exist, or the chip does not support it.

    Examples
    --------
    >>> page = handout_page("m16n8k16.f32.f16.f16.f32")
    >>> page.startswith("<!doctype html>"), len(page.encode()) < 150_000
    (True, True)
    """
    chip = None if arch is None else arch_of(arch)
    entry = lookup(instruction, chip)
    name = (chip or usual_chip(entry.archs)).name
    entries = () if entry.is_tensor else (entry,)
    data = {**explorer_data(entries, moves=False, tensor_memory=entry.is_tensor), "version": __version__}
    data["default"] = {"chip": name, "instruction": entry.mnemonic}
    title = f"{entry.short_mnemonic} on {name}: which lane holds what"
    return _joined("handout.html", ("handout.css",), _HANDOUT_SCRIPTS, data, {"title": title})


def _links_to(documentation: str) -> str:
    """Return a list of links to pages of the documentation; empty if its address is unknown.

    The script changes the link to the page of the chosen instruction; until then it leads to the list of all pages.

    Examples
    --------
    >>> print(_links_to("../"))
    <nav class="links" aria-label="Documentation"><a href="../index.html">Documentation</a>
    <a href="../how-to/find-what-a-lane-holds.html">How to use the explorer</a>
    <a href="../lessons/index.html">Lessons</a>
    <a id="reference" href="../reference/instructions/index.html">All instructions</a></nav>
    >>> _links_to("")
    ''
    """
    if not documentation:
        return ""
    lines = [f'<a href="{escape(documentation + path)}">{title}</a>' for path, title in _PAGES]
    lines.append(f'<a id="reference" href="{escape(documentation)}{FOLDER}/index.html">All instructions</a>')
    return f'<nav class="links" aria-label="Documentation">{chr(10).join(lines)}</nav>'


def _joined(
    page: str, styles: Sequence[str], scripts: Sequence[str], data: dict[str, Any], more: dict[str, str]
) -> str:
    """Assemble a page: its text, styles, scripts and data, and pieces of text by name."""
    text = _text(page)
    parts = {
        **more,
        "version": __version__,
        "style": "\n".join(map(_text, styles)),
        # "<" is escaped so that no text of the data ends its element.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "script": "\n".join(_text(f"script/{name}.js") for name in scripts),
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part).replace(f"/*{name}*/", part)
    return text


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
