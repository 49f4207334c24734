# SPDX-License-Identifier: MIT
"""What one examination has found out so far."""

from collections.abc import Mapping, Sequence
from typing import Any

from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.fitting import Observations, Survivors
from wmma_emu.applications.probing.report import Answer
from wmma_emu.applications.probing.structure import Structure
from wmma_emu.arithmetic import DotProduct


class ProbeLog:
    """Answers, what is left open, and matrices of families with what the subject made of them.

    Of each parameter that is left open, ``unobservable`` has the values that nothing has told apart; ``structures`` are
    those that make the tree of sums.
    """

    def __init__(self, device: DeviceUnderTest) -> None:
        self.device = device
        self.answers: list[Answer] = []
        self.unobservable: dict[str, Sequence[Any]] = {}
        self.structures: list[Structure] = []
        self.seen = Observations(device)

    def answer(self, question: str, answer: str, evidence: tuple[str, ...] = (), problem: str = "") -> None:
        """Write an answer down."""
        self.answers.append(Answer(question, answer, evidence, problem))

    def leave_open(self, name: str, values: Sequence[Any]) -> None:
        """Note the values of a parameter that nothing tells apart so far; one value closes it."""
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
        """Write down an answer found by elimination: how many dot products say so, and one that rules out another."""
        wrong = survivors.runners_up()
        evidence = [f"{survivors.compared} dot products" + (f"; wrong would be {wrong}" if wrong else "")]
        if not cases:
            evidence = ["these formats have no case that shows it"]
        others = sorted((n, i, value) for i, (value, n) in enumerate(survivors.wrong.items()) if n)
        if others and not problem:
            evidence += self.seen.witnesses(cases, candidates[chosen], candidates[others[0][2]])
        self.answer(question, text, tuple(evidence), problem)
