# SPDX-License-Identifier: MIT
"""Launch the programs of labelled suites, and write the page of evidence.

    python -m tools.labelled_suites run --sources DIR --results DIR [--suite NAME] [--only REGEX]
    python -m tools.labelled_suites page --results DIR --out docs/evidence/labelled-suites-DATE.md --emulator "..."

``DIR`` of the sources holds the suites' repositories: see README.md in this folder.
"""

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tools.labelled_suites import cav14, gpuverify, indigo, nvidia, scor
from tools.labelled_suites.case import examined, verdict
from tools.labelled_suites.page import write_page

SUITES: dict[str, Any] = {"nvidia": nvidia, "indigo": indigo, "scor": scor, "gpuverify": gpuverify, "cav14": cav14}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.labelled_suites", description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run", help="compile and launch, and write a line of JSON for each program")
    run.add_argument("--sources", type=Path, required=True, help="the folder that holds the suites' repositories")
    run.add_argument("--results", type=Path, required=True)
    run.add_argument("--suite", choices=SUITES, action="append", help="all unless given")
    run.add_argument("--only", default="", help="programs that a regular expression finds: PROGRAM|VARIANT")
    run.add_argument("--headers", default="/usr/local/cuda/include", help="CUDA's (default: %(default)s)")
    run.add_argument("--seconds", type=float, default=120, help="for one launch (default: %(default)s)")
    page = actions.add_parser("page", help="write the page from the results")
    page.add_argument("--results", type=Path, required=True)
    page.add_argument("--out", type=Path, required=True)
    page.add_argument("--emulator", required=True, help="the revision, and the date")
    given = parser.parse_args(arguments)
    if given.action == "page":
        return write_page(given.results, given.out, given.emulator)
    given.results.mkdir(parents=True, exist_ok=True)
    for name in given.suite or SUITES:
        _run(name, given)
    return 0


def _run(name: str, given: argparse.Namespace) -> None:
    suite, counts, start = SUITES[name], Counter[tuple[str, str, str]](), time.perf_counter()
    folder = given.sources / suite.FOLDER
    if not folder.is_dir():
        raise SystemExit(f"{folder} does not exist; README.md in this tool's folder names the source of {name}")
    with (given.results / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for case in suite.cases(folder, given.headers):
            if re.search(given.only, f"{case.program}|{case.variant}"):
                row = examined(case, given.seconds)
                row["verdict"] = verdict(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
                counts[case.variant.split()[0] if case.variant else "", case.label and "bug", row["verdict"]] += 1
    print(f"{name}: {time.perf_counter() - start:.0f} s")
    for (variant, label, said), count in sorted(counts.items()):
        print(f"    {variant} {label or 'right'}: {said} {count}")


if __name__ == "__main__":
    sys.exit(main())
