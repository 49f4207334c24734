# SPDX-License-Identifier: MIT
"""Lines of Python of a folder, by package: all, code, docstrings, comments, blank lines, files and functions.

``python -m tools.count_lines`` counts `wmma_emu`, ``python -m tools.count_lines OLD NEW`` two trees side by side.
"""

import argparse
import ast
import io
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

_SKIPPED = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING)


class Lines(NamedTuple):
    """The numbers of lines of files by kind. A line with code and a comment is code."""

    all: int = 0
    code: int = 0
    docstrings: int = 0
    comments: int = 0
    blank: int = 0
    files: int = 0
    functions: int = 0

    def plus(self, other: "Lines") -> "Lines":
        """Add two counts."""
        return Lines(*(x + y for x, y in zip(self, other, strict=True)))


def lines_of(text: str) -> Lines:
    r"""Count the lines of one file.

    Examples
    --------
    >>> lines_of("'A module.'\n\n# Why.\ndef f():\n    return 1\n")
    Lines(all=5, code=2, docstrings=1, comments=1, blank=1, files=1, functions=1)
    """
    tree = ast.parse(text)
    documented: set[int] = set()
    functions = 0
    for node in ast.walk(tree):
        functions += isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        body = getattr(node, "body", None)
        for found in body if isinstance(body, list) else ():  # of a lambda it is an expression
            if isinstance(found, ast.Expr) and isinstance(getattr(found.value, "value", None), str):
                documented.update(range(found.lineno, (found.end_lineno or found.lineno) + 1))
    code: set[int] = set()
    comments: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in _SKIPPED:
            code.update(range(token.start[0], token.end[0] + 1))
    code -= documented
    comments -= code
    count = len(text.splitlines())
    blank = count - len(code | comments | documented)
    return Lines(count, len(code), len(documented), len(comments), blank, 1, functions)


def lines_by_package(folder: Path) -> dict[str, Lines]:
    """Count every file below a folder, by the package at its top; its own files are ``.``."""
    found: dict[str, Lines] = defaultdict(Lines)
    for path in sorted(folder.rglob("*.py")):
        first, *rest = path.relative_to(folder).parts
        package = first if rest else "."
        found[package] = found[package].plus(lines_of(path.read_text(encoding="utf-8")))
    return dict(found)


def table(counts: dict[str, Lines]) -> list[str]:
    """Write counts as a table in Markdown, the largest package first."""
    total = Lines()
    for x in counts.values():
        total = total.plus(x)
    rows = sorted(counts.items(), key=lambda x: -x[1].all)
    return [
        f"| package | {' | '.join(Lines._fields)} |", f"|---|{'---|' * len(Lines._fields)}",
        *(f"| {name} | {' | '.join(f'{x:,}' for x in found)} |" for name, found in (*rows, ("together", total))),
    ]  # fmt: skip


def comparison(old: dict[str, Lines], new: dict[str, Lines]) -> list[str]:
    """Write two counts side by side: lines before and after, of all kinds and of code."""
    names = sorted({*old, *new}, key=lambda x: -old.get(x, new.get(x, Lines())).all)
    lines = ["| package | before | after | change | code before | code after |", "|---|---|---|---|---|---|"]
    totals = [0, 0, 0, 0]
    for name in names:
        before, after = old.get(name, Lines()), new.get(name, Lines())
        found = [before.all, after.all, before.code, after.code]
        totals = [x + y for x, y in zip(totals, found, strict=True)]
        lines.append(_compared(name, found))
    return [*lines, _compared("together", totals)]


def _compared(name: str, found: list[int]) -> str:
    before, after, code_before, code_after = found
    return f"| {name} | {before:,} | {after:,} | {after - before:+,} | {code_before:,} | {code_after:,} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Count lines of Python by package.")
    parser.add_argument("folders", nargs="*", type=Path, default=[Path("wmma_emu")], help="one, or two to compare")
    folders = parser.parse_args().folders
    if len(folders) > 2 or not all(x.is_dir() for x in folders):
        parser.error("give one folder, or two: an old and a new one")
    counts = [lines_by_package(x) for x in folders]
    print("\n".join(comparison(*counts) if len(counts) == 2 else table(counts[0])))


if __name__ == "__main__":
    main()
