# SPDX-License-Identifier: MIT
"""The results of comparing a corpus: counts of launches by outcome, and lists of those that need attention."""

import datetime
import json
import os
import platform
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools.compare_machines.watch import Agreement
from tools.compare_machines.workers import Made

__all__ = ["Summary"]


class Summary:
    """Counts the launches of a corpus."""

    def __init__(self, corpus: str, name: str, source: str, workers: int, seed: int) -> None:
        self._about = {"corpus": corpus, "name": name, "source": source, "workers": workers, "seed": seed}
        self.outcomes: Counter[Agreement] = Counter()
        self.reasons: Counter[tuple[Agreement, str]] = Counter()
        self.alterations: Counter[tuple[str, Agreement]] = Counter()
        self.kernels: set[str] = set()
        self.differences: list[tuple[str, str, str]] = []
        self.twice: list[tuple[str, str, str]] = []
        self.findings_at_once = 0
        self.cpu_seconds = 0.0
        self._begun = time.time()

    @property
    def launches(self) -> int:
        """The number of launches, without those that options or errors keep from the comparison."""
        return sum(self.outcomes[x] for x in _COMPARED)

    @property
    def right(self) -> int:
        """The number of launches without a finding that the native machine began."""
        return self.outcomes[Agreement.EQUAL] + self.outcomes[Agreement.TWICE]

    def add(self, made: Made) -> None:
        """Count the launches of an attempt."""
        self.cpu_seconds += made.cpu_seconds
        for row in made.rows:
            self.outcomes[row.outcome] += 1
            if self._about["corpus"] == "mutants":
                self.kernels.add(made.name.split()[0])
                self.alterations[made.name.split()[1], row.outcome] += 1
            self.findings_at_once += row.outcome == Agreement.AT_ONCE and row.has_finding
            if row.outcome not in (Agreement.EQUAL, Agreement.DIFFERENT):
                self.reasons[row.outcome, row.why] += 1
            if row.is_difference:
                self.differences.append((row.place, row.kernel, row.why))
            if row.outcome == Agreement.TWICE:
                self.twice.append((row.place, row.kernel, row.why))

    def as_dict(self) -> dict[str, Any]:
        """Return the results for JSON."""
        return {
            **self._about, "date": datetime.date.today().isoformat(), "machine": _machine(),
            "seconds": round(time.time() - self._begun), "cpu_seconds": round(self.cpu_seconds),
            "kernels": sorted(self.kernels), "alterations": [[*x, n] for x, n in sorted(self.alterations.items())],
            "outcomes": {str(x): n for x, n in self.outcomes.most_common()},
            "reasons": [[str(x), why, n] for (x, why), n in self.reasons.most_common()],
            "findings_at_once": self.findings_at_once,
            "differences": sorted(self.differences), "twice": sorted(self.twice),
        }  # fmt: skip

    def write(self, path: Path) -> None:
        """Write the results as JSON."""
        path.write_text(json.dumps(self.as_dict(), indent=0) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        lines = [f"{n:7} {x}" for x, n in self.outcomes.most_common()]
        lines += [f"{n:7}     {x}: {why}" for (x, why), n in self.reasons.most_common(20)]
        share = f"{self.outcomes[Agreement.TWICE]} of {self.right} right launches ran twice"
        return "\n".join([*lines, f"{share}; {self.cpu_seconds:.0f} CPU seconds; {len(self.differences)} differences"])


def _machine() -> str:
    """Return the processor, its cores and the versions."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    processor = next((x.split(": ")[1] for x in lines if x.startswith("model name")), platform.processor())
    versions = ", ".join(f"{x} {version(x)}" for x in ("numpy", "llvmlite"))
    return f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


_COMPARED = (Agreement.EQUAL, Agreement.DIFFERENT, Agreement.FOUND, Agreement.TWICE, Agreement.AT_ONCE)
