# SPDX-License-Identifier: MIT
"""The reference of the command line: every command, with what its --help prints."""

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
        "Everything that `wmma-emu` does, as its `--help` says it. Exit status: 0; 1 where a comparison found a "
        "difference; 2 after an error, which is one line on standard error, "
        "and the instructions below it where a name means several; "
        "141 where a pipe was closed.",
        "`-` is standard output for every file that is written, and standard input for `.npy` files and PTX that are "
        "read. A format need not be named where the name of the file says it (`-o a.svg`), and `--svg` is `--format "
        "svg`. An instruction may be its mnemonic, its machine code, a CuTe atom, a fragment of `mma.h`, or words that "
        "only one has. Warnings are one line; `--verbose` shows them all.",
    ]
    for words in commands():
        title = " ".join(("wmma-emu", *words))
        parts += [f"## `{title}`", f"```text\n{help_of(words)}\n```"]
    return {"reference/tables/command-line": "\n\n".join(parts) + "\n"}


def commands() -> Iterator[tuple[str, ...]]:
    """Every command, and the commands of a command after it; the program itself is the first.

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
    """Names in the list of commands that a help text has, if it has one."""
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
