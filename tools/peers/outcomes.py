# SPDX-License-Identifier: MIT
"""Outcomes of the tests that pytest runs, a line of JSON each, for the plug-ins of these tools."""

import json
import os
import re
from pathlib import Path

import pytest

FILE = "WMMA_EMU_RESULTS"
"""The environment variable with the path of the file."""


def note_error(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Note the first line of a test's error in its report, which may come from another process."""
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        report.user_properties.append(("error", call.excinfo.exconly().strip().splitlines()[0][:200]))


class _Outcomes:
    """Writes a line for each test, in the process that has all the reports."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the outcome of the test itself, or of its preparation if that did not pass."""
        is_part = hasattr(report, "context")  # a subtest: the test itself follows
        if (report.passed and (is_part or report.when != "call")) or report.nodeid in self.failed:
            return
        self.failed |= {report.nodeid} if report.failed else set()
        noted = {str(x): str(y) for x, y in report.user_properties}
        reason = noted.get("error", "")
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2])
        line = {
            "test": report.nodeid, "outcome": report.outcome, "error": re.sub(r"0x[0-9a-f]{6,}", "0x...", reason),
            "launch": noted.get("launch", ""), "seconds": round(report.duration, 2),
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def collect_outcomes(session: pytest.Session) -> None:
    """Collect the outcomes, but not in a worker of pytest-xdist."""
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Outcomes(Path(os.environ[FILE])))
