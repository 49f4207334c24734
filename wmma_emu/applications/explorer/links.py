# SPDX-License-Identifier: MIT
"""The page's links to the documentation, for a page that knows where that is."""

from html import escape

from wmma_emu.instructions.reference_pages import FOLDER

PAGES = (
    ("index.html", "Documentation"),
    ("how-to/find-what-a-lane-holds.html", "How to use the explorer"),
    ("lessons/index.html", "Lessons"),
)
"""Pages that there is always a link to."""


def links_to(documentation: str) -> str:
    """Write a list of links to pages of the documentation; nothing where its address is not known.

    The link to the page of the chosen instruction is changed by the script; until then it leads to all of them.

    Examples
    --------
    >>> print(links_to("../"))
    <nav class="links" aria-label="Documentation"><a href="../index.html">Documentation</a>
    <a href="../how-to/find-what-a-lane-holds.html">How to use the explorer</a>
    <a href="../lessons/index.html">Lessons</a>
    <a id="reference" href="../reference/instructions/index.html">All instructions</a></nav>
    >>> links_to("")
    ''
    """
    if not documentation:
        return ""
    lines = [f'<a href="{escape(documentation + path)}">{title}</a>' for path, title in PAGES]
    lines.append(f'<a id="reference" href="{escape(documentation)}{FOLDER}/index.html">All instructions</a>')
    return f'<nav class="links" aria-label="Documentation">{chr(10).join(lines)}</nav>'
