# SPDX-License-Identifier: MIT
"""Where a command writes: standard output, or a file whose name does not say another format than is in it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from wmma_emu.cli.matrices import check_output, write_text
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError

__all__ = ["STANDARD_OUTPUT", "Output", "output_of"]

STANDARD_OUTPUT = "-"

_ENDINGS = {
    "txt": ("text", "grid", "table"), "svg": ("svg",), "html": ("html",), "htm": ("html",), "csv": ("csv",),
    "json": ("json",), "md": ("markdown",), "py": ("python",), "c": ("c",), "h": ("c",),
}  # fmt: skip
"""What a file's name says that is in it: one of these formats. Other endings say nothing."""


class Output(NamedTuple):
    """Where it is written: a file, or None for standard output."""

    path: str | None

    def write(self, text: str, terminal: Terminal) -> None:
        """Write a text that a program will read: into a file whole or not at all.

        Raises
        ------
        UsageError
            If the system refuses; then nothing is left behind.
        """
        if self.path is None:
            terminal.raw(text)
        else:
            write_text(self.path, text)


def output_of(
    path: str | None, written: str, formats: Sequence[str], example: str, inputs: Iterable[str | None] = ()
) -> Output:
    """Check where a command writes, before it computes anything.

    Parameters
    ----------
    path : str or None
        As it was given; None and ``-`` are standard output.
    written : str
        The format that is written.
    formats : sequence of str
        All that the command could write, of which ``--format`` chooses; one alone where there is no such option.
    example : str
        A name that it could be.
    inputs : iterable of str, optional
        Files that are read; None is none.

    Raises
    ------
    UsageError
        For a file that cannot be written, an input, and a name that says another format.

    Examples
    --------
    >>> output_of("-", "svg", ("text", "svg"), "schedule.svg")
    Output(path=None)
    >>> output_of("x.txt", "svg", ("text", "svg"), "schedule.svg")
    Traceback (most recent call last):
    wmma_emu.cli.usage.UsageError: x.txt: --format svg is written; add --format text, or give the file another name
    """
    if path is None or path == STANDARD_OUTPUT:
        return Output(None)
    check_output(path, [x for x in inputs if x is not None], example)
    meant = _ENDINGS.get(Path(path).suffix.lower().removeprefix("."), (written,))
    if written in meant:
        return Output(path)
    possible = [x for x in meant if x in formats]
    if possible:
        fix = f"add --format {possible[0]}, or give the file another name"
    else:
        fix = f"give the file another name, such as {example}" if len(formats) == 1 else "give the file another name"
    what = f"--format {written}" if len(formats) > 1 else written.upper()
    raise UsageError(f"{path}: {what} is written; {fix}")
