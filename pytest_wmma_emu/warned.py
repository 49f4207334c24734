# SPDX-License-Identifier: MIT
"""Findings that became warnings, at the end of a test run: each once, with the tests that met it."""

from types import SimpleNamespace
from typing import Any

import pytest

__all__ = ["note", "show"]

_COUNTED = "kernel warnings"
"""What the last line of a test run counts: findings, however many tests met them."""


def note(config: pytest.Config, tests: dict[str, list[str]], warning: Any, nodeid: str) -> None:
    """Note the findings of a warning for its test, and take it from the warnings that pytest lists."""
    findings = getattr(warning, "findings", ())
    if not findings:
        return
    fresh = [x for x in dict.fromkeys(findings) if x not in tests]
    for finding in findings:
        met = tests.setdefault(finding, [])
        if nodeid not in met:
            met.append(nodeid)
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None:
        return
    listed = reporter.stats.get("warnings", [])
    if listed and listed[-1].nodeid == nodeid:
        listed.pop()
        if not listed:
            del reporter.stats["warnings"]
    if fresh:
        reporter._add_stats(_COUNTED, [SimpleNamespace(nodeid=nodeid, count_towards_summary=True) for _ in fresh])


def show(reporter: Any, tests: dict[str, list[str]]) -> None:
    """Write the section."""
    if len(tests) == 1 and _COUNTED in reporter.stats:
        reporter._add_stats(_COUNTED.removesuffix("s"), reporter.stats.pop(_COUNTED))
    if not reporter.hasopt("w"):  # --disable-warnings
        return
    reporter.write_sep("=", "kernel findings (warnings)", yellow=True, bold=False)
    width = reporter._tw.fullwidth
    for finding, met in tests.items():
        where = met[0] + (f" and {len(met) - 1} more test{'s' * (len(met) > 2)}" if len(met) > 1 else "")
        if len(finding) + len(where) + 2 > width:
            reporter.write_line(finding, yellow=True)
            reporter.write_line(f"  {where}")
        else:
            reporter.write(f"{finding}: ", yellow=True)
            reporter.write_line(where)
