# SPDX-License-Identifier: MIT
"""Which tests execute a line, from what the recorder wrote down, and in which order they are tried."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from coverage import CoverageData

from tools.source_mutations.points import Mutation

BY_THE_CLOCK = ("tests/arithmetic/test_compiled_code.py::test_what_compiles_within_a_second_is_not_spoken_of",)
"""Tests that fail on a machine that is busy, whatever the source says: they catch nothing here."""


class Covering:
    """The recorded tests.

    Parameters
    ----------
    folders : iterable of Path
        Folders that the recorder wrote to; those of runs that have not ended are passed over.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for folder in folders:
            if (folder / "lines").exists():
                self._read(folder)

    def _read(self, folder: Path) -> None:
        for text in (folder / "times.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(text)
            self.seconds[row["test"]] = row["seconds"]
            if row["failed"]:
                self.failed.add(row["test"])
        data = CoverageData(str(folder / "lines"))
        data.read()
        for file in data.measured_files():
            name = "wmma_emu/" + file.rpartition("/wmma_emu/")[2]
            for line, contexts in data.contexts_by_lineno(file).items():
                self.lines[name][line].update(c for c in contexts if c)

    def of_line(self, mutation: Mutation) -> list[str]:
        """Return the tests that execute the line, in the order in which they are tried."""
        return self._ordered(mutation.file, self.lines[mutation.file].get(mutation.line, ()))

    def of_file(self, mutation: Mutation) -> list[str]:
        """Return the tests that execute any function of the file."""
        counts = Counter(test for tests in self.lines[mutation.file].values() for test in tests)
        return self._ordered(mutation.file, counts)

    def of_package(self, mutation: Mutation) -> list[str]:
        """Return all tests and examples of the package."""
        package = mutation.file.split("/")[1]
        places = (f"tests/{package}/", f"wmma_emu/{package}/")
        return self._ordered(mutation.file, (test for test in self.seconds if test.startswith(places)))

    def _ordered(self, file: str, tests: Iterable[str]) -> list[str]:
        """Return the quick ones and the first case of each function before slow ones and further cases."""
        rank: Counter[str] = Counter()
        rows = []
        for seconds, test in sorted(
            (self.seconds.get(test, 1.0), test)
            for test in tests
            if test not in self.failed and test not in BY_THE_CLOCK
        ):
            function = test.partition("[")[0]
            slow = sum(seconds > limit for limit in (0.05, 0.3, 1.0, 4.0))
            many = sum(rank[function] > limit for limit in (0, 2, 8, 32, 128))
            rank[function] += 1
            rows.append((slow + many, _far(file, test), test.partition("::")[0], seconds, test))
        return [row[-1] for row in sorted(rows)]


def _far(file: str, test: str) -> int:
    """Return the file's own examples, its own tests, tests of its package, and all others."""
    where = test.partition("::")[0]
    own = Path(file).parts[1:]
    parts = Path(where).parts[1:]
    if where == file:
        return 0
    if parts == (*own[:-1], f"test_{own[-1]}"):
        return 1
    return 2 if parts[:1] == own[:1] else 3
