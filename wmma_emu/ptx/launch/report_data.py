# SPDX-License-Identifier: MIT
"""A report as plain data, which JSON can hold: what `report.schema.json` says of it."""

from typing import TYPE_CHECKING, Any

from wmma_emu.ptx.launch.silences import Silence
from wmma_emu.ptx.reports.plain import finding_as_dict
from wmma_emu.ptx.reports.schema import VERSION
from wmma_emu.version import __version__

if TYPE_CHECKING:
    from wmma_emu.ptx.launch.report import Report

__all__ = ["report_as_dict"]


def report_as_dict(report: "Report") -> dict[str, Any]:
    """Give a report as its schema has it."""
    paths = report.paths
    return {
        "version": VERSION,
        "tool": {"name": "wmma-emu", "version": __version__},
        "kernel": report.kernel,
        "arch": report.arch,
        "grid": list(report.grid),
        "block": list(report.block),
        "shared_bytes": report.shared_bytes,
        "ptx_file": paths.get("", ""),
        "compiler": report.compiler,
        "instructions": report.instructions,
        "steps": report.steps,
        "seconds": report.seconds,
        "completed": report.completed,
        "output": report.output,
        "not_checked": list(report.not_checked),
        "assumed": list(report.assumed),
        "contraction": report.contraction,
        "contracted": list(report.contracted),
        "folded": list(report.folded),
        "not_bit_exact": [
            {"opcode": x.opcode, "ptx_line": x.line, "reason": x.reason} for x in report.not_bit_exact
        ],
        "findings": [finding_as_dict(x, paths) for x in report.findings],
        "baseline": report.baseline,
        "known": [finding_as_dict(x, paths) for x in report.known],
        "silenced": [
            {"finding": finding_as_dict(x.finding, paths), "silence": _silence(x.silence)} for x in report.silenced
        ],
        "unused_silences": [_silence(x) for x in report.unused_silences],
    }  # fmt: skip


def _silence(silence: Silence) -> dict[str, Any]:
    return {
        "kind": silence.kind,
        "line": silence.line,
        "last": silence.last,
        "reason": silence.reason,
        "comment": silence.comment,
    }
