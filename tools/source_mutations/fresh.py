# SPDX-License-Identifier: MIT
"""A mutation written into a copy of the repository, and separate processes that run its tests.

For code that runs at import, and for mutants that survived as copies of a process.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.source_mutations.points import Mutation

BATCHES = (4.0, 20.0, 80.0, 320.0)
"""Recorded seconds of the tests of one process; the last one again and again."""
_FILES = (4, 12, 40, 1000)
"""Test files of one process: each costs its collection."""
_LONGEST = 900.0


class Mutated:
    """A copy of the repository whose file has the mutation while the context lasts."""

    def __init__(self, root: Path, mutation: Mutation) -> None:
        self.root, self.mutation, self.path = root, mutation, root / mutation.file

    def __enter__(self) -> "Mutated":
        self.text, self.stamp = self.path.read_text(encoding="utf-8"), os.stat(self.path)
        self.path.write_text(self.mutation.mutate(self.text), encoding="utf-8")
        self.forget()
        return self

    def __exit__(self, *error: object) -> None:
        self.path.write_text(self.text, encoding="utf-8")
        os.utime(self.path, ns=(self.stamp.st_atime_ns, self.stamp.st_mtime_ns))
        self.forget()

    def forget(self) -> None:
        """Delete what is compiled of the file, and the examples that Hypothesis keeps."""
        for path in self.path.parent.glob(f"__pycache__/{self.path.stem}.*"):
            path.unlink()
        shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)


def batches(tests: list[tuple[str, float]]) -> Iterator[list[tuple[str, float]]]:
    """Return the tests in portions that grow."""
    rest, turn = tests, 0
    while rest:
        seconds, files = BATCHES[min(turn, 3)], _FILES[min(turn, 3)]
        taken: list[tuple[str, float]] = []
        left: list[tuple[str, float]] = []
        places: set[str] = set()
        total = 0.0
        for name, cost in rest:
            place = name.partition("::")[0]
            if taken and (total + cost > seconds or len(places | {place}) > files):
                left.append((name, cost))
            else:
                taken.append((name, cost))
                places.add(place)
                total += cost
        yield taken
        rest, turn = left, turn + 1


def judge(root: Path, mutation: Mutation, tests: list[tuple[str, float]], budget: float) -> dict[str, Any]:
    """Run the tests until one fails that passes without the mutation, up to a budget of recorded seconds."""
    names, start = {name for name, _ in tests}, time.perf_counter()
    while True:
        with Mutated(root, mutation):
            row = _until_one_fails(root, [pair for pair in tests if pair[0] in names], budget)
        row["wall"] = round(time.perf_counter() - start, 1)
        if row["outcome"] == "survived" or row["test"] not in names:  # the other: a file that cannot be collected
            return row
        if not run(root, [row["test"]]):
            return row | {"without": "survived"}
        names.remove(row["test"])


def _until_one_fails(root: Path, tests: list[tuple[str, float]], budget: float) -> dict[str, Any]:
    planned, ran = 0.0, 0
    for batch in batches(tests):
        found = run(root, [name for name, _ in batch])
        if found:
            return found | {"outcome": "caught"}
        planned += sum(cost for _, cost in batch)
        ran += len(batch)
        if planned > budget:
            break
    return {"outcome": "survived", "ran": ran, "of": len(tests)}


def run(root: Path, tests: list[str], paths: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run tests, or whole paths, in a separate process; return the first failure and its message, or nothing."""
    return next(iter(failures(root, tests, paths, ("-x",))), {})


def failures(
    root: Path, tests: list[str], paths: tuple[str, ...] = (), options: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Run tests, or whole paths, in a separate process; return those that fail."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        if not paths:
            Path(scratch, "chosen.json").write_text(json.dumps(tests), encoding="utf-8")
        environment = os.environ | {
            "PYTHONPATH": ".", "TMPDIR": scratch, "SOURCE_MUTATIONS_CHOSEN": scratch, "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        files = sorted({name.partition("::")[0] for name in tests})
        plugins = ["-p", "no:cacheprovider", "-p", "tools.source_mutations.chosen"]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "--tb=short", *options, *plugins, *(paths or files)], cwd=root,
            env=environment, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            text, _ = process.communicate(timeout=_LONGEST if "-x" in options else None)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return [{"test": "; ".join(files[:3]), "message": f"timed out after {_LONGEST:.0f} s"}]
        if process.returncode in (0, 5):  # 5: no test was chosen
            return []
        failed = Path(scratch, "failed.jsonl")
        if failed.exists():
            return [json.loads(line) for line in failed.read_text(encoding="utf-8").splitlines()]
        # It ended without a report, for example by a signal.
        return [{"test": "; ".join((paths or files)[:3]), "message": f"the process died: {text.strip()[-200:]}"}]
