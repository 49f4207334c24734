# SPDX-License-Identifier: MIT
"""What a kernel prints, on standard output: as that of a GPU's is, so that whoever captures output has it."""

import sys

from wmma_emu.errors import printable


def shown(text: str) -> str:
    r"""Escape what a terminal would obey rather than print; lines and tabs stay.

    Examples
    --------
    >>> shown("a\tb\n\x1b[2J\n")
    'a\tb\n\\x1b[2J\n'
    """
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def echo(text: str) -> None:
    """Print a text; characters that standard output cannot have are escaped."""
    out = sys.stdout
    if text and out is not None:
        encoding = getattr(out, "encoding", None) or "utf-8"
        out.write(shown(text).encode(encoding, "backslashreplace").decode(encoding))
