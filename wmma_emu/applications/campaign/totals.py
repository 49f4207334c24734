# SPDX-License-Identifier: MIT
"""What a campaign has counted so far."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from wmma_emu.applications.campaign.cases import Case
from wmma_emu.applications.campaign.mismatches import KEPT, Mismatch
from wmma_emu.applications.campaign.registers import Variant
from wmma_emu.applications.campaign.tasks import Task
from wmma_emu.applications.campaign.worker import COUNTS, Count, TaskResult


@dataclass(slots=True)
class Totals:
    """Everything that is counted, and which tasks are done: a bit for each in ``done``.

    Counts are by (number of the instruction, family). Seconds are those of all workers together, by what they did;
    ``elapsed`` is the time that the campaign ran, all its runs together; ``compared`` and ``differing`` are the dot
    products and mismatches of all counts.
    """

    tasks: int
    done: int = 0
    counts: dict[tuple[int, str], Count] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)
    elapsed: float = 0.0
    findings: list[Mismatch] = field(default_factory=list)
    compared: int = 0
    differing: int = 0

    def __post_init__(self) -> None:
        self.compared, self.differing = self.sum_of("dot_products"), self.sum_of("mismatches")

    def add(self, task: Task, result: TaskResult) -> None:
        """Count what came of a task."""
        self.done |= 1 << task.number
        count = self.counts.setdefault((task.instruction, task.generator), Count())
        for name in COUNTS:
            setattr(count, name, getattr(count, name) + getattr(result.count, name))
        self.compared += result.count.dot_products
        self.differing += result.count.mismatches
        for name, seconds in result.seconds.items():
            self.seconds[name] += seconds  # type: ignore[assignment]
        for finding in result.findings:
            alike = (finding.kind, task.instruction, task.generator)
            kept = sum((x.kind, x.instruction, x.generator) == alike for x in self.findings)
            if kept < KEPT:
                self.findings.append(finding)

    def remaining(self, tasks: Sequence[Task]) -> list[Task]:
        """Tasks that are not done."""
        return [task for task in tasks if not self.done >> task.number & 1]

    def sum_of(self, name: str) -> int:
        """Add a count up over all instructions and families."""
        return sum(getattr(count, name) for count in self.counts.values())

    def to_dict(self) -> dict[str, Any]:
        """Return what a state file holds."""
        return {
            "tasks": self.tasks, "done": f"{self.done:x}", "elapsed": self.elapsed, "seconds": dict(self.seconds),
            "counts": [[*key, *asdict(count).values()] for key, count in self.counts.items()],
            "findings": [_stored(x) for x in self.findings],
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Totals":
        """Read what `to_dict` returned; any exception means that it is damaged."""
        if len({(i, generator) for i, generator, *_ in data["counts"]}) != len(data["counts"]):
            raise ValueError("it counts something twice")
        return cls(
            int(data["tasks"]), int(data["done"], 16),
            {(int(i), str(generator)): Count(*(int(x) for x in rest)) for i, generator, *rest in data["counts"]},
            Counter({str(k): float(v) for k, v in data["seconds"].items()}),
            float(data["elapsed"]), [_finding(x) for x in data["findings"]],
        )  # fmt: skip


def _stored(finding: Mismatch) -> dict[str, Any]:
    """Write a mismatch for a state file, where a generator is called a family."""
    data = asdict(finding)
    return {"family": data.pop("generator"), **data}


def _finding(data: dict[str, Any]) -> Mismatch:
    generator, rest = data["family"], {name: value for name, value in data.items() if name != "family"}
    return Mismatch(**{**rest, "generator": generator, "found": _case(data["found"]), "smallest": _case(data["smallest"])})


def _case(data: dict[str, Any]) -> Case:
    indices = None if data["indices"] is None else tuple(data["indices"])
    patterns = {x: tuple(data[x]) for x in ("a", "b", "scale_a", "scale_b")} | {"indices": indices}
    return Case(**{**data, **patterns, "variant": Variant(**data["variant"])})
