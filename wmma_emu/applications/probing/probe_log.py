# SPDX-License-Identifier: MIT
"""The findings of one probe session so far."""

from collections.abc import Mapping, Sequence
from typing import Any

from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.fitting import Observations, Survivors
from wmma_emu.applications.probing.report import Answer
from wmma_emu.applications.probing.structure import Structure
from wmma_emu.arithmetic import DotProduct


class ProbeLog:
    """Answers, undetermined parameters, and matrices of input generators with the device's results.

    For each undetermined parameter, ``unobservable`` has the values that could not be distinguished; ``structures`` are
    the structures that produce the tree of sums.
    """

    def __init__(self, device: DeviceUnderTest) -> None:
        self.device = device
        self.answers: list[Answer] = []
        self.unobservable: dict[str, Sequence[Any]] = {}
        self.structures: list[Structure] = []
        self.seen = Observations(device)

    def answer(self, question: str, answer: str, evidence: tuple[str, ...] = (), problem: str = "") -> None:
        """Record an answer."""
        self.answers.append(Answer(question, answer, evidence, problem))

    def leave_open(self, name: str, values: Sequence[Any]) -> None:
        """Record the values of a parameter that cannot be distinguished so far; one value settles it."""
        self.unobservable.pop(name, None)
        if len(values) > 1:
            self.unobservable[name] = values

    def eliminated(
        self,
        question: str,
        text: str,
        survivors: Survivors,
        cases: list[Query],
        candidates: Mapping[Any, DotProduct],
        problem: str,
        chosen: Any,
    ) -> None:
        """Record an answer found by elimination: the number of dot products, and one that eliminates another value."""
        wrong = survivors.runners_up()
        evidence = [f"{survivors.compared} dot products" + (f"; of these, {wrong} would differ" if wrong else "")]
        if not cases:
            evidence = ["these formats have no case that shows it"]
        others = sorted((n, i, value) for i, (value, n) in enumerate(survivors.wrong.items()) if n)
        if others and not problem:
            evidence += self.seen.witnesses(cases, candidates[chosen], candidates[others[0][2]])
        self.answer(question, text, tuple(evidence), problem)
