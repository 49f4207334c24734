# SPDX-License-Identifier: MIT
"""A campaign's report as text: what a terminal shows, and a file keeps."""

import textwrap
from collections.abc import Sequence
from typing import Any

from wmma_emu.applications.campaign.report import CampaignReport
from wmma_emu.applications.campaign.worker import COUNTS

_WIDTH = 100
_HEADINGS = ("dot products", "mismatches")


def large(number: float) -> str:
    """Write a large number so that its size is seen.

    Examples
    --------
    >>> large(999), large(20480), large(1.25e9)
    ('999', '20,480', '1.25e9')
    """
    if number < 10**7:
        return f"{number:,.0f}"
    mantissa, exponent = f"{number:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def duration(seconds: float) -> str:
    """Write a time.

    Examples
    --------
    >>> duration(3.14159), duration(200), duration(4000)
    ('3.1 s', '3 min 20 s', '1 h 6 min')
    """
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = int(seconds) // 60
    if minutes < 60:
        return f"{minutes} min {int(seconds) % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"


def verdict(report: CampaignReport) -> str:
    """Say in one sentence how it went."""
    done = f"{large(report.dot_products)} dot products"
    if report.mismatches:
        summary = f"{report.mismatches:,} mismatch{'es' * (report.mismatches != 1)} in {done}"
    elif report.dot_products < report.planned:
        summary = f"not finished: {done} of {large(report.planned)}, no mismatch so far"
    else:
        summary = f"no mismatch in {done}"
    if report.self_mismatches:
        summary += f"; the emulator disagrees with itself about {large(report.self_mismatches)}"
    return f"dry run: the emulator against itself, {summary}" if report.is_dry else summary


def facts(report: CampaignReport) -> list[tuple[str, str]]:
    """What ran, where, when, and how fast."""
    device, settings, timing = report.device, report.settings, report.timing
    where = [str(device.get("name", "")), str(device.get("arch", ""))]
    named = {"driver": "driver", "toolkit": "toolkit", "cuda_core": "cuda-core"}
    where += [f"{word} {device[x]}" for x, word in named.items() if device.get(x, "none") != "none"]
    revision = f" (revision {settings['revision']})" if settings["revision"] else ""
    seconds = {k: v for k, v in timing["seconds"].items() if k != "kernels"}
    total = sum(seconds.values()) or 1.0
    shares = ", ".join(f"{name} {value / total:.0%}" for name, value in seconds.items() if value / total >= 0.005)
    counted = {x: sum(count[x] for count in report.counts) for x in COUNTS}
    found = [
        ("date", settings["date"]),
        ("against", ", ".join(where)),
        ("emulator", f"wmma_emu {settings['wmma_emu']}{revision}, NumPy {settings['numpy']}, "
                     f"Python {settings['python']}"),
        ("inputs", f"families: {settings['families']}; seed {settings['seed']}"),
        ("checked too", f"{large(counted['executed'])} through registers and ins.execute"
                        f"{_differ(counted['executed_wrong'])}, {large(counted['referenced'])} by the reference engine"
                        f"{_differ(counted['referenced_wrong'])}"),
        ("time", f"{duration(timing['elapsed'])}, {large(timing['rate'])} dot products a second"),
        ("emulation", f"{large(timing['emulated_per_core'])} dot products a second and core; processes: "
                      f"{settings['processes']}, busy {timing['workers_busy']:.0%} of the time: {shares}"),
    ]  # fmt: skip
    if told := models(report):
        found.append(("models", told))
    if counted["unread"]:
        what = f"{counted['unread']:,} of the mismatches are tiles whose registers differ, but no element of D in them"
        found.append(("unread bits", what))
    if not report.is_dry:
        found.append(("GPU", f"ran {timing['device_share']:.1%} of the time"))
    return found


def _differ(number: int) -> str:
    return f" ({number:,} differ)" if number else " (none differs)"


def wrong_rows(report: CampaignReport, *keys: str) -> list[dict[str, Any]]:
    """Sums of which anything differs."""
    return [x for x in report.summed(*keys) if x["mismatches"] or x["executed_wrong"] or x["referenced_wrong"]]


def with_model(row: dict[str, Any]) -> dict[str, Any]:
    """Put the name of a model to the mnemonic, where it has one."""
    model = f" (model={row['model']!r})" if row["model"] else ""
    return {**row, "mnemonic": row["mnemonic"] + model}


def models(report: CampaignReport) -> str:
    """Say what each model came to, where several are held against one chip."""
    sums: dict[str, list[dict[str, Any]]] = {}
    for row in report.summed("mnemonic", "model"):
        sums.setdefault(row["mnemonic"], []).append(row)
    parts = []
    for mnemonic, rows in sums.items():
        if any(row["model"] for row in rows):
            each = (f"{row['model'] or 'the default'} {row['mismatches']:,}" for row in rows)
            parts.append(f"mismatches of {mnemonic} by model: {', '.join(each)}")
    return "; ".join(parts)


def text(report: CampaignReport) -> str:
    """Write a report; what ran is wrapped at 100 columns."""
    lines = [*textwrap.wrap(verdict(report), _WIDTH), ""]
    for name, value in facts(report):
        lines += textwrap.wrap(
            value,
            _WIDTH,
            initial_indent=f"  {name:<13}",
            subsequent_indent=" " * 15,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join([*lines, *tables(report), *findings(report)])


def tables(report: CampaignReport) -> list[str]:
    """Write the counts, each table after an empty line."""
    lines: list[str] = []
    for keys in ("group", "family"):
        cells = [
            [x[keys], str(x["instructions"]), f"{x['dot_products']:,}", f"{x['mismatches']:,}"]
            for x in report.summed(keys)
        ]
        lines += ["", *_table(["kind" if keys == "group" else keys, "instructions", *_HEADINGS], cells)]
    cells, last = [], ""
    for row in map(with_model, wrong_rows(report, "mnemonic", "model", "family")):
        if row["mnemonic"] != last:
            last = row["mnemonic"]
            cells.append([last])
        own = [row["mismatches"], row["executed_wrong"], row["referenced_wrong"]]
        cells.append([f"  {row['family']}", f"{row['dot_products']:,}", *(f"{x:,}" for x in own)])
    if cells:
        lines += ["", *_table(["instruction, family", *_HEADINGS, "registers", "reference"], cells)]
    return lines


def findings(report: CampaignReport) -> list[str]:
    """Write what was kept of what differs, each after an empty line."""
    lines: list[str] = []
    for number, finding in enumerate(report.findings, 1):
        lines += ["", f"mismatch {number} of {len(report.findings)} that were kept", *finding["text"].splitlines()]
    return lines


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lay a table out; a row of one cell is a heading, as wide as it is."""
    whole = [row for row in (headings, *rows) if len(row) > 1]
    widths = [max(len(x) for x in column) for column in zip(*whole, strict=True)]
    lines = []
    for row in (headings, *rows):
        cells = [f"{x:<{w}}" if i == 0 else f"{x:>{w}}" for i, (x, w) in enumerate(zip(row, widths, strict=False))]
        lines.append("  ".join(cells).rstrip())
    return lines
