# SPDX-License-Identifier: MIT
"""Check that the project's prose is plain English.

``python -m tools.check_english`` checks every file of the repository, ``python -m tools.check_english PATH...`` files
and folders; ``--count`` prints the faults of each package. The phrases are in `tools/english/phrases.py`.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.english import docstrings
from tools.english.phrases import COMPILED
from tools.english.prose import Passage, passages
from tools.english.spelling import american

SUFFIXES = (".py", ".md", ".ipynb")
NOT_OURS = (
    "tools/english/phrases.py",  # the table of what is not written
    "tests/data/",
    "tests/tools/test_check_english.py",
)
IMPERATIVE = ("wmma_emu/", "tools/", "docs/_ext/", "pytest_wmma_emu/", "hypothesis_wmma_emu.py")
"""Where docstrings of functions begin with a verb; elsewhere only fragments are found."""


class Fault(NamedTuple):
    """A phrase in a file, and what to write."""

    path: str
    line: int
    rule: str
    phrase: str
    write: str

    def __str__(self) -> str:
        """Return the line that is printed."""
        return f'{self.path}:{self.line}: "{self.phrase}": write "{self.write}"'


def faults_of(path: Path, name: str) -> list[Fault]:
    """Return the faults of a file, in the order of its lines."""
    found = []
    for passage in passages(path):
        found += _phrases(passage, name)
        if passage.kind == "docstring" and passage.owner is not None and not name.startswith("tests/"):
            strict = name.startswith(IMPERATIVE)
            found += [
                Fault(name, passage.lines[0], "docstring", phrase, write)
                for phrase, write in docstrings.faults(passage.text, passage.owner, strict=strict)
            ]
    return sorted(found, key=lambda x: x.line)


def _phrases(passage: Passage, name: str) -> Iterator[Fault]:
    flat = passage.flat()
    for compiled in COMPILED:
        if passage.kind == "test name" and not compiled.phrase.in_names:
            continue
        for match in compiled.pattern.finditer(flat.text):
            first, last = flat.offsets[match.start()], flat.offsets[match.end() - 1]
            words = " ".join(passage.text[first : last + 1].split())
            yield Fault(name, passage.line_of(first), compiled.phrase.pattern, words, compiled.phrase.write)
    if passage.kind != "test name":
        for at, word, british in american(flat.text):
            yield Fault(name, passage.line_of(flat.offsets[at]), "American spelling", word, british)


def files(paths: list[str]) -> list[tuple[Path, str]]:
    """List the files to check: those that git lists in the given files and folders, or all."""
    root = Path(__file__).parents[1]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths],
        cwd=root if not paths else None, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = (root if not paths else Path.cwd()) / name
        inside = path.resolve().relative_to(root).as_posix()
        if path.suffix in SUFFIXES and not inside.startswith(NOT_OURS) and path.exists():
            found.append((path, inside))
    return found


def _package(name: str) -> str:
    parts = name.split("/")[:-1]
    return "/".join(parts[:2]) or "(root)"


def main(arguments: list[str] | None = None) -> int:
    """Print the faults, or their counts, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.check_english", description=__doc__)
    parser.add_argument("paths", nargs="*", help="files and folders; everything by default")
    parser.add_argument("--count", action="store_true", help="print the number of faults of each package")
    options = parser.parse_args(arguments)
    found = [fault for path, name in files(options.paths) for fault in faults_of(path, name)]
    if options.count:
        counts = Counter(_package(fault.path) for fault in found)
        for package, count in sorted(counts.items(), key=lambda x: -x[1]):
            print(f"{count:6} {package}")
        print(f"{len(found):6} in total")
    else:
        print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
