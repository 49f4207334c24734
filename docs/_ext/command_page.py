# SPDX-License-Identifier: MIT
"""The reference of the command line: the --help output of every command."""

import contextlib
import io
import os
import re
from collections.abc import Iterator

from wmma_emu.cli import main

__all__ = ["command_page", "commands"]

_COLUMNS = "80"


def command_page() -> dict[str, str]:
    """Return the page as Markdown, by its name within the site."""
    parts = [
        "(command-line)=\n# The command line",
        "All commands of `wmma-emu`, with the output of `--help`. Exit status: 0; 1 if a comparison found a "
        "difference; 2 after an error, which is one line on standard error, "
        "followed by the matching instructions if a name is ambiguous; "
        "141 if a pipe was closed.",
        "`-` is standard output for every file that is written, and standard input for `.npy` files and PTX that are "
        "read. A format may be omitted if the file's ending names it (`-o a.svg`), and `--svg` is `--format "
        "svg`. An instruction may be its mnemonic, its machine code, a CuTe atom, a fragment of `mma.h`, or words that "
        "only one matches. Warnings are one line; `--verbose` shows all of them.",
    ]
    for words in commands():
        title = " ".join(("wmma-emu", *words))
        parts += [f"## `{title}`", f"```text\n{help_of(words)}\n```"]
    return {"reference/tables/command-line": "\n\n".join(parts) + "\n"}


def commands() -> Iterator[tuple[str, ...]]:
    """List the program, then every command, each followed by its actions.

    Examples
    --------
    >>> list(commands())[:3]
    [(), ('list',), ('show',)]
    """
    yield ()
    for name in _listed(help_of(())):
        yield (name,)
        yield from ((name, action) for action in _listed(help_of((name,))))


def _listed(text: str) -> list[str]:
    """Find the names in the list of commands of a help text, if it has one."""
    return re.findall(r"^    ([a-z]+)(?= |$)", text, re.MULTILINE)


def help_of(words: tuple[str, ...]) -> str:
    """Return what a command prints for --help, in 80 columns."""
    out = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _COLUMNS
    try:
        with contextlib.redirect_stdout(out):
            main([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return out.getvalue().rstrip()
