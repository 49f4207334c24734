# SPDX-License-Identifier: MIT
"""Run kernels of other projects, unedited, on an emulated chip: the cases of a fixed list.

    python -m tools.language_programs ROOT --arch h100 [--only NAME ...] [--bundles DIR] [--interpreter]
    python -m tools.language_programs list > tools/language_programs/fixed_list.csv

ROOT is a folder with checkouts, ``owner+name``, which are not part of this repository. PyTorch for CPUs is needed. Each
line is a case: its launches, its findings by severity, the instructions whose bits are not proved, its largest distance
from PyTorch as a part of the largest element, and its seconds: with compilation, of a second call, and of a second call
without the checks. ``--bundles`` writes the launches for `tools.launch_bundles`, ``--interpreter`` also runs each case
on the language's own interpreter, ``--json`` appends everything to a file.
"""

import argparse
import fnmatch
import json
import os
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import tools.language_programs.projects  # noqa: F401 # which adds their cases
from tools.language_programs.case import CASES, use_checkouts
from tools.language_programs.fixed_list import listed
from tools.language_programs.interpreted import Interpreted, Interpreter
from tools.language_programs.running import Outcome, run_case

HEAD = (
    "| case | launches | findings | bits not proved | distance | seconds | again | unchecked | interpreter |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)

WRONG = 0.1
"""A distance from PyTorch that no rounding explains."""


def row(outcome: Outcome, interpreted: Interpreted | None) -> str:
    """Return the line of a case."""
    found = Counter(x[1] for x in outcome.findings)
    findings = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items())) or "0"
    said = outcome.error or f"{outcome.distance:.1e}"
    if outcome.missing:
        said += f"; not launched: {', '.join(outcome.missing)}"
    theirs = "" if interpreted is None else interpreted.error or (
        f"{interpreted.again:.2f} s, {interpreted.distance:.1e}"
    )  # fmt: skip
    return (
        f"| `{outcome.case}` | {sum(outcome.kernels.values())} | {findings} | {', '.join(outcome.inexact) or '0'} | "
        f"{said} | {outcome.seconds:.1f} | {outcome.again:.2f} | {outcome.unchecked:.2f} | "
        f"{theirs} |"
    )


def summary(outcomes: list[Outcome], interpreted: list[Interpreted | None]) -> Iterator[str]:
    """Yield lines about all cases."""
    ran = [x for x in outcomes if x.ran]
    kernels = {(x.project, y.file, y.name) for x in ran for y in CASES[x.case].kernels}
    yield f"{len(ran)} of {len(outcomes)} cases ran, with {len(kernels)} kernels of the list."
    pairs = [(x, y) for x, y in zip(outcomes, interpreted, strict=True) if y is not None]
    if not pairs:
        return
    crashed = sum(bool(y.error) for _, y in pairs)
    wrong = sum(y.distance is not None and not y.distance < WRONG for _, y in pairs)
    both = [(x, y.again) for x, y in pairs if x.ran and not y.error and y.again]
    yield (
        f"The interpreter: of {len(pairs)} cases, {crashed} ended with an error or are not run by it, and {wrong} are "
        f"further than {WRONG} from PyTorch."
    )
    for name, what in (("again", "with all checks"), ("unchecked", "without checks")):
        if ratios := [getattr(x, name) / theirs for x, theirs in both]:
            yield (
                f"The time of the second call, {what}, over the interpreter's, of {len(both)} cases: median "
                f"{statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}."
            )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", help="the folder with the checkouts, or 'list' to print the list of kernels")
    parser.add_argument("--arch", default="h100")
    parser.add_argument("--only", nargs="*", default=["*"], help="names of cases, with * and ?")
    parser.add_argument("--bundles", type=Path, help="a folder for the launches")
    parser.add_argument("--interpreter", action="store_true", help="run the cases on the interpreter, too")
    parser.add_argument("--json", type=Path, help="append a line for each case to this file")
    given = parser.parse_args(argv)
    if given.root == "list":
        sys.stdout.writelines(listed())
        return 0
    root = Path(given.root)
    names = [x for x in CASES if any(fnmatch.fnmatch(x, y) for y in given.only)]
    if not names:
        parser.error(f"no case has the name {', '.join(given.only)}; the cases are {', '.join(CASES)}")
    use_checkouts(root)
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # the kernels are the subject, and not what Inductor makes
    interpreter = Interpreter(root, given.arch) if given.interpreter else None
    outcomes, theirs = [], []
    print(HEAD)
    for name in names:
        outcome = run_case(CASES[name], given.arch, given.bundles, twice=given.interpreter)
        found = interpreter.run(name) if interpreter else None
        outcomes.append(outcome)
        theirs.append(found)
        print(row(outcome, found), flush=True)
        if given.json:
            with given.json.open("a") as file:
                file.write(json.dumps(outcome.as_dict() | {"interpreter": found}) + "\n")
    if interpreter:
        interpreter.close()
    print("", *summary(outcomes, theirs), sep="\n")
    return 0 if all(x.ran for x in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
