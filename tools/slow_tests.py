# SPDX-License-Identifier: MIT
"""Run slow tests file by file, and note in ``tests/slow_runs.txt`` how long each file took, when, and how it ended.

    python -m tools.slow_tests [FILE ...]        these files, or all, those that ran longest ago first
    python -m tools.slow_tests --jobs 8          the same, eight files at a time
    python -m tools.slow_tests --list            bring the list up to date with the files that have slow tests
    python -m tools.slow_tests --fit SECONDS     print the files that take at most SECONDS of a processor together

The seconds are processor time of the tests and of their child processes, which a busy machine does not change.
"""

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NOTES = ROOT / "tests/slow_runs.txt"
SLOW = "slow and not gpu"
HEAD = """\
# Written by python -m tools.slow_tests: each file with slow tests, and its last run.
# file, slow tests, seconds of a processor, day, revision, how it ended; - where it has not run since the list began
"""


class SlowRun(NamedTuple):
    """A line of the list."""

    file: str
    tests: str
    seconds: str = "-"
    day: str = "-"
    revision: str = "-"
    ended: str = "-"


def read(text: str) -> dict[str, SlowRun]:
    """Read the list."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {line[0]: SlowRun(*line) for line in lines}


def written(runs: Iterable[SlowRun]) -> str:
    """Write the list.

    >>> read(written([Run("tests/b.py", "3")]))["tests/b.py"]
    Run(file='tests/b.py', tests='3', seconds='-', day='-', revision='-', ended='-')
    """
    return HEAD + "".join(" ".join(run) + "\n" for run in sorted(runs))


def counted(nodes: Iterable[str], before: dict[str, SlowRun]) -> dict[str, SlowRun]:
    """Update the list from the names of all slow tests, with the runs that files had before."""
    counts = Counter(node.partition("::")[0] for node in nodes if "::" in node)
    return {x: before.get(x, SlowRun(x, ""))._replace(tests=str(count)) for x, count in counts.items()}


def fitting(runs: Iterable[SlowRun], seconds: float) -> list[str]:
    """Choose the quickest files, as many as fit, without those that did not pass or never ran.

    >>> runs = [Run(x, "1", y, "2026-11-27", "abc", "passed") for x, y in (("a", "50"), ("b", "8"), ("c", "9"))]
    >>> fitting(runs, 20)
    ['b', 'c']
    """
    chosen, left = [], seconds
    for run in sorted((x for x in runs if x.ended == "passed"), key=lambda x: float(x.seconds)):
        left -= float(run.seconds)
        if left >= 0:
            chosen.append(run.file)
    return chosen


def collect() -> list[str]:
    """Name all slow tests."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", SLOW]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def run(line: SlowRun, revision: str) -> SlowRun:
    """Run the slow tests of a file."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", SLOW, line.file]
    process = subprocess.Popen(command, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)  # the processor's seconds of this process and of those that it started
    process.returncode = os.waitstatus_to_exitcode(status)
    ended = {0: "passed", 5: "none"}.get(process.returncode, "failed")
    seconds = f"{used.ru_utime + used.ru_stime:.0f}"
    return SlowRun(line.file, line.tests, seconds, time.strftime("%Y-%m-%d"), revision, ended)


def head() -> str:
    """Return the revision of this clone, "-" in a folder that is not one."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "-"


def main(arguments: list[str]) -> int:
    """Run them."""
    parser = argparse.ArgumentParser(prog="python -m tools.slow_tests", description=str(__doc__).splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--list", action="store_true", help="bring the list up to date, and run nothing")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="run the tests of N files at a time")
    parser.add_argument("--revision", help="the revision to note; that of the clone if it is not given")
    parser.add_argument("--fit", type=float, metavar="SECONDS", help="print the files that take so long together")
    asked = parser.parse_args(arguments)
    runs = read(NOTES.read_text(encoding="utf-8")) if NOTES.exists() else {}
    if asked.fit is not None:
        print(*fitting(runs.values(), asked.fit))
        return 0
    if asked.list or not asked.files:
        runs = counted(collect(), runs)
        NOTES.write_text(written(runs.values()), encoding="utf-8")
    if asked.list:
        return 0
    if missing := [x for x in asked.files if x not in runs]:
        parser.error(f"no slow tests are listed of {', '.join(missing)}; --list brings the list up to date")
    lines = [runs[x] for x in asked.files or sorted(runs, key=lambda x: runs[x].day)]
    with ThreadPool(asked.jobs) as pool:
        for line in pool.imap_unordered(partial(run, revision=asked.revision or head()), lines):
            runs[line.file] = line
            NOTES.write_text(written(runs.values()), encoding="utf-8")
    return int(any(x.ended == "failed" for x in runs.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
