# SPDX-License-Identifier: MIT
"""Findings as plain data, which JSON can hold."""

from typing import TYPE_CHECKING, Any

from wmma_emu.ptx.reports.quotes import QuotedLine

if TYPE_CHECKING:
    from wmma_emu.ptx.reports.finding import Finding

__all__ = ["finding_as_dict"]


def finding_as_dict(finding: "Finding") -> dict[str, Any]:
    """Give a finding as the schema of reports has it."""
    return {
        "id": finding.id,
        "kind": finding.kind,
        "severity": finding.severity,
        "title": finding.title,
        "kernel": finding.kernel,
        "arch": finding.arch,
        "message": finding.message,
        "mend": finding.mend,
        "variables": list(finding.variables),
        "element": finding.element,
        "sides": [_side(x) for x in finding.sides],
        "block": None if finding.block is None else list(finding.block),
        "thread": None if finding.thread is None else list(finding.thread),
        "count": finding.count,
    }


def _side(side: QuotedLine) -> dict[str, Any]:
    return {"role": side.role, "file": side.file, "line": side.number, "column": side.column, "text": side.quote}
