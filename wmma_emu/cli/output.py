# SPDX-License-Identifier: MIT
"""The output of a command: standard output, or a file whose ending agrees with its format."""

import io
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wmma_emu.cli.files import check_output, write_text
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError, check_choice

STANDARD_OUTPUT = "-"

_ENDINGS = {
    "txt": ("text", "grid", "table"), "svg": ("svg",), "html": ("html",), "htm": ("html",), "csv": ("csv",),
    "json": ("json",), "md": ("markdown",), "py": ("python",), "c": ("c",), "h": ("c",),
    "png": ("png",), "tex": ("tex",), "tikz": ("tikz",),
}  # fmt: skip
"""The formats that a file's ending allows; other endings allow any format."""

_FOREIGN = ("pdf", "ps", "eps", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "xlsx", "docx", "pptx")
"""Endings of formats that no command writes; programs could not open a file with other contents."""


def format_of(given: str | None, path: str | None, formats: Sequence[str]) -> str:
    """Return the format to write: the given one, else the format of the file's ending, else the first.

    Examples
    --------
    >>> format_of("JSON", "a.svg", ("text", "svg", "json")), format_of(None, "a.svg", ("text", "svg", "json"))
    ('json', 'svg')
    >>> format_of(None, "-", ("text", "svg", "json"))
    'text'
    """
    if chosen := check_choice("--format", given, formats):
        return chosen
    meant = [x for x in _ENDINGS.get(_ending(path), ()) if x in formats]
    return formats[0] if not meant or formats[0] in meant else meant[0]


def _ending(path: str | None) -> str:
    return Path(path or "").suffix.lower().removeprefix(".")


@contextmanager
def writing(arguments: Namespace, formats: Sequence[str], example: str, terminal: Terminal) -> Iterator[Terminal]:
    """Yield the terminal for a command's lines: standard output, or the file of --output, written at the end.

    A file that cannot be written, or whose ending names another format, is rejected before anything is computed.
    """
    written = format_of(getattr(arguments, "format", None), arguments.output, formats)
    file = output_of(arguments.output, written, formats, example)
    if file is None:
        yield terminal
        return
    text = io.StringIO()
    yield Terminal(text)  # the terminal's width and colours are not the file's
    write_output(file, text.getvalue(), terminal)


def check_pipe(what: str, example: str) -> None:
    """Reject binary output on a terminal."""
    if sys.stdout is not None and sys.stdout.isatty():
        raise UsageError(
            f"{what} is binary, which a terminal cannot show; name a file, such as {example}, or add | cat"
        )


def write_output(path: str | None, text: str, terminal: Terminal) -> None:
    """Write a string for a program: on standard output, or to a file, whole or not at all."""
    if path is None:
        terminal.raw(text)
    else:
        write_text(path, text)


def output_of(
    path: str | None, written: str, formats: Sequence[str], example: str, inputs: Iterable[str | None] = ()
) -> str | None:
    """Check the output file of a command before it computes anything; return None for standard output.

    ``formats`` are the formats that the command can write, a single one if it has no ``--format``; ``example`` is a
    legal name for error messages; ``inputs`` are the files that are read, which must not be overwritten.

    Examples
    --------
    >>> print(output_of("-", "svg", ("text", "svg"), "schedule.svg"))
    None
    >>> output_of("x.txt", "svg", ("text", "svg"), "schedule.svg")
    Traceback (most recent call last):
    wmma_emu.cli.usage.UsageError: x.txt: the output has format svg; add --format text, or give the file another name
    """
    if path is None or path == STANDARD_OUTPUT:
        return None
    check_output(path, [x for x in inputs if x is not None], example)
    if _ending(path) in _FOREIGN:
        printed = "; a browser can print an HTML page as PDF" if "html" in formats else ""
        raise UsageError(
            f"{path}: .{_ending(path)} is not a supported output format{printed}; give the file another name"
        )
    meant = _ENDINGS.get(_ending(path), (written,))
    if written in meant:
        return path
    possible = [x for x in meant if x in formats]
    if possible:
        fix = f"add --format {possible[0]}, or give the file another name"
    else:
        fix = f"give the file another name, such as {example}" if len(formats) == 1 else "give the file another name"
    what = f"format {written}" if len(formats) > 1 else f"format {written.upper()}"
    raise UsageError(f"{path}: the output has {what}; {fix}")
