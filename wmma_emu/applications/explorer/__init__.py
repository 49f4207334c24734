# SPDX-License-Identifier: MIT
"""The explorer: one page that says, of every instruction, which element a lane holds; and handouts to print."""

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
"""Files of the explorer's script, in the order in which they stand in it."""

_HANDOUT_SCRIPTS = (
    "layouts", "tensor", "catalogue", "words", "names", "cute", "answers", "figures", "panels", "handout",
)  # fmt: skip
"""Those that draw a handout."""


_PAGES = (
    ("index.html", "Documentation"),
    ("how-to/find-what-a-lane-holds.html", "How to use the explorer"),
    ("lessons/index.html", "Lessons"),
)
"""Pages of the documentation that there is always a link to."""


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
    return _joined("explorer.html", ("explorer.css", "handout.css"), _SCRIPTS, {
        **explorer_data(), "schedules": coded_schedules(), "documentation": documentation, "version": __version__,
    }, {"links": _links_to(documentation)})  # fmt: skip


def handout_page(instruction: str | Instruction, arch: str | None = None) -> str:
    """Write a handout of an instruction: a page of HTML that prints on one sheet, A4 or Letter.

    Parameters
    ----------
    instruction : str or Instruction
        A PTX mnemonic, or a row of the table.
    arch : str, optional
        A chip; sm_90 if left out, or the first that has the instruction.

    Returns
    -------
    str
        The whole page, with A, B, C and D, the lanes and registers of their elements, and the formulas.

    Raises
    ------
    UnsupportedInstructionError
        For an instruction that does not exist, or not on that chip.

    Examples
    --------
    >>> page = handout_page("m16n8k16.f32.f16.f16.f32")
    >>> page.startswith("<!doctype html>"), len(page.encode()) < 150_000
    (True, True)
    """
    chip = None if arch is None else arch_of(arch)
    row = lookup(instruction, chip)
    name = (chip or usual_chip(row.archs)).name
    rows = () if row.is_tensor else (row,)
    data = {**explorer_data(rows, moves=False, tensor_memory=row.is_tensor), "version": __version__}
    data["default"] = {"chip": name, "instruction": row.mnemonic}
    title = f"{row.short_mnemonic} on {name}: which lane holds what"
    return _joined("handout.html", ("handout.css",), _HANDOUT_SCRIPTS, data, {"title": title})


def _links_to(documentation: str) -> str:
    """Write a list of links to pages of the documentation; nothing where its address is not known.

    The link to the page of the chosen instruction is changed by the script; until then it leads to all of them.

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
    """Put a page together: its text, styles, scripts and data, and pieces of the text by name."""
    text = _text(page)
    parts = {
        **more,
        "version": __version__,
        "style": "\n".join(map(_text, styles)),
        # "<" is escaped so that no text of the data ends the element that holds it.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "script": "\n".join(_text(f"script/{name}.js") for name in scripts),
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part).replace(f"/*{name}*/", part)
    return text


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
