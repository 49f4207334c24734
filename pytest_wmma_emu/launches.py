# SPDX-License-Identifier: MIT
"""The launches of a test so far: the last ones, and the findings of all."""

from collections import Counter, deque
from threading import Lock

from wmma_emu.ptx.launch.options import Launched
from wmma_emu.ptx.reports.finding import Finding

__all__ = ["Launches", "Seen"]

_KEPT = 5


class Seen:
    """The launches of a test, or of one example of Hypothesis: the findings of all, and the last launches."""

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
    seen : Seen
        The launches of the test, or of the running example of Hypothesis.
    findings : dict
        The findings of the test in all examples, by identifier.
    total : int
        The number of launches in all examples.
    instructions : int
        The number of their thread-instructions.
    kernels : Counter
        The number of launches of each kernel on each chip.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.begin_test()

    def begin_test(self) -> None:
        """Forget the launches of earlier tests."""
        self.seen = Seen()
        self.findings: dict[str, Finding] = {}
        self.total = self.instructions = 0
        self.kernels = Counter[str]()

    def begin_example(self) -> None:
        """Separate the following launches from the earlier ones."""
        self.seen = Seen()

    def add(self, launched: Launched) -> None:
        """Record a launch, from any thread."""
        report = launched.report
        with self._lock:
            self.total += 1
            self.instructions += report.instructions
            self.kernels[f"{report.kernel} on {report.arch}"] += 1
            self.seen.add(launched)
            self.findings.update(self.seen.findings)
