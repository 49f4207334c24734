# SPDX-License-Identifier: MIT
"""The tables of a recording: the share of equal products in each run, by count and by work, and every distinct one."""

import json
from pathlib import Path
from typing import Any

from wmma_emu.gemm import PRESETS
from wmma_emu.models.convolution_kernels import RECORDED, RECORDED_DTYPES, Convolution
from wmma_emu.models.kinds import FORMATS


def tables(path: Path) -> str:
    """Return the tables of a file as Markdown."""
    recording = json.loads(path.read_text())
    rows = recording["products"]
    return "\n\n".join([_machine(recording), _runs(rows), _fused(recording["fused"]), _products(rows)])


def _machine(recording: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in recording.items() if isinstance(value, str))


def _runs(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row["occurrences"]))
    lines = [
        "| run | products | a plain loop is equal | another order is equal | no order found | equal, by work | "
        "in a preset | by work |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        mine = [row for row in rows if name in row["occurrences"]]
        count = {kind: sum(x["occurrences"][name] for x in mine if kind_of(x) == kind) for kind in KINDS}
        recorded = [x for x in mine if is_recorded(x)]
        equal = [x for x in mine if kind_of(x) != "none"]
        lines.append(
            f"| {name} | {sum(count.values())} | {count['plain']} | {count['other']} | {count['none']} | "
            f"{_share(equal, mine, name)} | {sum(x['occurrences'][name] for x in recorded)} | "
            f"{_share(recorded, mine, name)} |"
        )
    return "\n".join(lines)


def _share(some: list[dict[str, Any]], of: list[dict[str, Any]], name: str) -> str:
    part, whole = (sum(x["occurrences"][name] * x["work"] for x in rows) for rows in (some, of))
    return f"{part / whole:.1%}"


def is_recorded(row: dict[str, Any]) -> bool:
    """Return whether a preset of `like=` includes a product."""
    if row["operation"] not in ("mm", "addmm", "bmm"):
        return row["dtype"] in RECORDED_DTYPES and any(_is_of(one, row) for one in RECORDED)
    fmt = FORMATS[row["dtype"]]
    preset = next(x for x in PRESETS if x.name == f"cublas-sm90-{fmt}")
    entry = preset.recorded_as(tuple(row["shape"]), fmt, row["addend"], row["matrices"])
    return entry is not None and row["addend"] in entry.epilogues


def _is_of(one: Convolution, row: dict[str, Any]) -> bool:
    """Return whether a row is a convolution; the sizes of its operands determine the stride and the padding."""
    sizes = [tuple(shape) for shape, _ in row["operands"]]
    image, filters = sizes[-2:] if row["part"] else sizes[:2]
    part = row["part"] or "forward"
    return (part, image, filters[:1] + filters[2:]) == (one.part, (1, *one.image), one.filters)


KINDS = ("plain", "other", "none")
"""A plain loop gives every bit; another candidate does; no candidate does."""


def kind_of(row: dict[str, Any]) -> str:
    """Return which kind of candidate explains a product."""
    if not row.get("equal"):
        return "none"
    return "other" if row["plain differ"] else "plain"


def _fused(fused: dict[str, dict[str, int]]) -> str:
    if not fused:
        return "No fused operations."
    lines = ["| fused operation, not compared | run | calls |", "|---|---|---|"]
    lines += [f"| `{name}` | {run} | {n} |" for name, counts in fused.items() for run, n in counts.items()]
    return "\n".join(lines)


def _products(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| operation | M x N x K | dtype | addend | elements that differ | arithmetic | plain loop | kernel |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda x: (x["dtype"], x["operation"], x["part"], x["shape"])):
        batch = f"{row['matrices']} of " if row["matrices"] > 1 else ""
        what = f"| {row['operation']} {row['part']} | {batch}{' x '.join(map(str, row['shape']))} | {row['dtype']}"
        kernels = "; ".join(x.partition(" grid ")[0][:60] for x in row["kernels"])
        if "error" in row:
            lines.append(f"{what} | {row['addend']} | not compared: {row['error'][:60]} | | | `{kernels}` |")
            continue
        lines.append(
            f"{what} | {row['addend']} | {row['differ']} of {row['elements']} | {_arithmetic(row)} | "
            f"{row['plain differ']} | `{kernels}` |"
        )
    return "\n".join(lines)


def _arithmetic(row: dict[str, Any]) -> str:
    how = row["candidate"]
    parts = [how["instr"].partition(".")[0], *(f"{key}={value}" for key, value in how["order"].items()), how["layout"]]
    if row["addend"]:
        parts.append(f"{row['addend']} {how['form']}")
    return ("" if row["equal"] else "nearest: ") + ", ".join(x for x in parts if x)
