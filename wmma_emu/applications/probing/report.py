# SPDX-License-Identifier: MIT
"""The results of a probe: answers with their evidence, and the resulting model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wmma_emu.arithmetic import MODELS, DotModel
from wmma_emu.version import __version__

PARAMETERS = (
    "accumulator", "arithmetic", "terms_per_step", "fraction_bits", "min_exponent", "output", "rounding",
    "operand_format", "k_order", "c_joins", "partial_sums",
)  # fmt: skip
"""The fields of a `DotModel` that decide bits."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One question and the answer of the experiments.

    Parameters
    ----------
    question : str
    answer : str
    evidence : tuple of str
        Queried dot products, with their results.
    problem : str
        The reason why no `DotModel` matches; empty if one does.
    """

    question: str
    answer: str
    evidence: tuple[str, ...] = ()
    problem: str = ""

    def __str__(self) -> str:
        lines = [f"{self.question}: {self.answer}", *(f"    {line}" for line in self.evidence)]
        return "\n".join([*lines, f"    no model: {self.problem}"] if self.problem else lines)


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The results of `wmma_emu.testing.examine`. ``str()`` gives the report as text.

    Parameters
    ----------
    subject : str
        The name of the device under test.
    like : str
        The instruction with the same shape and formats.
    answers : tuple of Answer
    tree : str
        The order of the sums, as nested brackets.
    model : DotModel or None
        None if no model gives the device's bits.
    unobservable : dict
        For each parameter of the model that no input of these formats and this k determines: the values that give the
        same bits, including the model's own.
    note : str
        A remark beyond the model: whether NaN results have different bits from the model's.
    dot_products, checked, calls : int
        The number of queried dot products, of those compared with the model, and of calls.
    version : str
        The version of wmma_emu that asked.
    """

    subject: str
    like: str
    answers: tuple[Answer, ...]
    tree: str
    model: DotModel | None
    unobservable: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    note: str = ""
    dot_products: int = 0
    checked: int = 0
    calls: int = 0
    version: str = __version__

    @property
    def problems(self) -> tuple[str, ...]:
        """The reasons why there is no model."""
        return tuple(answer.problem for answer in self.answers if answer.problem)

    def differences(self, model: DotModel) -> dict[str, tuple[Any, Any]]:
        """Compare with another model: return the contradicting parameters as (found, given).

        A parameter that no input reveals does not contradict.
        """
        if self.model is None:
            return {"arithmetic": (None, model.arithmetic)}
        found = {name: (getattr(self.model, name), getattr(model, name)) for name in PARAMETERS}
        return {name: pair for name, pair in found.items() if pair[1] not in self._equivalent(name, pair[0])}

    def _equivalent(self, name: str, value: Any) -> Sequence[Any]:
        if name == "output":
            # "" is the accumulator's format.
            value = value or self.model.accumulator if self.model else value
            return (value, "") if self.model and value == self.model.accumulator else (value,)
        values = self.unobservable.get(name, (value,))
        if name == "operand_format" and self.model and "" in values:
            # A conversion to the operands' own format changes nothing; f32 has the exponents of bf16 and tf32.
            wide = ("f32",) if {"bf16", "tf32"} & {*values, *self.model.inputs} else ()
            return (*values, *self.model.inputs, *wide)
        return values

    def chips(self) -> tuple[str, ...]:
        """Return the chips whose models in the table match."""
        if self.model is None:
            return ()
        what = ("families", "shapes", "inputs")
        entries = (
            entry for entry in MODELS if all(set(getattr(self.model, x)) <= set(getattr(entry, x)) for x in what)
        )
        return tuple(dict.fromkeys(entry.arch for entry in entries if not self.differences(entry)))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
        open_ = {name: _others(values) for name, values in self.unobservable.items()}
        return {
            "subject": self.subject,
            "like": self.like,
            "tree": self.tree,
            "answers": {answer.question: [answer.answer, *answer.evidence] for answer in self.answers},
            "problems": list(self.problems),
            "model": None if self.model is None else {name: getattr(self.model, name) for name in PARAMETERS},
            "unobservable": open_,
            "note": self.note,
            "dot_products": self.dot_products,
            "checked": self.checked,
            "calls": self.calls,
            "wmma_emu": self.version,
        }

    def __str__(self) -> str:
        lines = [f"{self.subject}, like {self.like}", "", *map(str, self.answers), ""]
        if self.model is None:
            lines.append("no DotModel was found that gives these bits:")
            lines += [f"- {problem}" for problem in self.problems]
        else:
            lines.append(f"model: {self.model.describe()}")
            for name, values in self.unobservable.items():
                chosen = getattr(self.model, name)
                lines.append(f"    {name}={chosen!r}: no input distinguishes it from {_others(values)}")
            lines += [f"    {self.note}"] if self.note else []
            lines.append(
                f"    {self.checked} dot products of adversarial inputs compared with it, 0 differ; "
                f"{self.dot_products} queried before that, in {self.calls} calls in total"
            )
        return "\n".join(lines)


def _others(values: Sequence[Any]) -> str:
    if isinstance(values, range):
        return f"the values {values.start} to {values.stop - 1}"
    return ", ".join(map(repr, values))
