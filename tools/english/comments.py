# SPDX-License-Identifier: MIT
"""The English of files that are neither Python nor Markdown: comments, and the strings of scripts."""

import re
from collections.abc import Iterator

from tools.english.prose import Passage, is_prose

SLASHES = re.compile(r"(?<![:\w\"'])//+ ?(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/", re.S)
HASHES = re.compile(r"(?:^|(?<=\s))#(?!!) ?(?P<line>[^\n]*)(?P<block>(?!))?", re.M)
_STRINGS = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`")

PATTERNS = {
    ".js": SLASHES, ".css": SLASHES, ".cu": SLASHES, ".cuh": SLASHES,
    ".sh": HASHES, ".yml": HASHES, ".toml": HASHES, "": HASHES,
}  # fmt: skip
"""The pattern of comments, by the suffix of the file; a file without a suffix is a shell script."""


def other_passages(text: str, suffix: str) -> Iterator[Passage]:
    """Yield comments, those on successive lines as one passage, and the strings of JavaScript."""
    lines: list[int] = []
    words: list[str] = []
    for match in PATTERNS[suffix].finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        if match["line"] is None:
            block = re.sub(r"^\s*\*", "", match["block"], flags=re.M)
            yield Passage(block, tuple(range(number, number + block.count("\n") + 1)), "comment")
            continue
        fills = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if lines and not (fills and number == lines[-1] + 1):
            yield Passage("\n".join(words), tuple(lines), "comment")
            lines, words = [], []
        lines.append(number)
        words.append(match["line"])
    if lines:
        yield Passage("\n".join(words), tuple(lines), "comment")
    if suffix == ".js":
        yield from _strings(text)


def _strings(text: str) -> Iterator[Passage]:
    without = SLASHES.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    for match in _STRINGS.finditer(without):
        found = re.sub(r"\$\{[^{}]*\}", "`{}`", match[1] or match[2] or "")
        if is_prose(found):
            first = without.count("\n", 0, match.start()) + 1
            yield Passage(found, tuple(range(first, first + found.count("\n") + 1)), "message")
