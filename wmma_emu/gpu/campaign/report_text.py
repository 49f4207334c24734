# SPDX-License-Identifier: MIT
"""A campaign's report as text: what a terminal shows, and a file keeps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wmma_emu.gpu.campaign.report import Report

__all__ = ["duration", "facts", "large", "text", "verdict"]


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


def verdict(report: "Report") -> str:
    """Say in one sentence how it went."""
    done = f"{large(report.dot_products)} dot products"
    if report.mismatches:
        return f"{report.mismatches:,} mismatches in {done}"
    if report.dot_products < report.planned:
        return f"not finished: {done} of {large(report.planned)}, no mismatch so far"
    return f"no mismatch in {done}"


def facts(report: "Report") -> list[tuple[str, str]]:
    """What ran, where, and how fast."""
    device, settings, timing = report.device, report.settings, report.timing
    where = [str(device.get("name", "")), str(device.get("arch", ""))]
    where += [f"{x} {device[x]}" for x in ("driver", "toolkit") if device.get(x, "none") != "none"]
    seconds = {k: v for k, v in timing["seconds"].items() if k != "kernels"}
    total = sum(seconds.values()) or 1.0
    shares = ", ".join(f"{name} {value / total:.0%}" for name, value in seconds.items() if value / total >= 0.005)
    return [
        ("against", ", ".join(where)),
        ("emulator", f"wmma_emu {settings['wmma_emu']}, NumPy {settings['numpy']}, Python {settings['python']}"),
        ("inputs", f"families: {settings['families']}; seed {settings['seed']}"),
        ("checked too", f"{large(sum(x['executed'] for x in report.counts))} through registers and ins.execute, "
                        f"{large(sum(x['referenced'] for x in report.counts))} by the reference engine"),
        ("time", f"{duration(timing['elapsed'])}, {large(timing['rate'])} dot products a second"),
        ("emulation", f"{large(timing['emulated_per_core'])} dot products a second and core; processes: "
                      f"{settings['processes']}, busy {timing['workers_busy']:.0%} of the time: {shares}"),
        ("GPU", f"ran {timing['device_share']:.1%} of the time"),
    ]  # fmt: skip


def text(report: "Report") -> str:
    """Write a report."""
    lines = [verdict(report), ""]
    lines += [f"  {name:<13}{value}" for name, value in facts(report)]
    lines += ["", *_table(["kind", "instructions", "dot products", "mismatches"],
                          [_cells(x, "group", "instructions") for x in report.summed("group")])]  # fmt: skip
    lines += ["", *_table(["family", "instructions", "dot products", "mismatches"],
                          [_cells(x, "family", "instructions") for x in report.summed("family")])]  # fmt: skip
    wrong = [x for x in report.summed("mnemonic", "family") if x["mismatches"]]
    if wrong:
        lines += ["", *_table(["instruction", "family", "dot products", "mismatches"],
                              [_cells(x, "mnemonic", "family") for x in wrong])]  # fmt: skip
    for number, finding in enumerate(report.findings, 1):
        lines += ["", f"mismatch {number} of {len(report.findings)} that were kept", finding["text"]]
    return "\n".join(lines)


def _cells(row: dict[str, Any], *keys: str) -> list[str]:
    return [*(str(row[x]) for x in keys), f"{row['dot_products']:,}", f"{row['mismatches']:,}"]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(x) for x in column) for column in zip(headings, *rows, strict=True)]
    lines = []
    for row in (headings, *rows):
        cells = [f"{x:<{w}}" if i == 0 else f"{x:>{w}}" for i, (x, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines
