# SPDX-License-Identifier: MIT
"""The page of evidence: what was compared, where and when, and every launch that ran twice."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.compare_machines.watch import Agreement

__all__ = ["write_page"]

_COLUMNS = {
    "equal": (Agreement.EQUAL,), "flag and finding": (Agreement.FOUND,), "ran twice": (Agreement.TWICE,),
    "NumPy at once": (Agreement.AT_ONCE,), "as asked": (Agreement.ASKED,),
    "error": (Agreement.ERROR, Agreement.BEYOND, Agreement.NO_END), "not launched": (Agreement.NOT_LAUNCHED,),
}  # fmt: skip

_COMMANDS = {
    "mutants": "mutants --workers 3 --seconds 335 --seed 101",
    "programs": "programs --workers 3 --seconds 335 --seed 101",
    "examples": "examples", "planted": "planted", "tests": "tests",
    "suites": "suites SOURCES /usr/local/cuda/include", "bundles": "bundles BUNDLES",
    "drawn": "drawn FOLDER",
    "languages": "languages CHECKOUTS",
    "module": "module tools.run_nvidia_samples --cuda-samples DIR",
}  # fmt: skip

_MEANINGS = {
    "mutants": "altered kernels", "programs": "random programs", "examples": "kernels of `examples/ptx`",
    "planted": "planted bugs, and the kernels without them", "tests": "recorded launches of the tests",
    "suites": "labelled suites", "bundles": "launches of other projects' programs",
    "drawn": "kernels of other projects with drawn arguments", "languages": "Triton programs", "module": "programs",
}  # fmt: skip

_RANDOM = ("mutants", "programs")


def write_page(results: Sequence[Path], out: Path) -> int:
    """Write the page from the results of `--json`; return whether there is a difference."""
    runs: list[dict[str, Any]] = [json.loads(x.read_text(encoding="utf-8")) for x in results]
    runs.sort(key=lambda x: ([*_MEANINGS].index(x["corpus"]), x["name"], x["seed"]))
    corpora = [x for x in _COMMANDS if any(y["corpus"] == x for y in runs)]
    commands = "\n".join(f"python -m tools.compare_machines {_COMMANDS[x]}" for x in corpora)
    head = (Path(__file__).parent / "head.md").read_text(encoding="utf-8")
    parts = [head.format(commands=commands, table="\n".join(_table(runs))), *_machines(runs), *_altered(runs)]
    for run in runs:
        parts += _lists(run)
    out.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return int(any(x["differences"] for x in runs))


def _title(run: dict[str, Any]) -> str:
    name = run["name"] or _MEANINGS[run["corpus"]]
    return f"{name}, seed {run['seed']}" if run["corpus"] in _RANDOM else name


def _table(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    head = ["launches of", *_COLUMNS, "different", "share", "CPU hours"]
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for run in runs:
        yield _line(_title(run), [run])
    groups = {_MEANINGS[x]: [x] for x in _RANDOM} | {"all others": [x for x in _MEANINGS if x not in _RANDOM]}
    for name, corpora in groups.items():
        mine = [x for x in runs if x["corpus"] in corpora]
        if len(mine) > 1:
            yield _line(f"**{name}, together**", mine)


def _line(title: str, runs: Sequence[dict[str, Any]]) -> str:
    outcomes: Counter[str] = Counter()
    for run in runs:
        outcomes.update(run["outcomes"])
    counts = [sum(outcomes[x] for x in kinds) for kinds in _COLUMNS.values()]
    right = outcomes[Agreement.EQUAL] + outcomes[Agreement.TWICE]
    share = f"{100 * outcomes[Agreement.TWICE] / right:.1f} %" if right else ""
    hours = sum(x["cpu_seconds"] for x in runs) / 3600
    numbers = [f"{x:,}" for x in (*counts, outcomes[Agreement.DIFFERENT])]
    return f"| {' | '.join([title, *numbers, share, f'{hours:.2f}'])} |"


def _machines(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "## Machines and revisions\n"
    for run in runs:
        yield f"- {_title(run)}: revision {run['source']}, {run['date']}, {run['workers']} processes; {run['machine']}"
    yield ""


def _altered(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield what the altered kernels are, and how often which alteration had which outcome."""
    counts: Counter[tuple[str, str]] = Counter()
    kernels: set[str] = set()
    for run in runs:
        if run["corpus"] == "mutants":
            counts.update({(x, y): n for x, y, n in run["alterations"]})
            kernels |= {*run["kernels"]}
    if not counts:
        return
    launched = [x for x in Agreement if x is not Agreement.NOT_LAUNCHED and any(y == x for _, y in counts)]
    yield f"## Altered kernels\n\n{len(kernels)} kernels were altered, by one change each.\n"
    yield f"| change | {' | '.join(launched)} |\n|{'---|' * (len(launched) + 1)}"
    for kind in sorted({x for x, _ in counts}):
        yield f"| {kind.replace('_', ' ')} | {' | '.join(f'{counts[kind, x]:,}' for x in launched)} |"
    yield ""


def _lists(run: dict[str, Any]) -> Iterator[str]:
    title = _title(run)
    yield f"## {title[0].upper()}{title[1:]}\n"
    if run["differences"]:
        yield "**Differences:**\n"
        yield from (f"- `{place}`, `{kernel}`: {why}" for place, kernel, why in run["differences"])
        yield ""
    yield from _reasons(run, Agreement.AT_ONCE, "NumPy at once")
    yield from _reasons(run, Agreement.ERROR, "Errors")
    yield from _reasons(run, Agreement.BEYOND, "A limit on the NumPy machine only")
    yield from _reasons(run, Agreement.NO_END, "No end in time")
    if run["corpus"] in _RANDOM:
        yield from _reasons(run, Agreement.TWICE, "Ran twice")
        return
    yield from _twice(run)


def _reasons(run: dict[str, Any], outcome: Agreement, title: str) -> Iterator[str]:
    found: Counter[str] = Counter()
    for x, why, n in run["reasons"]:
        if x == outcome:
            found[_shown(why)] += n
    if found:
        yield f"{title}: {'; '.join(f'{why} ({n:,})' for why, n in found.most_common())}.\n"


def _shown(why: str) -> str:
    """Return a reason without places; the name of an instruction is code."""
    first, *rest = re.sub(r"line \d+", "a line", why.split("; block")[0].split(": ")[0]).split(" ")
    return " ".join([f"`{first}`" if "." in first else first, *rest])


def _twice(run: dict[str, Any]) -> Iterator[str]:
    """Yield the launches that ran twice, equal rows once with their number."""
    counts = Counter((place, kernel, why) for place, kernel, why in run["twice"])
    if not counts:
        yield "No launch ran twice.\n"
        return
    yield "| ran twice | kernel | launches | reason |\n|---|---|---|---|"
    for (place, kernel, why), n in sorted(counts.items()):
        yield f"| {place.replace('|', ' ')} | `{kernel}` | {n} | {why} |"
    yield ""
