# SPDX-License-Identifier: MIT
"""Compare the native machine with the NumPy machine: altered kernels of examples/ptx/, and random programs.

    python -m tools.compare_machines mutants --count 1000 --seed 1
    python -m tools.compare_machines programs --seconds 600 --seed 1

If the native machine has no flag, the NumPy machine must have no finding and the same bits. Every difference is
printed with what reproduces it, and the exit status is 1. The last line counts the launches, those with findings, and
those that ran twice although they have none.
"""

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import wmma_emu as we
from examples.ptx.cases import CASES, Case
from examples.ptx.texts import compiled
from tools.random_ptx import program
from wmma_emu.errors import WmmaEmuError

_LIMITS = {"max_steps": 300_000, "max_seconds": 60}


class Attempt(NamedTuple):
    """A launch: its name, and what makes the launch and its arguments."""

    name: str
    launch: Callable[[], Any]
    arguments: Callable[[], list[Any]]


class Ran(NamedTuple):
    """The outcome of a launch: its report or its error, and the bytes of its arguments."""

    said: str
    machine: str
    reason: str
    findings: frozenset[str]
    data: list[bytes]


def run(attempt: Attempt, machine: str) -> Ran:
    """Run a launch on a machine."""
    arguments = attempt.arguments()
    try:
        report = attempt.launch()(*arguments, machine=machine, **_LIMITS)
    except WmmaEmuError as error:
        return Ran(f"{type(error).__name__}: {error}", "numpy", "", frozenset(), [])
    data = [np.ascontiguousarray(x).tobytes() for x in arguments if isinstance(x, np.ndarray)]
    return Ran("", report.machine, report.machine_reason, frozenset(x.kind for x in report.findings), data)


def difference(attempt: Attempt, counts: Counter[str]) -> str:
    """Run a launch on both machines; return how they disagree, "" if they do not."""
    one = run(attempt, "auto")
    counts["launches"] += 1
    if one.machine != "native":
        counts["with findings" if one.findings or one.said else f"run twice: {one.reason}"] += 1
        return ""
    other = run(attempt, "numpy")
    if other.said:
        return other.said
    if other.findings:
        return f"the NumPy machine finds {', '.join(sorted(other.findings))}"
    return "" if one.data == other.data else "the bits differ"


_REMOVED = re.compile(
    r"\s*(@!?%p\w+ )?\s*(bar|barrier|cp\.async\.\w*(wait|commit)|st\.|fence|membar|wgmma\.(wait|commit|fence)|atom|red)"
)
_INSTRUCTION = re.compile(r"\s*(@!?%\w+\s+)?[a-z][\w.:]*(\s.*)?;")


def _removed(line: str) -> str | None:
    return "" if _REMOVED.match(line) else None


def _dropped(line: str) -> str | None:
    return "" if _INSTRUCTION.match(line) and not re.match(r"\s*(ret|bra|exit)", line) else None


def _negated(line: str) -> str | None:
    changed = re.sub(r"@(!?)(%p\w*)", lambda x: f"@{'' if x[1] else '!'}{x[2]}", line, count=1)
    return changed if changed != line else None


def _moved(line: str) -> str | None:
    changed = re.sub(r"\[(%\w+)(?:\+(-?\d+))?\]", lambda x: f"[{x[1]}+{int(x[2] or 0) + 4}]", line, count=1)
    return changed if changed != line else None


def _counted(line: str) -> str | None:
    changed = re.sub(r", (-?\d+);", lambda x: f", {int(x[1]) + 1};", line, count=1)
    return changed if changed != line else None


ALTERATIONS = {
    "without": _removed, "dropped": _dropped, "negated": _negated, "moved": _moved, "counted": _counted,
}  # fmt: skip
"""Changes of a line of PTX; None where a change does not apply."""


def body_of(case: Case) -> tuple[str, list[str]]:
    """Return the text before the body of a case's kernel, and the lines from there."""
    head, begin, body = compiled(case.text).partition(f".entry {case.kernel}(")
    return head + begin, body.split("\n")


def mutants(seed: int, names: list[str]) -> Iterator[Attempt]:
    """Yield altered kernels in a random order: each without a line, or with another line, or with a shorter array."""
    rng = np.random.default_rng(seed)
    while True:
        case = CASES[names[rng.integers(len(names))]]
        head, lines = body_of(case)
        number, kind = int(rng.integers(len(lines))), [*ALTERATIONS][rng.integers(len(ALTERATIONS))]
        if rng.random() < 0.05:
            yield shortened(case, int(rng.integers(8)))
            continue
        changed = ALTERATIONS[kind](lines[number])
        if changed is None:
            continue
        text = head + "\n".join([*lines[:number], changed, *lines[number + 1 :]])
        what = f"{case.name}, {kind} line {number}: {lines[number].strip()}"
        yield Attempt(what, launcher(text, case), lambda case=case: [*case.draw(1)])  # type: ignore[misc]


def shortened(case: Case, which: int) -> Attempt:
    """Return a launch with an array that has half of its elements."""

    def arguments() -> list[Any]:
        drawn = [*case.draw(1)]
        arrays = [i for i, x in enumerate(drawn) if isinstance(x, np.ndarray) and x.ndim]
        at = arrays[which % len(arrays)]
        drawn[at] = np.ascontiguousarray(drawn[at]).reshape(-1)[: drawn[at].size // 2].copy()
        return drawn

    return Attempt(f"{case.name} with half of array {which}", launcher(compiled(case.text), case), arguments)


def launcher(text: str, case: Case) -> Callable[[], Any]:
    """Return a function that makes the launch of a case with another text."""

    def launch() -> Any:
        module = we.ptx.Module(text, arch="sm_90", findings="report")
        return module[case.kernel][case.grid, case.block, case.shared]

    return launch


def programs(seed: int) -> Iterator[Attempt]:
    """Yield random programs."""
    for number in range(seed << 32, (seed + 1) << 32):
        drawn = program(number)

        def launch(drawn: Any = drawn) -> Any:
            return we.ptx.Module(drawn.text, arch="sm_90", findings="report")["k"][drawn.grid, drawn.block]

        yield Attempt(f"program {number}", launch, lambda drawn=drawn: drawn.arrays())  # type: ignore[misc]


def main(given: list[str] | None = None) -> int:
    """Compare, print the differences and the counts, and return whether there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("mutants", "programs"))
    parser.add_argument("--count", type=int, default=1 << 40)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", nargs="*", default=[x for x in CASES if "512" not in x])
    options = parser.parse_args(given)
    warnings.simplefilter("ignore")
    attempts = mutants(options.seed, options.cases) if options.what == "mutants" else programs(options.seed)
    counts: Counter[str] = Counter()
    end, failed = time.monotonic() + options.seconds, 0
    for attempt in attempts:
        if counts["launches"] >= options.count or time.monotonic() > end:
            break
        if said := difference(attempt, counts):
            failed += 1
            print(f"{attempt.name}: {said}", flush=True)
    print(f"{failed} differences; " + ", ".join(f"{n} {x}" for x, n in counts.most_common()))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
