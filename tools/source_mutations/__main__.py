# SPDX-License-Identifier: MIT
"""One-line mutations of the package's source, drawn at random: does the quick suite catch them?

python -m tools.source_mutations record WORK [--seconds 0.7]
python -m tools.source_mutations run WORK [--count 300] [--seed 20261127] [--budget 40]
python -m tools.source_mutations together WORK [PATH ...]
python -m tools.source_mutations table WORK --json FILE --page FILE [--after FILE]

WORK is a folder outside the repository; what is committed is cloned into it. `record` runs the quick suite once, and
writes down which test executes which line. `run` draws mutations and runs the tests of each until one fails; it keeps
its results, and continues when it is started again. `together` runs whole paths of the suite with all survivors at once
that are not listed as equivalent, and the tests that fail there with each of them. `table` writes the report, with the
judgements in tools/source_mutations/equivalents.json.
"""

import argparse
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.source_mutations import fresh, report
from tools.source_mutations.covering import Covering
from tools.source_mutations.mutant import can_be_exchanged
from tools.source_mutations.points import Mutation, draw, mutations_of, source_files

ROOT = Path(__file__).resolve().parents[2]
COUNT, SEED = 300, 20261127
PORTIONS = (
    "tests/scalar", "tests/layouts", "tests/instructions", "tests/quantise", "tests/warp", "tests/tcgen05", "wmma_emu",
    "tests/arithmetic", "tests/ptx/steps", "tests/ptx",
)  # fmt: skip
"""Parts of the suite that are recorded one after the other."""

_FEW = 20
"""The least number of tests that must execute a file."""


def copy_of(work: Path) -> Path:
    """Clone the committed state into a separate folder."""
    copy = work / "copy"
    if not copy.exists():
        work.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--local", str(ROOT), str(copy)], check=True)
    return copy


def in_copy(copy: Path, arguments: list[str], **variables: str) -> None:
    subprocess.run([sys.executable, "-m", *arguments], cwd=copy, env=os.environ | {"PYTHONPATH": "."} | variables)


def record(work: Path, seconds: float) -> None:
    """Run the quick suite once in portions."""
    copy = copy_of(work)
    for portion in PORTIONS:
        folder = work / "lines" / portion.replace("/", "_")
        if (folder / "done").exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        apart = [f"--ignore={x}" for x in PORTIONS if x.startswith(portion + "/")]
        in_copy(
            copy, ["pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.source_mutations.recorder", portion, *apart],
            SOURCE_MUTATIONS_MAP=str(folder), SOURCE_MUTATIONS_SECONDS=str(seconds),
        )  # fmt: skip
        (folder / "done").touch()


def covering_of(work: Path) -> Covering:
    return Covering([mark.parent for mark in sorted(work.glob("lines/*/done"))])


def rows_of(work: Path) -> dict[Mutation, dict[str, Any]]:
    """Return the known results of each mutation."""
    return report.caught_first(report.lines_of(work / "rows.jsonl"))


def add_row(work: Path, mutation: Mutation, row: dict[str, Any]) -> None:
    with (work / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"mutation": asdict(mutation), **row}) + "\n")


def tests_of(covering: Covering, mutation: Mutation) -> list[tuple[str, float]]:
    """Return the tests that execute the line, then those that execute the file; all tests for import-time tables."""
    first = covering.of_line(mutation)
    known = set(first)
    names = [*first, *(name for name in covering.of_file(mutation) if name not in known)]
    if len(names) < _FEW:
        names += (name for name in covering.of_package(mutation) if name not in names)
    return [(name, covering.seconds.get(name, 1.0)) for name in names]


def run(work: Path, count: int, seed: int, budget: float, only: tuple[str, ...]) -> None:
    """Run all mutants without a result, in forks where possible, else in separate processes."""
    copy, covering = copy_of(work), covering_of(work)
    known = rows_of(work)
    places = mutations_of(copy, source_files(copy))
    chosen = draw(copy, places, count, seed)
    told = {"seed": seed, "places": len(places), "drawn": [asdict(m) for m in chosen]}
    (work / "drawn.json").write_text(json.dumps(told), encoding="utf-8")
    todo = [
        m
        for m in chosen
        if known.get(m, {}).get("outcome") != "caught" and (not only or any(x in m.file for x in only))
    ]
    quick = [m for m in todo if m not in known and can_be_exchanged(copy, m)]
    if quick:
        jobs = [
            {"mutation": asdict(m), "tests": tests_of(covering, m), "of_line": len(covering.of_line(m))} for m in quick
        ]
        (work / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
        arguments = [str(work / "jobs.json"), str(work / "rows.jsonl"), str(budget), "1"]
        paths = sorted({name.partition("::")[0] for job in jobs for name, _ in job["tests"]})
        in_copy(copy, ["tools.source_mutations.server", *arguments, *paths])
    known = rows_of(work)
    for mutation in todo:
        row = known.get(mutation, {})
        if row.get("outcome") != "caught" and not row.get("fresh"):
            add_row(work, mutation, fresh.judge(copy, mutation, tests_of(covering, mutation), budget) | {"fresh": True})


def together(work: Path, paths: list[str], budget: float) -> None:
    """Run whole paths of the suite with all survivors at once, and each test that fails there with each of them."""
    copy, judged = copy_of(work), report.equivalents()
    left = [
        m
        for m, row in rows_of(work).items()
        if row["outcome"] != "caught" and (m.file, *report.both_lines(copy, m)) not in judged
    ]
    with ExitStack() as mutated:
        for mutation in left:
            mutated.enter_context(fresh.Mutated(copy, mutation))
        failed = fresh.failures(copy, [], paths=tuple(paths or PORTIONS))
    names = [row["test"] for row in failed if "::" in row["test"]]
    jobs = [{"mutation": asdict(m), "tests": [(name, 1.0) for name in names], "of_line": 0} for m in left]
    (work / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    arguments = [str(work / "jobs.json"), str(work / "together.jsonl"), str(budget), "1"]
    in_copy(copy, ["tools.source_mutations.server", *arguments, *sorted({x.partition("::")[0] for x in names})])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "run", "together", "table"))
    parser.add_argument("work", type=lambda text: Path(text).resolve())
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--seconds", type=float, default=0.7, help="recorded seconds of the cases of one test function")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of tests that a mutant has to survive")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of files")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--after", type=Path, help="lines of JSON of a second run, with the tests that were added")
    options = parser.parse_args(arguments)
    if options.what == "record":
        record(options.work, options.seconds)
    elif options.what == "run":
        run(options.work, options.count, options.seed, options.budget, tuple(options.only))
    elif options.what == "together":
        together(options.work, options.paths, options.budget)
    else:
        report.write(options.work, copy_of(options.work), options.json, options.page, options.after)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
