# SPDX-License-Identifier: MIT
"""The launches of a test so far: the last ones, and their findings."""

from collections import Counter, deque
from threading import Lock

from wmma_emu.ptx.launch.options import Launched
from wmma_emu.ptx.reports.finding import Finding

__all__ = ["LaunchRecord", "Launches"]

_KEPT = 5


class LaunchRecord:
    """The launches of a test, or of one example of Hypothesis; the findings of all, and what the last ones were."""

    def __init__(self) -> None:
        self.count = 0
        self.last = deque[Launched](maxlen=_KEPT)
        self.findings: dict[str, Finding] = {}

    def add(self, launched: Launched) -> None:
        """Note a launch."""
        self.count += 1
        self.last.append(launched)
        for finding in launched.failing + launched.warned:
            self.findings.setdefault(finding.id, finding)


class Launches:
    """The launches of the test that runs.

    Attributes
    ----------
    seen : Seen
        Those of the test, or of the example of Hypothesis that runs.
    findings : dict
        The findings of the test, in all examples, by their identifiers.
    total : int
        Launches in all examples.
    instructions : int
        Their thread-instructions.
    kernels : Counter
        How often which was launched, on which chip.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.begin_test()

    def begin_test(self) -> None:
        """Forget what was launched before."""
        self.seen = LaunchRecord()
        self.findings: dict[str, Finding] = {}
        self.total = self.instructions = 0
        self.kernels = Counter[str]()

    def begin_example(self) -> None:
        """Separate the launches that follow from the launches before."""
        self.seen = LaunchRecord()

    def add(self, launched: Launched) -> None:
        """Note a launch, of whichever thread."""
        report = launched.report
        with self._lock:
            self.total += 1
            self.instructions += report.instructions
            self.kernels[f"{report.kernel} on {report.arch}"] += 1
            self.seen.add(launched)
            self.findings.update(self.seen.findings)
