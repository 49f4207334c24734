# SPDX-License-Identifier: MIT
"""Compare the native machine with the NumPy machine, launch by launch.

    python -m tools.compare_machines mutants --count 1000 --seed 1      # altered kernels of the examples and the tests
    python -m tools.compare_machines programs --seconds 600 --seed 1    # random programs
    python -m tools.compare_machines examples [NAME ...]                # examples/ptx
    python -m tools.compare_machines planted                            # planted bugs, and the kernels without them
    python -m tools.compare_machines tests [PATH ...]                   # launches of tests, at first of recorded ones
    python -m tools.compare_machines suites SOURCES HEADERS [NAME ...]   # tools/labelled_suites/README.md names them
    python -m tools.compare_machines bundles FOLDER ...                 # launches that tools.launch_bundles reads
    python -m tools.compare_machines drawn FOLDER ...                   # the kernels of tools.drawn_launches
    python -m tools.compare_machines languages CHECKOUTS [NAME ...]     # cases of tools.language_programs
    python -m tools.compare_machines module NAME ARGUMENT ...           # launches of any program
    python -m tools.compare_machines page RESULTS ... --out docs/evidence/machines-DATE.md

If the native machine has no flag, the NumPy machine must have no finding and the same bits. Every difference is
printed with the arguments that reproduce it, and the exit status is 1. The last lines count the launches by outcome.
``--workers`` processes divide the launches, each with a different seed. ``--json`` writes the results for the page.
"""

import argparse
import sys
import time
from pathlib import Path

from tools.compare_machines.corpora import CORPORA, shares
from tools.compare_machines.page import write_page
from tools.compare_machines.summary import Summary
from tools.compare_machines.watch import Agreement
from tools.compare_machines.workers import made_by

_BETWEEN = 20
"""Seconds after which the results are written again."""


def main(arguments: list[str] | None = None) -> int:
    """Compare, print the differences and the counts, and return whether there are any differences."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.compare_machines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("corpus", choices=(*CORPORA, "page"))
    parser.add_argument("given", nargs="*", help="of the corpus: folders, files or names of cases")
    parser.add_argument("--count", type=int, default=1 << 40, help="of launches")
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no launch begins")
    parser.add_argument("--patience", type=float, default=600, help="seconds for one name of --only")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=(), help="the names of launches to make again")
    parser.add_argument("--json", type=Path, help="a file for the results")
    parser.add_argument("--name", default="", help="for the page: what the launches are")
    parser.add_argument("--source", default="", help="for the page: the revision of the emulator")
    parser.add_argument("--out", type=Path, help="the page")
    options, more = parser.parse_known_args(arguments)
    if options.corpus == "page":
        return write_page([Path(x) for x in options.given], options.out)
    given = (*options.given, *more)
    summary = Summary(options.corpus, options.name, options.source, options.workers, options.seed)
    written = time.monotonic()
    for made in made_by(options.corpus, shares(options.workers, options.seed, given, options.only),
                        options.seconds, options.patience):  # fmt: skip
        summary.add(made)
        for row in made.rows:
            if row.outcome in (Agreement.DIFFERENT, Agreement.NO_END):
                print(f"{row.place} ({row.kernel}): {row.why}\n    --only '{made.name}'", flush=True)
        if options.json and time.monotonic() > written + _BETWEEN:
            summary.write(options.json)
            written = time.monotonic()
        if summary.launches >= options.count:
            break
    print(summary)
    if options.json:
        summary.write(options.json)
    return int(bool(summary.differences))


if __name__ == "__main__":
    sys.exit(main())
