# SPDX-License-Identifier: MIT
"""Corrections of docstrings, which are written for terminals: characters that reStructuredText would read as markup."""

import re
from typing import Any

from sphinx.application import Sphinx

__all__ = ["escaped", "setup"]

_STAR = re.compile(r"(?<![\w*`\\])\*(?=\w+[,)])")
"""The star of a shape: ``(num_registers, *warps, 32)``."""


def escaped(line: str) -> str:
    r"""Escape the star of a shape, but not in code.

    Examples
    --------
    >>> print(escaped("registers : uint32 array, (num_registers, *warps, 32)"))
    registers : uint32 array, (num_registers, \*warps, 32)
    >>> print(escaped(">>> f(*x)"), escaped("shape ``(*warps, 32)``"))
    >>> f(*x) shape ``(*warps, 32)``
    """
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = line.split("``")
    return "``".join(part if i % 2 else _STAR.sub(r"\\*", part) for i, part in enumerate(parts))


def _before_napoleon(app: Sphinx, what: str, name: str, it: Any, options: Any, lines: list[str]) -> None:
    lines[:] = [escaped(line) for line in lines]


def _after_napoleon(app: Sphinx, what: str, name: str, it: Any, options: Any, lines: list[str]) -> None:
    """Join a sentence with a colon again: napoleon reads the words before the colon as a type."""
    if what in ("attribute", "data", "property"):
        for line in [x for x in lines if x.startswith(":type: ")]:
            lines.remove(line)
            lines[0] = f"{line.removeprefix(':type: ')}: {lines[0]}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, before and after napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", _before_napoleon, priority=100)
    app.connect("autodoc-process-docstring", _after_napoleon, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
