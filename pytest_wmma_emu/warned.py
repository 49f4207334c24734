# SPDX-License-Identifier: MIT
"""Findings that became warnings, at the end of a test run: each once, with the tests that met it."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

__all__ = ["SeenFinding", "note", "show"]

_COUNTED = "kernel warnings"
"""The count in the last line of a test run: each finding once, in however many tests it occurs."""


class SeenFinding(NamedTuple):
    """The first warning of a finding, and the tests in which it occurred."""

    text: str
    tests: list[str]


def note(config: pytest.Config, known: dict[str, SeenFinding], warning: Any, nodeid: str) -> None:
    """Note the findings of a warning for its test, and take it from the warnings that pytest lists."""
    findings = getattr(warning, "findings", ())
    if not findings:
        return
    fresh = [x for x in dict.fromkeys(findings) if x not in known]
    for finding in findings:
        met = known.setdefault(finding, SeenFinding(str(warning), [])).tests
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


def show(reporter: Any, known: dict[str, SeenFinding]) -> None:
    """Write the section: a line for each finding, and with -v the whole warning."""
    if len(known) == 1 and _COUNTED in reporter.stats:
        reporter._add_stats(_COUNTED.removesuffix("s"), reporter.stats.pop(_COUNTED))
    if not reporter.hasopt("w"):  # --disable-warnings
        return
    reporter.write_sep("=", "kernel findings (warnings)", yellow=True, bold=False)
    width = reporter._tw.fullwidth
    said = set[str]()
    for finding, (text, met) in known.items():
        where = met[0] + (f" and {len(met) - 1} more test{'s' * (len(met) > 2)}" if len(met) > 1 else "")
        if len(finding) + len(where) + 2 > width:
            reporter.write_line(finding, yellow=True)
            reporter.write_line(f"  {where}")
        else:
            reporter.write(f"{finding}: ", yellow=True)
            reporter.write_line(where)
        if reporter.config.option.verbose > 0 and text not in said:
            said.add(text)
            reporter.write_line("\n".join(f"  {x}" for x in text.splitlines()))
    if reporter.config.option.verbose <= 0:
        reporter.write_line("(-v shows all of each)")
