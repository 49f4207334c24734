# SPDX-License-Identifier: MIT
"""The page of evidence: the verdicts on each suite's programs, and the reasons for differences from the labels."""

import json
import platform
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.labelled_suites.judgements import NOT_JUDGED, judged, no_conflict
from tools.labelled_suites.small_kernels import table

__all__ = ["write_page"]

Row = dict[str, Any]

_SMALL = """
The first kernel of memcheck's demo stores a word one byte behind the beginning of a variable of one word: misaligned,
and beyond its end, which is what is said.

### Seven small kernels beside compute-sanitizer

Written for this comparison. Compute-sanitizer's words are those of an NVIDIA H200 (CUDA 13.0, driver 580.159.04,
2026-11-23; racecheck with its warnings); its initcheck and memcheck say nothing of any of them.
"""

_RAN = ("error", "warning", "silent")
_CHANGES = (("seeds, -O3", r"seed"), ("seeds, -G", r"seed -G"), ("a barrier deleted", r"mutant.*"))
_REASONS = {
    "indirect": "function pointers", "envreg": "grid barriers of cooperative groups",
    "%reserved": "registers of reserved shared memory", "bytes of shared memory": "more shared memory than is legal",
    "__shfl": "shuffles of old", "texture": "textures", "curand": "cuRAND", "greater than zero": "empty arrays",
    "LaunchLimit": "limit of time", "operator": "operators of vectors", "dot": "operators of vectors",
}  # fmt: skip


def write_page(results: Path, out: Path, emulator: str) -> int:
    """Write the page, and print verdicts without an explanation: 1 if there are any."""
    suites = {
        name: [json.loads(x) for x in (results / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("nvidia", "indigo", "scor", "gpuverify", "cav14")
    }
    head = (Path(__file__).parent / "head.md").read_text(encoding="utf-8")
    head = head.replace("@EMULATOR@", emulator).replace("@PYTHON@", platform.python_version())
    parts = [head.replace("@NUMPY@", np.__version__).rstrip(), *_summary(suites)]
    parts += [*_nvidia(suites["nvidia"]), _SMALL, *table(), *_indigo(suites["indigo"]), *_scor(suites["scor"])]
    parts += [*_gpuverify(suites["gpuverify"]), *_cav14(suites["cav14"])]
    text = "\n".join(parts) + "\n"
    out.write_text(text, encoding="utf-8")
    crashes = [f"{x['program']} {x['variant']}: crash" for rows in suites.values() for x in rows if "crash" in x]
    missing = [x for x in text.splitlines() if NOT_JUDGED in x]
    print("\n".join(crashes + missing) or "everything is judged")
    return int(bool(crashes or missing))


def _ran(rows: Sequence[Row]) -> list[Row]:
    return [x for x in rows if x["verdict"] in _RAN]


def _count(rows: Sequence[Row], verdict: str) -> int:
    return sum(x["verdict"] == verdict for x in rows)


def _agrees(row: Row) -> bool:
    return (row["verdict"] != "silent") == bool(row["label"])


def _kinds(row: Row) -> str:
    """Return the kinds of findings: errors by name, others with their severity."""
    errors = sorted({x["kind"] for x in row["findings"] if x["severity"] == "error"})
    others = sorted({f"{x['kind']} ({x['severity']})" for x in row["findings"] if x["severity"] != "error"})
    return ", ".join(errors + others) or "nothing"


def _summary(suites: dict[str, list[Row]]) -> Iterator[str]:
    yield "\n## In numbers\n"
    yield "| suite | ran | bug: an error | a warning alone | neither | right: neither | a warning alone | an error |"
    yield "|---|---|---|---|---|---|---|---|"
    parts = [(f"compute-sanitizer samples, {x}", "nvidia", x) for x in ("-O3", "-G")]
    parts += [("Indigo", "indigo", ""), ("ScoR, as it is", "scor", "as it is")]
    parts += [("ScoR, compiled with `-Dvolatile=`", "scor", "-Dvolatile=")]
    parts += [(f"GPUVerify, {x}", "gpuverify", x) for x in ("-O3", "-G")]
    parts += [("cav14, as they are", "cav14", "right")]
    parts += [(f"cav14, {name}", "cav14", pattern) for name, pattern in _CHANGES]
    for name, suite, pattern in parts:
        rows = _ran([x for x in suites[suite] if re.fullmatch(pattern, x["variant"])])
        bugs, right = [x for x in rows if x["label"]], [x for x in rows if not x["label"]]
        yield (
            f"| {name} | {len(rows)} | {_of(bugs, 'error')} | {_count(bugs, 'warning')} | {_count(bugs, 'silent')} "
            f"| {_of(right, 'silent')} | {_count(right, 'warning')} | {_count(right, 'error')} |"
        )
    yield _OUTCOME.rstrip()


_OUTCOME = """
By the judgements below, each program with a bug of which nothing is said has none in its PTX but stores of equal bytes,
or its label is about something else; and each right one of which something is said has that.
"""


def _of(rows: Sequence[Row], verdict: str) -> str:
    return f"{_count(rows, verdict)} of {len(rows)}" if rows else ""


def _pairs(rows: Sequence[Row], variants: tuple[str, str]) -> Iterator[tuple[Row, Row]]:
    """Return the rows of each program, compiled in two ways."""
    by = {(x["program"], x["variant"]): x for x in rows}
    for program in dict.fromkeys(x["program"] for x in rows):
        yield by[program, variants[0]], by[program, variants[1]]


def _nvidia(rows: Sequence[Row]) -> Iterator[str]:
    yield "\n## NVIDIA's compute-sanitizer samples\n"
    yield "| kernel | bug | -O3 | -G |\n|---|---|---|---|"
    for fast, debug in _pairs(rows, ("-O3", "-G")):
        name, _, which = fast["program"].partition(":")
        yield f"| `{name}`{which and f', {which}'} | {fast['label']} | {_kinds(fast)} | {_kinds(debug)} |"


def _indigo(rows: Sequence[Row]) -> Iterator[str]:
    yield "\n## Indigo\n"
    yield "| label | programs | with an error | with nothing | kinds of the errors |\n|---|---|---|---|---|"
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["label"] or "none: right"].append(row)
    for label, some in sorted(groups.items(), key=lambda x: -len(x[1])):
        each = Counter(k for x in some for k in {y["kind"] for y in x["findings"] if y["severity"] == "error"})
        kinds = ", ".join(f"{kind} {n}" for kind, n in each.most_common()) or "none"
        yield f"| {label} | {len(some)} | {_count(some, 'error')} | {_count(some, 'silent')} | {kinds} |"


def _scor(rows: Sequence[Row]) -> Iterator[str]:
    yield "\n## ScoR\n\n| program | label | as it is | with `-Dvolatile=` | judgement |\n|---|---|---|---|---|"
    for pair in _pairs(rows, ("as it is", "-Dvolatile=")):
        why = " ".join(_why(x) for x in pair if not _agrees(x))
        name, label = pair[0]["program"], pair[0]["label"] or "race free"
        yield f"| `{name}` | {label} | {_kinds(pair[0])} | {_kinds(pair[1])} | {why} |"


def _why(row: Row) -> str:
    return judged(row["suite"], row["program"], row["variant"], row["verdict"])


def _others(rows: Sequence[Row], label: Callable[[Row], str]) -> Iterator[str]:
    """Return every verdict that is not the label."""
    yield "| program | compiled | label | said | judgement |\n|---|---|---|---|---|"
    for row in _ran(rows):
        if not _agrees(row):
            name = row["program"].removesuffix("/kernel.cu")
            yield f"| `{name}` | {row['variant']} | {label(row)} | {_kinds(row)} | {_why(row)} |"


def _left_out(rows: Sequence[Row]) -> str:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        text = row.get("refused") or row.get("not_compiled")
        if row["verdict"] in ("refused", "not compiled"):
            words = (name for word, name in _REASONS.items() if word in text or word in row["program"])
            reason = next(words, "what NVRTC does not take")
            found[reason][f"`{row['program'].removesuffix('/kernel.cu')}`"] = None
    listed = "; ".join(f"{reason}: {', '.join(names)}" for reason, names in sorted(found.items()))
    return f"\nNot compiled or refused: {listed or 'none'}."


def _gpuverify(rows: Sequence[Row]) -> Iterator[str]:
    yield "\n## GPUVerify\n\nEvery verdict that is not the label:\n"
    yield from _others(rows, lambda x: x["label"] or "pass")
    yield _left_out(rows)


def _cav14(rows: Sequence[Row]) -> Iterator[str]:
    conflicts = json.loads((Path(__file__).parent / "conflicts.json").read_text(encoding="utf-8"))
    right = [x for x in rows if x["variant"] == "right"]
    yield "\n## cav14\n\nAs they are, every program of which something is said:\n"
    yield from _others(right, lambda _: "race free")
    yield _left_out(right)
    known = {x["program"]: _places(x) for x in right}
    changed = [(x, _new(x, known[x["program"]])) for x in _ran(rows) if x["variant"] != "right"]
    yield "\nWith a change. *New* is an error or a warning that the program without the change has not:\n"
    yield "| change | ran | in conflict | a new error | a new warning alone | not in conflict | something new |"
    yield "|---|---|---|---|---|---|---|"
    for name, pattern in _CHANGES:
        some = [(_conflict(x, conflicts), new) for x, new in changed if re.fullmatch(pattern, x["variant"])]
        racy, rest = [new for bad, new in some if bad], [new for bad, new in some if not bad]
        errors, warnings = racy.count("error"), racy.count("warning")
        others = len(rest) - rest.count("")
        yield f"| {name} | {len(some)} | {len(racy)} | {errors} | {warnings} | {len(rest)} | {others} |"
    yield "\nChanges of which nothing new is said:\n"
    yield "| program | change | in conflict | said | why |\n|---|---|---|---|---|"
    for row, new in changed:
        if not new:
            change = row["variant"] + row["label"].replace("seed", ":").replace("barrier deleted", "")
            bad = "yes" if _conflict(row, conflicts) else "no"
            why = NOT_JUDGED if bad == "yes" else no_conflict(row["program"], row["variant"])
            name = row["program"].removesuffix("/kernel.cu")
            yield f"| `{name}` | {change} | {bad} | {_kinds(row)} | {why} |"


def _places(row: Row) -> set[tuple[str, str]]:
    return {(x["kind"], x["source"]) for x in row.get("findings", ()) if x["severity"] != "note"}


def _new(row: Row, known: set[tuple[str, str]]) -> str:
    """Return the highest severity of the findings that a change added; empty for none, or for notes."""
    severities = {x["severity"] for x in row["findings"] if (x["kind"], x["source"]) not in known} - {"note"}
    return min(severities, default="")


def _conflict(row: Row, conflicts: dict[str, dict[str, list[str] | None]]) -> bool:
    found = conflicts.get(row["program"], {}).get(row["variant"].strip()) or []
    return bool(set(found) - {"equal"})
