# SPDX-License-Identifier: MIT
"""Tables for the page of evidence, of what ``--json`` wrote.

    python -m tools.language_programs.page RUN.jsonl [RUN.jsonl ...]

A case that is in the files several times counts with its last line.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.language_programs.__main__ import HEAD, row, summary
from tools.language_programs.case import CASES
from tools.language_programs.interpreted import Interpreted
from tools.language_programs.projects import PROJECTS
from tools.language_programs.running import Outcome

__all__ = ["lines"]

Run = tuple[Outcome, Interpreted | None]


def read(paths: Sequence[Path]) -> dict[str, Run]:
    """Return the last outcome of each case, in the order of the cases."""
    found: dict[str, Run] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            said = json.loads(line)
            theirs = said.pop("interpreter", None)
            found[said["case"]] = Outcome(**said), None if theirs is None else Interpreted(*theirs)
    return {x: found[x] for x in CASES if x in found}


def lines(runs: dict[str, Run]) -> Iterator[str]:
    """Yield the lines of the tables: the cases of each project, a summary, and the findings by kind."""
    for project in PROJECTS:
        own = [x for x in runs.values() if CASES[x[0].case].project == project]
        if own:
            yield from ("", f"### {project.name}", "")
            yield f"[{project.repository}](https://github.com/{project.repository}), revision {project.revision[:10]}."
            yield from ("", *HEAD.splitlines(), *(row(*x) for x in own))
    yield from ("", *summary([x for x, _ in runs.values()], [x for _, x in runs.values()]), "")
    yield from _findings(runs)


def _findings(runs: dict[str, Run]) -> Iterator[str]:
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for outcome, _ in runs.values():
        for kernel, severity, title, _ in outcome.findings:
            kind = title.split(" at ")[0].split(" on ")[0]
            found[severity, kind][f"`{kernel}`"] = None
    for (severity, kind), kernels in sorted(found.items()):
        yield f"- {severity}, {kind} ({len(kernels)}): {', '.join(kernels)}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{x}\n" for x in lines(read([Path(x) for x in sys.argv[1:]])))
