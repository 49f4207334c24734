# SPDX-License-Identifier: MIT
"""Silences that stand in a kernel's own text: ``// wmma_emu: allow race: the reason``."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from wmma_emu.errors import OptionError, shorten
from wmma_emu.ptx.launch.silences import Silence
from wmma_emu.ptx.program.program import Instruction, SourceLine

__all__ = ["comment_of", "files_of", "silences_in", "text_of_file"]

_MARK = "wmma_emu:"
_COMMENT = re.compile(r"(?://|/\*|#)\s*wmma_emu:\s*(?P<words>.*)\Z")
_WORDS = re.compile(r"allow\s+(?P<kind>[^:]*?)\s*:\s*(?P<reason>.*\S)\s*\Z")
_NO_CODE = re.compile(r"\s*(?://|/\*|#|\Z)")
_LARGEST_FILE = 1 << 22
"""Bytes of a source that is searched for comments."""


def silences_in(text: str, name: str = "") -> tuple[Silence, ...]:
    r"""Read the comments of a text; ``name`` is its file's, "" of the PTX itself.

    A comment is about its own line, or, where it stands alone, about the next line that has code.

    Raises
    ------
    OptionError
        For comments that are no silences: with the line, and what is wrong.

    Examples
    --------
    >>> print(*silences_in("x = s[0];  // wmma_emu: allow race: any of the values will do\n", "k.cu"))
    race at k.cu:1: any of the values will do
    """
    if _MARK not in text:
        return ()
    lines = text.splitlines()
    return tuple(_silence(lines, i, words, name) for i, words in _marked(lines))


def _marked(lines: list[str]) -> Iterator[tuple[int, str]]:
    for i, line in enumerate(lines):
        if _MARK in line and (found := _COMMENT.search(line)) is not None:
            yield i, found["words"].rstrip().removesuffix("*/").rstrip()


def _silence(lines: list[str], i: int, words: str, name: str) -> Silence:
    """Make the silence of the comment in one line."""
    here = f"{name}:{i + 1}" if name else f"line {i + 1} of the PTX"
    parts = _WORDS.match(words)
    if parts is None:
        raise OptionError(
            f"{shorten(here, str)}: 'wmma_emu: {shorten(words, str)}' is no silence; write "
            "'wmma_emu: allow KIND: REASON', as in 'wmma_emu: allow race: any of the values will do'"
        )
    about = i
    if _NO_CODE.match(lines[i]):
        about = next((k for k in range(i + 1, len(lines)) if not _NO_CODE.match(lines[k])), i)
    try:
        return Silence(parts["kind"], f"{name}:{about + 1}" if name else about + 1, parts["reason"])
    except OptionError as error:
        raise type(error)(f"{shorten(here, str)}: {error}") from None


def files_of(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    """Name the files that some instructions come from, where functions were inlined too."""
    found: dict[str, None] = {}
    for source in {x.source for x in instructions}:
        here: SourceLine | None = source
        while here is not None:
            found[here.file] = None
            here = here.inlined_at
    return tuple(found)


def text_of_file(name: str, given: Mapping[str, str]) -> str:
    """Return the text of a source, of those at hand or of the file itself; "" of what is no small file of text."""
    if name in given:
        return given[name]
    try:
        path = Path(name)
        if path.is_file() and path.stat().st_size <= _LARGEST_FILE:
            return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        pass
    return ""


def comment_of(kind: str, reason: str) -> str:
    """Return the comment in CUDA C++ that silences findings of a kind in its line, or in the line below it.

    Examples
    --------
    >>> comment_of("race", "any of the values will do")
    '// wmma_emu: allow race: any of the values will do'
    """
    return f"// {_MARK} allow {kind}: {reason}"
