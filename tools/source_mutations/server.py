# SPDX-License-Identifier: MIT
"""A plugin of pytest that collects the suite once, and runs tests of mutants in copies of its process.

Each mutant is a fork: the mutation is put into the existing functions, the caches are cleared, and tests run
until one fails. That test alone is run twice more: in a fork with the mutation, where it has to fail again, and in one
without, where it has to pass.
"""

import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tools.source_mutations import mutant
from tools.source_mutations.points import Mutation

PACKAGE = "wmma_emu"
_HANGS = 120
"""Seconds of the processor beyond the budget after which a copy hangs. Those of the clock say little on a machine that
is busy: ten times as many are waited for where nothing is computed."""

_MEMORY = 12 << 30


_Job = tuple[Mutation, list[tuple[str, float]], int]


class Server:
    """A plugin that runs jobs after the collection, instead of the tests.

    Parameters
    ----------
    jobs : list
        Mutations, each with the names of tests in order and their recorded seconds, and how many execute the line: the
        cases of these that were not recorded come next.
    budget : float
        Seconds of the processor after which a mutant has survived.
    rows : Path
        A file that each outcome is added to, a line of JSON each.
    workers : int
        How many mutants are tried at a time.
    """

    def __init__(self, root: Path, jobs: list[_Job], budget: float, rows: Path, workers: int = 1):
        self.root, self.jobs, self.budget, self.rows, self.workers = root, jobs, budget, rows, workers
        self.failure: tuple[str, str] | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failure is None:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failure = (report.nodeid, str(crash.message if crash else report.longrepr)[:300])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions = mutant.live_functions(PACKAGE)
        workers = []
        for number in range(self.workers):
            process = os.fork()
            if process:
                workers.append(process)
                continue
            for mutation, tests, count in self.jobs[number :: self.workers]:
                self.work(mutation, self.with_cases(tests, count, items), items, functions)
            os._exit(0)
        for process in workers:
            os.waitpid(process, 0)
        return True

    def work(
        self, mutation: Mutation, tests: list[tuple[str, float]], items: dict[str, Any], functions: mutant.Functions
    ) -> None:
        """Run one mutant, and write its row."""
        start = time.perf_counter()
        known = [(items[name], seconds) for name, seconds in tests if name in items]
        row = {"mutation": asdict(mutation), **self.judge(mutation, known, functions)}
        row["wall"] = round(time.perf_counter() - start, 1)
        with self.rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def with_cases(self, tests: list[tuple[str, float]], count: int, items: dict[str, Any]) -> list[tuple[str, float]]:
        """Append further cases of the tests that execute the line."""
        recorded = {name for name, _ in tests}
        functions = {name.partition("[")[0] for name, _ in tests[:count] if "[" in name}
        more = [name for name in items if name not in recorded and name.partition("[")[0] in functions]
        return [*tests[:count], *((name, 1.0) for name in more), *tests[count:]]

    def judge(self, mutation: Mutation, tests: list[Any], functions: mutant.Functions) -> dict[str, Any]:
        """Return the outcome: caught or survived."""
        if not tests:
            return {"outcome": "survived", "ran": 0, "of": 0}
        row = self.fork(mutation, tests, functions)
        if row["outcome"] != "caught":
            return row
        alone = [pair for pair in tests if pair[0].nodeid == row["test"]]
        again, without = self.fork(mutation, alone, functions), self.fork(None, alone, functions)
        return row | {"again": again["outcome"], "without": without["outcome"]}

    def fork(self, mutation: Mutation | None, tests: list[Any], functions: mutant.Functions) -> dict[str, Any]:
        """Run tests in a copy of this process until one fails."""
        shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)
        scratch = tempfile.mkdtemp(prefix="mutant-")
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            os.setsid()
            os.close(reader)
            self._child(mutation, tests, functions, writer, scratch)
        os.close(writer)
        try:
            return _watch(process, reader)
        finally:
            os.close(reader)
            shutil.rmtree(scratch, ignore_errors=True)

    def _child(
        self, mutation: Mutation | None, tests: list[Any], functions: mutant.Functions, writer: int, scratch: str
    ):
        def tell(**row: Any) -> None:
            os.write(writer, (json.dumps(row) + "\n").encode())

        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            most = int(self.budget) + _HANGS
            resource.setrlimit(resource.RLIMIT_CPU, (most, most))
            os.environ["TMPDIR"] = tempfile.tempdir = scratch
            if mutation and mutation.file.startswith(f"{PACKAGE}/ptx/cuda/"):
                os.environ["WMMA_EMU_CACHE"] = scratch
            if mutation and not mutant.exchange(self.root, mutation, functions):
                tell(outcome="not exchanged")
                os._exit(0)
            mutant.forget_results(PACKAGE)
            start, ran = time.process_time(), 0
            for (item, _), (following, _) in zip(tests, [*tests[1:], (None, 0.0)], strict=True):
                tell(test=item.nodeid)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                ran += 1
                used = time.process_time() - start
                if self.failure:
                    name, message = self.failure
                    tell(outcome="caught", test=name, message=message, seconds=round(used, 2), ran=ran)
                    os._exit(0)
                if used > self.budget:
                    break
            tell(outcome="survived", seconds=round(time.process_time() - start, 2), ran=ran, of=len(tests))
        except BaseException as error:
            tell(outcome="error", message=repr(error)[:300])
        finally:
            os._exit(0)


def _watch(process: int, reader: int) -> dict[str, Any]:
    """Read what a copy tells, and end it if a test hangs."""
    text, test = b"", ""
    row: dict[str, Any] = {}
    while "outcome" not in row:
        ready, _, _ = select.select([reader], [], [], 10 * _HANGS)
        part = os.read(reader, 65536) if ready else b""
        if not part:
            row = {"outcome": "caught", "test": test, "message": "timed out, or the process died"}
            break
        text += part
        *lines, text = text.split(b"\n")
        for line in lines:
            row = json.loads(line)
            test = row.get("test", test)
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(process, 0)
    return row


def main(arguments: list[str]) -> int:
    """Run the jobs of a JSON file over the tests at the paths; arguments: JOBS ROWS BUDGET WORKERS PATH..."""
    jobs_file, rows, budget, workers, *paths = arguments
    jobs = [
        (Mutation(**job["mutation"]), [(name, seconds) for name, seconds in job["tests"]], job["of_line"])
        for job in json.loads(Path(jobs_file).read_text(encoding="utf-8"))
    ]
    server = Server(Path.cwd(), jobs, float(budget), Path(rows), int(workers))
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *paths], plugins=[server]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
