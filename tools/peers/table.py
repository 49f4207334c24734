# SPDX-License-Identifier: MIT
"""The table that each of these tools prints: what ran, on which revision, and each case that is not as expected."""

import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from wmma_emu import __version__

__all__ = ["Row", "print_table", "revision", "table_of"]


class Row(NamedTuple):
    """One case: its name, its outcome in a word or two, and the reason if the outcome is not the best one."""

    case: str
    outcome: str
    reason: str = ""


def revision(checkout: Path) -> str:
    """Return the revision of a checkout and its date, or the name of the folder if git does not know it."""
    found = _git(checkout, "log", "-1", "--format=%h of %cs")
    return found or f"{checkout.resolve().name} (no git)"


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def table_of(suite: str, version: str, rows: Sequence[Row], reasons: int = 40) -> str:
    """Return the counts of the outcomes, and the cases by reason, as Markdown.

    Parameters
    ----------
    suite : str
    version : str
        The revision of the suite, with its date.
    rows : sequence of Row
    reasons : int
        The number of cases that are named for one reason.

    Examples
    --------
    >>> rows = [Row("add", "equal"), Row("sub", "equal"), Row("tex", "refused", "no textures")]
    >>> print(table_of("demo", "abc of 2026-01-01", rows).split("\\n\\n", 1)[1])
    | outcome | cases |
    |---|---|
    | equal | 2 |
    | refused | 1 |
    | all | 3 |
    <BLANKLINE>
    | outcome | reason | number | cases |
    |---|---|---|---|
    | refused | no textures | 1 | tex |
    """
    counts = Counter(x.outcome for x in rows)
    parts = [_head(suite, version), _lines(("outcome", "cases"), [*counts.most_common(), ("all", len(rows))])]
    grouped: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason:
            grouped.setdefault((row.outcome, row.reason), []).append(row.case)
    if grouped:
        parts.append(_lines(("outcome", "reason", "number", "cases"), _by_reason(grouped, reasons)))
    return "\n\n".join(parts)


def _head(suite: str, version: str) -> str:
    here = _git(Path(__file__).parent, "describe", "--always", "--dirty") or __version__
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    return f"{suite}, {version}; wmma_emu {here}, {datetime.now(UTC).date()}, {machine}"


def _by_reason(grouped: dict[tuple[str, str], list[str]], most: int) -> Iterable[tuple[object, ...]]:
    for (outcome, reason), cases in sorted(grouped.items(), key=lambda x: (x[0][0], -len(x[1]), x[0][1])):
        more = [f"and {len(cases) - most} more"] if len(cases) > most else []
        yield outcome, reason, len(cases), ", ".join(cases[:most] + more)


def _lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [columns, ["---"] * len(columns), *rows]
    lines = [f"| {' | '.join(' '.join(str(x).split()).replace('|', '/') for x in row)} |" for row in cells]
    lines[1] = lines[1].replace(" ", "")
    return "\n".join(lines)


def print_table(suite: str, version: str, rows: Sequence[Row], good: Iterable[str]) -> int:
    """Print the table; return the exit status: 1 if an outcome is not among the good ones."""
    print(table_of(suite, version, rows))
    return int(any(x.outcome not in set(good) for x in rows))
