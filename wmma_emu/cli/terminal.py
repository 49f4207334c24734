# SPDX-License-Identifier: MIT
"""Output of lines: styled on a terminal if `rich` is installed, plain otherwise."""

import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any, NamedTuple, TextIO

from wmma_emu.cli.usage import one_line
from wmma_emu.errors import printable

_STYLES = {
    "title": "bold",
    "heading": "bold",
    "label": "cyan",
    "measured": "green",
    "recorded": "green",
    "documented": "blue",
    "literature": "yellow",
    "inferred": "yellow",
}
"""The look of each style. The statuses of facts are styles too: green means confirmed by hardware."""

_COLOURED = re.compile(r"(bold )?#[0-9a-f]{6} on #[0-9a-f]{6}")
"""A style written as colours: dark text on a lane's colour."""

_WIDTH_OF_FILES = 100
_NARROWEST = 40
_MOST_LINES, _LONGEST_LINE = 40, 1000
"""The most lines of a message that are shown."""


class Styled(NamedTuple):
    """A piece of a line and the name of its style; a name without a look is plain."""

    text: str
    style: str = ""


Line = tuple[Styled, ...]


def has_look(style: str) -> bool:
    """Return whether a style of this name has a look."""
    return style in _STYLES


def _styled(piece: str | Styled) -> Styled:
    return piece if isinstance(piece, Styled) else Styled(piece)


def _encodable(text: str, stream: TextIO) -> str:
    """Escape characters that the stream's encoding does not have."""
    if text.isascii():
        return text
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def say_on_stderr(text: str) -> None:
    """Write one line to standard error; ignore errors, and a closed standard error."""
    _say(one_line(text))


def show_on_stderr(text: str) -> None:
    """Write a message to standard error with its line breaks, which a caret under a source line requires."""
    lines = text.expandtabs(4).splitlines()
    more = [f"and {len(lines) - _MOST_LINES} lines more"] if len(lines) > _MOST_LINES else []
    _say("\n".join(printable(x[:_LONGEST_LINE].rstrip()) for x in [*lines[:_MOST_LINES], *more]))


def _say(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        print(_encodable(text, sys.stderr), file=sys.stderr, flush=True)
    except OSError:  # the message cannot be written anywhere; the exit status still reports the error
        discard_output(sys.stderr)


def discard_output(stream: TextIO | None) -> None:
    """Discard a stream's buffered output, so that the interpreter's flush at exit cannot fail."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):  # the stream is not a file
        pass


class Terminal:
    """Standard output, or another stream; ``width`` is None for a file or a pipe."""

    def __init__(self, stream: TextIO | None = None) -> None:
        standard = sys.stdout if sys.stdout is not None else io.StringIO()  # standard output is closed
        self._stream: TextIO = standard if stream is None else stream
        is_terminal = self._stream.isatty()
        self.width = max(shutil.get_terminal_size().columns, _NARROWEST) if is_terminal else None
        self._console = _console(self._stream) if is_terminal and not os.environ.get("NO_COLOR") else None

    def line(self, *pieces: str | Styled) -> None:
        """Write a line of pieces."""
        if self._console is None:
            text = "".join(x.text if isinstance(x, Styled) else x for x in pieces)
            print(_encodable(printable(text), self._stream), file=self._stream)
            return
        from rich.text import Text

        styled = [(_encodable(printable(text), self._stream), style) for text, style in map(_styled, pieces)]
        texts = [(text, style if _COLOURED.fullmatch(style) else _STYLES.get(style, "")) for text, style in styled]
        self._console.print(Text.assemble(*texts), soft_wrap=True)

    @property
    def columns(self) -> int:
        """The most columns of a line."""
        return self.width or _WIDTH_OF_FILES

    @property
    def has_colours(self) -> bool:
        """Whether escape sequences of colours are understood."""
        return self._console is not None

    def written(self, text: str) -> None:
        """Write text that already fits the width, with its own escape sequences if `has_colours`."""
        print(_encodable(text, self._stream), file=self._stream)

    def lines(self, lines: Iterable[Line]) -> None:
        """Write lines."""
        for line in lines:
            self.line(*line)

    def text(self, text: str) -> None:
        """Write a sentence, wrapped to the width."""
        for part in textwrap.wrap(text, self.width or _WIDTH_OF_FILES, break_on_hyphens=False):
            self.line(part)

    def raw(self, text: str) -> None:
        """Write text for a program unchanged; pages and pictures, which declare their encoding, in UTF-8."""
        binary = getattr(self._stream, "buffer", None) if text.lstrip()[:1] == "<" else None
        if binary is None:
            self._stream.write(_encodable(text, self._stream))
            return
        self._stream.flush()
        binary.write(text.encode())
        binary.flush()

    def fields(self, pairs: Iterable[tuple[str, str | Styled]], indent: int = 2) -> None:
        """Write labels and values in two columns; long values continue under their first line."""
        styled = [(label, _styled(text)) for label, text in pairs]
        column = max((len(label) for label, _ in styled), default=0) + 2
        room = max((self.width or _WIDTH_OF_FILES) - indent - column, _NARROWEST // 2)
        for label, (text, style) in styled:
            parts = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
            for name, part in zip([label, *[""] * (len(parts) - 1)], parts, strict=True):
                self.line(" " * indent, Styled(f"{name:<{column}}", "label"), Styled(part, style))


def _console(stream: TextIO) -> Any:
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream, highlight=False, markup=False, emoji=False)
