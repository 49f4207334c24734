# SPDX-License-Identifier: MIT
"""Check that the project's prose is plain English.

``python -m tools.check_english`` checks every file of the repository, ``python -m tools.check_english PATH...`` files
and folders; ``--count`` prints the faults of each package. The phrases are in `tools/english/phrases.py`.
"""

import argparse
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

from tools.english import docstrings, lints
from tools.english.comments import PATTERNS, other_passages
from tools.english.phrases import COMPILED, QUOTED
from tools.english.prose import Flat, Passage, passages
from tools.english.spelling import american

SUFFIXES = (".py", ".md", ".ipynb", *PATTERNS)
NOT_OURS = (
    "tools/english/phrases.py",  # tables of words that prose does not use
    "tools/english/spelling.py",
    "tools/english/verbs.py",
    "examples/bounds_checked.cu",  # recordings hold the hashes of these sources
    "examples/lop3.cu",
    "tests/data/",
    "tests/tools/test_check_english.py",
)
IMPERATIVE = ("wmma_emu/", "tools/", "docs/_ext/", "pytest_wmma_emu/", "hypothesis_wmma_emu.py")
"""The folders in which docstrings of functions begin with a verb; elsewhere only fragments are found."""


class Fault(NamedTuple):
    """A phrase in a file, and what to write."""

    path: str
    line: int
    kind: str
    phrase: str
    write: str

    def __str__(self) -> str:
        """Return the line that is printed."""
        return f'{self.path}:{self.line}: "{self.phrase}": write "{self.write}"'


def faults_of(path: Path, name: str) -> list[Fault]:
    """Return the faults of a file, in the order of its lines."""
    found = []
    is_other = path.suffix in PATTERNS
    prose = list(other_passages(path.read_text(encoding="utf-8"), path.suffix)) if is_other else passages(path)
    for passage in prose:
        found += _phrases(passage, name)
        if passage.kind == "docstring" and passage.owner is not None and not name.startswith("tests/"):
            strict = name.startswith(IMPERATIVE)
            found += [
                Fault(name, passage.lines[0], "docstring", phrase, write)
                for phrase, write in docstrings.faults(passage.text, passage.owner, strict=strict)
            ]
    found += _of_proselint([passage for passage in prose if passage.kind != "test name"], name)
    return sorted(found, key=lambda x: x.line)


def _phrases(passage: Passage, name: str) -> list[Fault]:
    """Find phrases, spellings and long sentences; of two that overlap the first counts, or the longer."""
    flat = passage.flat()
    text = flat.text
    for quoted in QUOTED:
        if name.startswith(quoted.where):
            text = text.replace(quoted.words, "x" * len(quoted.words))
    found = [
        (match.start(), match.end(), compiled.phrase.write)
        for compiled in COMPILED
        if compiled.phrase.in_names or passage.kind != "test name"
        for match in compiled.pattern.finditer(text)
    ]
    if passage.kind != "test name":
        found += [(at, at + len(word), british) for at, word, british in american(text)]
        found += [*lints.misspelled(text), *lints.repeated(text)]
    if passage.kind in ("docstring", "comment", "markdown"):
        found += lints.long_sentences(text)
    faults: list[Fault] = []
    taken = 0
    for start, end, write in sorted(found, key=lambda x: (x[0], -x[1])):
        if start >= taken:
            faults.append(_fault(passage, flat, start, end, write, name))
            taken = end
    return faults


def _of_proselint(prose: list[Passage], name: str) -> list[Fault]:
    """Run proselint once for a file: its checks are many, and most passages are short."""
    flats = [passage.flat() for passage in prose]
    starts = list(accumulate((len(flat.text) + 2 for flat in flats), initial=0))
    faults = []
    for start, end, write in lints.proselint_results("\n\n".join(flat.text for flat in flats)):
        n = bisect_right(starts, start) - 1
        if start >= 0 and end - starts[n] <= len(flats[n].text):
            faults.append(_fault(prose[n], flats[n], start - starts[n], end - starts[n], write, name))
    return faults


def _fault(passage: Passage, flat: Flat, start: int, end: int, write: str, name: str) -> Fault:
    first, last = flat.offsets[start], flat.offsets[min(end, len(flat.text)) - 1]
    words = " ".join(passage.text[first : last + 1].split())
    return Fault(name, passage.line_of(first), passage.kind, words, write)


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
        has_prose = path.suffix in SUFFIXES if path.suffix else name.endswith(".ci/run")
        if has_prose and not inside.startswith(NOT_OURS) and path.exists():
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
    listed = files(options.paths)
    if len(listed) > 50:
        with ProcessPoolExecutor() as pool:
            by_file = list(pool.map(faults_of, *zip(*listed, strict=True), chunksize=20))
    else:
        by_file = [faults_of(path, name) for path, name in listed]
    found = list(chain.from_iterable(by_file))
    if options.count:
        counts = Counter(_package(fault.path) for fault in found)
        for package, count in sorted(counts.items(), key=lambda x: -x[1]):
            print(f"{count:6} {package}")
        print(f"{len(found):6} in total")
    else:
        print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
