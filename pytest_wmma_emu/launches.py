# SPDX-License-Identifier: MIT
"""The launches of a test so far: the last launches, and all findings."""

from collections import Counter, deque
from threading import Lock

from wmma_emu.ptx.launch.options import Launched
from wmma_emu.ptx.reports.finding import Finding

__all__ = ["LaunchRecord", "Launches"]

_KEPT = 5


class LaunchRecord:
    """The launches of a test, or of one Hypothesis example: their number, the last launches, and all findings."""

    def __init__(self) -> None:
        self.count = 0
        self.last = deque[Launched](maxlen=_KEPT)
        self.findings: dict[str, Finding] = {}

    def add(self, launched: Launched) -> None:
        """Record a launch."""
        self.count += 1
        self.last.append(launched)
        for finding in launched.failing + launched.warned:
            self.findings.setdefault(finding.id, finding)


class Launches:
    """The launches of the running test.

    Attributes
    ----------
    seen : LaunchRecord
        The launches of the test, or of the running Hypothesis example.
    findings : dict
        The findings of the test, in all examples, by their identifiers.
    total : int
        The number of launches in all examples.
    instructions : int
        The number of their thread-instructions.
    kernels : Counter
        The number of launches of each kernel, by chip.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.begin_test()

    def begin_test(self) -> None:
        """Discard the launches of earlier tests."""
        self.seen = LaunchRecord()
        self.findings: dict[str, Finding] = {}
        self.total = self.instructions = 0
        self.kernels = Counter[str]()

    def begin_example(self) -> None:
        """Start a new record for the launches of the next example."""
        self.seen = LaunchRecord()

    def add(self, launched: Launched) -> None:
        """Record a launch, from any thread."""
        report = launched.report
        with self._lock:
            self.total += 1
            self.instructions += report.instructions
            self.kernels[f"{report.kernel} on {report.arch}"] += 1
            self.seen.add(launched)
            self.findings.update(self.seen.findings)
