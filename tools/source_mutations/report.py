# SPDX-License-Identifier: MIT
"""The table of mutations as JSON and as a page."""

import json
import platform
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tools.source_mutations.points import PACKAGES, Mutation

JUDGED = Path(__file__).with_name("equivalents.json")
"""Mutants that no test can see, each with the reason: file, line before, line after."""


def equivalents(path: Path = JUDGED) -> dict[tuple[str, str, str], str]:
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {(row["file"], row["original"], row["mutated"]): row["reason"] for row in rows}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def confirmed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a fork unchanged, unless the failed test does not distinguish the mutant from the original."""
    alone = (row.get("again", "caught"), row.get("without", "survived"))
    if row["outcome"] == "caught" and alone != ("caught", "survived"):
        return row | {"outcome": "survived", "not_confirmed": row["test"]}
    return row


def caught_first(rows: list[dict[str, Any]]) -> dict[Mutation, dict[str, Any]]:
    """Return one row for each mutation: where one run caught it, that one; else the last one."""
    found: dict[Mutation, dict[str, Any]] = {}
    for row in map(confirmed, rows):
        mutation = Mutation(**row["mutation"])
        if found.get(mutation, {}).get("outcome") != "caught":
            found[mutation] = row
    return found


def both_lines(copy: Path, mutation: Mutation) -> tuple[str, str]:
    """Return the line before and after, without what it is indented by."""
    line = (copy / mutation.file).read_text(encoding="utf-8").splitlines()[mutation.line - 1]
    return line.strip(), mutation.mutated_line(line).strip()


def table_of(copy: Path, drawn: list[Mutation], first: dict[Mutation, Any], after: dict[Mutation, Any]) -> list[Any]:
    """Return a row of the report for each mutation."""
    reasons, rows = equivalents(), []
    for mutation in drawn:
        before, behind = both_lines(copy, mutation)
        found = first.get(mutation, {"outcome": "not run"})
        row: dict[str, Any] = {
            "file": mutation.file, "line": mutation.line, "original": before, "mutated": behind,
            "operator": mutation.operator, "outcome": found["outcome"],
        }  # fmt: skip
        if found["outcome"] == "caught":
            row |= {"test": found["test"], "says": found.get("message", "").split("\n")[0][:120]}
            row["seconds"] = found.get("seconds", found.get("wall"))
            row["process"] = "its own" if found.get("fresh") else "a fork"
            if found.get("together"):
                row["found"] = "together with other survivors"
        else:
            reason = reasons.get((mutation.file, before, behind))
            if reason:
                row |= {"outcome": "equivalent", "reason": reason}
            elif after.get(mutation, {}).get("outcome") == "caught":
                row["caught_by_new_test"] = after[mutation]["test"]
        rows.append(row)
    return rows


def numbers(rows: list[Any]) -> dict[str, Any]:
    counts = Counter(row["outcome"] for row in rows)
    others = len(rows) - counts["equivalent"]
    later = sum("caught_by_new_test" in row for row in rows)
    return {
        "mutations": len(rows), "equivalent": counts["equivalent"], "others": others, "caught": counts["caught"],
        "caught_percent": round(100 * counts["caught"] / max(others, 1), 1), "caught_after": counts["caught"] + later,
        "caught_after_percent": round(100 * (counts["caught"] + later) / max(others, 1), 1),
        "found_together": sum("found" in row for row in rows),
        "by_time_out": sum("timed out" in row.get("says", "") for row in rows),
    }  # fmt: skip


def write(work: Path, copy: Path, json_file: Path, page: Path, after: Path | None) -> None:
    told = json.loads((work / "drawn.json").read_text(encoding="utf-8"))
    drawn = [Mutation(**row) for row in told["drawn"]]
    later = [row | {"together": True} for row in lines_of(work / "together.jsonl")]
    first = caught_first([*lines_of(work / "rows.jsonl"), *later])
    rows = table_of(copy, drawn, first, caught_first(lines_of(after)) if after else {})
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=copy, capture_output=True, text=True).stdout.strip()
    told = {
        "what": "tools/source_mutations: one-line mutations of the source, and whether the quick suite catches them",
        "revision": revision, "machine": "2 cores, no GPU",
        "python": platform.python_version(), "numpy": np.__version__,
        "packages": list(PACKAGES), "seed": told["seed"], "places": told["places"], **numbers(rows), "rows": rows,
    }  # fmt: skip
    json_file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(page_of(told, json_file.name), encoding="utf-8")


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return fence + text.replace("|", "\\|") + fence


def page_of(told: dict[str, Any], json_name: str) -> str:
    """Return the page: the text of page.md, the numbers, and the rows that need a comment."""
    rows = told["rows"]
    text = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    parts = {
        "@NUMBERS@": _numbers(rows), "@SURVIVORS@": _survivors(rows), "@EQUIVALENTS@": _equivalents(rows),
        "@JSON@": json_name,
    }  # fmt: skip
    parts |= {f"@{key}@": str(value) for key, value in told.items() if key != "rows"}
    parts["@revision@"] = told["revision"][:8]
    for mark, value in parts.items():
        text = text.replace(mark, value)
    return text


def _numbers(rows: list[Any]) -> str:
    lines = ["| package | mutations | equivalent | caught by the suite as it was | caught with the new tests |"]
    lines.append("|---|--:|--:|--:|--:|")
    groups = [(f"`{name}`", [r for r in rows if r["file"].split("/")[1] == name]) for name in PACKAGES]
    for name, some in (*groups, ("**all**", rows)):
        n = numbers(some)
        caught = f"{n['caught']} of {n['others']}"
        lines.append(f"| {name} | {len(some)} | {n['equivalent']} | {caught} | {n['caught_after']} of {n['others']} |")
    return "\n".join(lines)


def _survivors(rows: list[Any]) -> str:
    lines = ["| place | before | after | the test that catches it now |", "|---|---|---|---|"]
    for row in rows:
        if row["outcome"] not in ("caught", "equivalent"):
            now = f"`{row['caught_by_new_test']}`" if "caught_by_new_test" in row else "none"
            place = f"`{row['file'].removeprefix('wmma_emu/')}:{row['line']}`"
            lines.append(f"| {place} | {_code(row['original'])} | {_code(row['mutated'])} | {now} |")
    return "\n".join(lines)


def _equivalents(rows: list[Any]) -> str:
    lines = ["| place | before | after | why no test can see it |", "|---|---|---|---|"]
    for row in rows:
        if row["outcome"] == "equivalent":
            place = f"`{row['file'].removeprefix('wmma_emu/')}:{row['line']}`"
            lines.append(f"| {place} | {_code(row['original'])} | {_code(row['mutated'])} | {row['reason']} |")
    return "\n".join(lines)
