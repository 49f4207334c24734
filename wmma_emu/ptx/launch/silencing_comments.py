# SPDX-License-Identifier: MIT
"""Silences in comments of a kernel: ``// wmma-emu: ignore[race] the reason``."""

import re
from collections.abc import Iterator

from wmma_emu.errors import OptionError, shorten
from wmma_emu.ptx.findings import kind_of_slug, slug_of
from wmma_emu.ptx.launch.silences import Silence
from wmma_emu.ptx.reports.statements import Comment, outline_of
from wmma_emu.ptx.reports.statements import is_python as is_python_file

_MARK = re.compile(r"wmma[-_]emu")
_COMMENT = re.compile(
    r"(?://|/\*|#)[ \t]*wmma[-_]emu(?:[ \t]*:|[ \t]+(?=(?:ignore|allow)\b))\s*(?P<words>.*)", re.DOTALL
)
_WORDS = (
    re.compile(r"ignore\s*\[(?P<kinds>[^\]]*)\]\s*:?\s*(?P<reason>.*)", re.DOTALL),
    re.compile(r"allow\s+(?P<kinds>[^:]*?)\s*:\s*(?P<reason>.*\S)\s*", re.DOTALL),
)
_EXAMPLE = "'wmma-emu: ignore[KIND] REASON', as in 'wmma-emu: ignore[race] any of the values will do'"


def silences_in(text: str, name: str = "") -> tuple[Silence, ...]:
    r"""Read the silences in the comments of a file with this ``name``, "" for the PTX itself.

    A comment refers to the statement that ends or starts in its line, or, on a separate line, to the next one:
    compilers attribute an instruction to the first line of its statement, or the last.

    Examples
    --------
    >>> print(*silences_in("x = s[0];  // wmma-emu: ignore[race] any of the values will do\n", "k.cu"))
    race at k.cu:1: any of the values will do
    """
    if not _MARK.search(text):
        return ()
    outline = outline_of(text, is_python_file(name))
    found: list[Silence] = []
    for comment in outline.comments:
        words = _words_of(comment, name)
        if words is not None:
            about = outline.about(comment)
            lines = outline.around(about) if name else range(about, about + 1)
            found += _silences(words, f"{name}:{comment.first}" if name else f"line {comment.first} of the PTX",
                               lines, name)  # fmt: skip
    return tuple(found)


def _words_of(comment: Comment, name: str) -> str | None:
    """Return the text after the marker; a comment in PTX may quote a source line with its own comment."""
    said = (_COMMENT.search if name else _COMMENT.match)(comment.text)
    return None if said is None else " ".join(said["words"].removesuffix("*/").split())


def _silences(words: str, here: str, lines: range, name: str) -> Iterator[Silence]:
    parts = next((found for x in _WORDS if (found := x.fullmatch(words))), None)
    kinds = [" ".join(x.split()) for x in parts["kinds"].split(",")] if parts else []
    if parts is None or not all(kinds):
        raise OptionError(f"{shorten(here, str)}: 'wmma-emu: {shorten(words, str)}' is not a silence; write {_EXAMPLE}")
    place = f"{name}:{lines[0]}" if name else lines[0]
    for kind in dict.fromkeys(kind_of_slug(x.lower()) or x for x in kinds):
        try:
            yield Silence(kind, place, parts["reason"], last=lines[-1], comment=here)
        except OptionError as error:
            raise type(error)(f"{shorten(here, str)}: {error}") from None


def comment_of(kind: str, reason: str) -> str:
    """Return the CUDA C++ comment that silences findings of a kind in its line, or in the next line.

    Examples
    --------
    >>> comment_of("race within a warp", "any of the values will do")
    '// wmma-emu: ignore[race-within-a-warp] any of the values will do'
    """
    return f"// wmma-emu: ignore[{slug_of(kind)}] {reason}"
