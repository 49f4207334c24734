# SPDX-License-Identifier: MIT
"""The English of a file: docstrings, comments, messages, Markdown and the names of tests."""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_WORD = re.compile(r"(?<![\w.])[A-Za-z][a-z']+(?![\w(])")
_CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_LINK_TARGET = re.compile(r"\]\([^)\s]*\)|<https?://[^>]*>|https?://\S+")
_FENCE = re.compile(r"^ *(```+|~~~+).*?^ *\1`*~* *$", re.M | re.S)
_MARKUP = re.compile(r"<!--.*?-->|<[a-zA-Z/][^<>]*>|^---\n.*?^---$", re.M | re.S)
_SPACE_OR_WORD = re.compile(r"\s+|\S+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_ITEM = re.compile(r"(?:[-*+|]|\d+\.|-{3,}|python -m|wmma-emu|[\w*, ]+ :)\s")
_DOCTEST = re.compile(r"^[ ]*>>> .*?(?=^[ ]*$|\Z)", re.M | re.S)
_UNDERLINE = re.compile(r"^[ ]*-{3,}[ ]*$", re.M)
_COMMENT_IS_NO_PROSE = re.compile(r"#!|#\s*(?:SPDX|noqa|type:|fmt:|pragma|mypy:|ruff:|%%)")
_CODE_IN_STRING = re.compile(
    r";\s*$|^import [\w.]+(?: as \w+)?$|"
    r"^\s*(?:def|import|from|class|return|for|if|#include|#define|\.visible)\b.*[:;(<]",
    re.M,
)


class Passage(NamedTuple):
    """Some English.

    ``lines`` are the numbers of the lines that the text's lines are in; ``kind`` is "docstring", "comment",
    "message", "markdown" or "test name"; ``owner`` is the definition that a docstring documents.
    """

    text: str
    lines: tuple[int, ...]
    kind: str
    owner: ast.AST | None = None

    def line_of(self, offset: int) -> int:
        """Return the line of the file in which a character of the text is."""
        line = self.text.count("\n", 0, offset)
        return self.lines[min(line, len(self.lines) - 1)]

    def flat(self) -> "Flat":
        """Return the text with code as words of x, a space between words and a line for each paragraph."""
        plain = blanked(self.text, _CODE_SPAN, "x")
        characters: list[str] = []
        offsets: list[int] = []
        for match in _SPACE_OR_WORD.finditer(plain):
            found = match[0]
            if found[0].isspace():
                ends = _PARAGRAPH.search(found) or ("\n" in found and _ITEM.match(plain, match.end()))
                characters.append("\n" if ends else " ")
                offsets.append(match.start())
            else:
                characters.append(found)
                offsets.extend(range(match.start(), match.end()))
        return Flat("".join(characters), tuple(offsets))


class Flat(NamedTuple):
    """Prose without line breaks, and the offset of each character in the passage."""

    text: str
    offsets: tuple[int, ...]


def blanked(text: str, pattern: re.Pattern[str], filler: str = " ") -> str:
    """Replace what a pattern matches by fillers, and keep the line ends."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", filler, m[0]), text)


def passages(path: Path) -> list[Passage]:
    """Return the English of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return list(_of_python(text, path.name.startswith("test_")))
    if path.suffix == ".ipynb":
        return list(_of_notebook(text))
    return [_of_markdown(text)]


def _of_markdown(text: str, first: int = 1) -> Passage:
    for pattern in (_FENCE, _DOCTEST, _MARKUP, _LINK_TARGET):
        text = blanked(text, pattern)
    count = text.count("\n") + 1
    return Passage(text, tuple(range(first, first + count)), "markdown")


def _of_notebook(text: str) -> Iterator[Passage]:
    lines = text.split("\n")
    at = 0
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        for line in cell["source"]:
            quoted = json.dumps(line, ensure_ascii=False)
            at = next((n for n in range(at, len(lines)) if lines[n].strip().rstrip(",") == quoted), at)
        if cell["cell_type"] == "markdown":
            passage = _of_markdown(source)
            count = len(passage.lines)
            yield passage._replace(lines=tuple(range(at + 2 - count, at + 2)))


def _of_python(text: str, is_test: bool) -> Iterator[Passage]:
    tree = ast.parse(text)
    source = text.split("\n")
    documented = dict(_documented(tree))
    yield from _comments(text)
    inside: set[int] = set()
    for node in ast.walk(tree):
        if is_test and isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Passage(node.name[5:].replace("_", " "), (node.lineno,), "test name")
        if isinstance(node, ast.JoinedStr):
            inside.update(id(x) for part in node.values for x in _literals(part))
            if is_prose(whole := "".join(map(_shown, node.values))):
                yield _message(node, whole, source)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in documented:
                yield _docstring(node, documented[id(node)])
            elif id(node) not in inside and is_prose(node.value):
                yield _message(node, node.value, source)


def _literals(part: ast.expr) -> Iterator[ast.AST]:
    """Yield the text of an f-string's part, without that of the expressions in braces."""
    if isinstance(part, ast.Constant):
        yield part
    elif isinstance(part, ast.FormattedValue) and isinstance(part.format_spec, ast.JoinedStr):
        yield from part.format_spec.values


def _shown(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) else "`{}`"


def is_prose(text: str) -> bool:
    """Return whether a string has three words or more, these are half of it, and it is neither code nor a pattern."""
    if re.search(r"\w\|\w+\|", text):
        return False
    found = len(_WORD.findall(text))
    return found >= 3 and 2 * found >= len(text.split()) and not ("\n" in text and _CODE_IN_STRING.search(text))


def _message(node: ast.Constant | ast.JoinedStr, text: str, source: list[str]) -> Passage:
    """Return a string as a passage of one line for each line of the source that it is in."""
    first, last = node.lineno, node.end_lineno or node.lineno
    if text.count("\n") == last - first:
        return Passage(text, tuple(range(first, last + 1)), "message")
    text = text.replace("\n", " ")
    lines, at = [first], 0
    for number in range(first + 1, last + 1):
        words = re.search(r"""["'](.+)["']""", source[number - 1])
        start = re.sub(r"\{[^{}]*\}", "`{}`", words[1]).split("\\")[0][:30] if words else ""
        found = text.find(start, at) if len(start) > 3 else -1
        if found > 0:
            text, at = text[:found] + "\n" + text[found:], found + 1
            lines.append(number)
    return Passage(text, tuple(lines), "message")


def _docstring(node: ast.Constant, owner: ast.AST) -> Passage:
    text = blanked(blanked(str(node.value), _DOCTEST), _UNDERLINE)
    count = text.count("\n") + 1
    return Passage(text, tuple(range(node.lineno, node.lineno + count)), "docstring", owner)


def _documented(tree: ast.Module) -> Iterator[tuple[int, ast.AST]]:
    """Yield the ids of docstrings' nodes, each with the definition that it documents."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        owner: ast.AST = node
        for place, statement in enumerate(body or []):
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if is_text and isinstance(statement.value.value, str) and (place == 0 or _is_assignment(owner)):
                yield id(statement.value), owner
            owner = statement


def _is_assignment(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign) or type(node).__name__ == "TypeAlias"  # Python 3.12


def _comments(text: str) -> Iterator[Passage]:
    """Yield comments; those that fill successive lines are one passage."""
    lines: list[int] = []
    words: list[str] = []
    alone = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or _COMMENT_IS_NO_PROSE.match(token.string):
            continue
        number, fills = token.start[0], not token.line[: token.start[1]].strip()
        if lines and not (fills and alone and number == lines[-1] + 1):
            yield Passage("\n".join(words), tuple(lines), "comment")
            lines, words = [], []
        alone = fills
        lines.append(number)
        words.append(token.string.lstrip("#! "))
    if lines:
        yield Passage("\n".join(words), tuple(lines), "comment")
