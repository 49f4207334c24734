# SPDX-License-Identifier: MIT
"""The page of findings: each bundle's findings, their assessments, and the effect of uninitialised memory."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.bundle_launcher import bits_of, bundles_in, name_of, read_bundle
from tools.launch_bundles import emulated_bundle
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Finding

__all__ = ["FILLS", "examine", "write_findings_page"]

FILLS = ("ones", 1)
"""Fills that are compared with zeros."""

Row = dict[str, Any]

_DIGITS = 40

_HEAD = """# Findings in kernels of public repositories

The findings of launches with every check. The kernels were not written by this project; they are compiled as their
authors do, and launched with arguments that they accept (`tools/launch_bundles.py`). No source is part of this
repository; the table names the revision. Every finding was assessed by reading the source: **true** findings are
faults of the kernel, even if they are harmless; **false** findings would be faults of the checks.

{launches} launches of {kernels} kernels of {repositories} repositories: {clean} without an error, {true} with errors
that are true, {false} with false errors, {refused} rejected or stopped.

Each kernel was launched again with other bytes in uninitialised shared memory, local memory and registers
(`fill="ones"`, and bytes drawn from a seed): {compared} comparisons; {differ} differ without
a report of an uninitialised value.

Emulator: {emulator}.

| repository | revision | file | kernel | launch | findings | assessment |
|---|---|---|---|---|---|---|
"""


def write_findings_page(
    bundles: Path, results: Path, verdicts: Path, out: Path, seconds: float, emulator: str = "not said"
) -> int:
    """Launch bundles that are not in ``results``, write the page, and print errors without an assessment.

    Return 1 if there are such errors.
    """
    rows = [json.loads(x) for x in results.read_text().splitlines()] if results.exists() else []
    known = {x["bundle"] for x in rows}
    for bundle in bundles_in(bundles):
        name = name_of(bundles, bundle)
        if name not in known:
            rows.append({"bundle": name} | examine(bundle, seconds))
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(f"{name}: {_findings(rows[-1])}", flush=True)
    judged = json.loads(verdicts.read_text())
    out.write_text(_page(rows, judged, emulator), encoding="utf-8")
    missing = [f"{x['bundle']}: {y}" for x in rows for y in _kinds(x, "error") if not _verdict(judged, x, y)]
    print("\n".join(f"not assessed: {x}" for x in missing) or "every error has an assessment")
    return int(bool(missing))


def examine(bundle: Path, seconds: float) -> Row:
    """Launch a bundle with every fill: its findings, and the fills that change what it leaves."""
    launch, _ = read_bundle(bundle)
    row: Row = {"source": launch["source"], "kernel": launch["kernel"], "findings": [], "differ": []}
    try:
        arrays, report = emulated_bundle(bundle, max_seconds=seconds)
        row["findings"] = [_said(x) for x in report.findings]
        for fill in FILLS:
            others, _ = emulated_bundle(bundle, max_seconds=seconds, fill=fill, checks=())
            row["differ"] += [fill] if any(bits_of(x) != bits_of(others[name]) for name, x in arrays.items()) else []
    except WmmaEmuError as error:
        row["refused"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    return row


def _said(finding: Finding) -> Row:
    where = {"line": finding.line, "source": str(finding.source or "")}
    return {"kind": finding.kind, "severity": finding.severity} | where


def _kinds(row: Row, severity: str) -> list[str]:
    return sorted({x["kind"] for x in row["findings"] if x["severity"] == severity})


def _verdict(judged: Mapping[str, Any], row: Row, kind: str) -> str:
    """Return the assessment of a kind in a bundle, under the bundle's name or under a common beginning and a star."""
    given: Any = judged.get(row["bundle"]) or next(
        (x for name, x in judged.items() if name.endswith("*") and row["bundle"].startswith(name[:-1])), {}
    )
    return str(given if isinstance(given, str) else given.get(kind, ""))


def _findings(row: Row) -> str:
    """Return the kinds with their numbers of findings, or the reason for a refusal."""
    if "refused" in row:
        return str(row["refused"])
    counts = Counter((x["severity"], x["kind"]) for x in row["findings"])
    return ", ".join(f"{severity}: {kind} ({n})" for (severity, kind), n in sorted(counts.items())) or "none"


def _page(rows: list[Row], judged: Mapping[str, Any], emulator: str) -> str:
    wrong = [x for x in rows if _kinds(x, "error")]
    false = [x for x in wrong if any(_verdict(judged, x, y).startswith("false") for y in _kinds(x, "error"))]
    refused = [x for x in rows if "refused" in x]
    ran = len(rows) - len(refused)
    head = _HEAD.format(
        emulator=emulator, launches=len(rows), kernels=len({(_repository(x), x["kernel"]) for x in rows}),
        repositories=len({_repository(x) for x in rows}), clean=ran - len(wrong),
        true=len(wrong) - len(false), false=len(false), refused=len(refused), compared=ran * len(FILLS),
        differ=sum(len(x["differ"]) for x in rows if not any("uninitialised" in y["kind"] for y in x["findings"])),
    )  # fmt: skip
    lines = [_line(x, judged) for x in sorted(rows, key=lambda x: (_repository(x).lower(), x["bundle"]))]
    return head + "\n".join(lines) + "\n"


def _repository(row: Row) -> str:
    return str(row["source"]["repository"]).removeprefix("https://github.com/")


def _revision(row: Row) -> str:
    """Return the first ten digits of a Git revision, or the whole version of a package."""
    given = str(row["source"]["revision"])
    return given[:10] if len(given) == _DIGITS else given


def _line(row: Row, judged: Mapping[str, Any]) -> str:
    source = row["source"]
    said = [_verdict(judged, row, y) for y in dict.fromkeys(x["kind"] for x in row["findings"])]
    cells = [
        _repository(row), f"`{_revision(row)}`",
        f"`{source['file']}`", f"`{source.get('kernel', row['kernel'])[:60]}`", row["bundle"], _findings(row),
        " ".join(dict.fromkeys(x for x in said if x)),
    ]  # fmt: skip
    return "| " + " | ".join(str(x).replace("|", "\\|") for x in cells) + " |"
