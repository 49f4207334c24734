# SPDX-License-Identifier: MIT
"""One examination: question after question, each answer narrowing the model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.arithmetic import DotModel, DotProduct
from wmma_emu.formats import FORMATS, format_of
from wmma_emu.instructions import Instruction
from wmma_emu.testing.probing.alignment import (
    Step,
    ask_cut,
    ask_fraction_bits,
    ask_normalisation,
    ask_zero_products,
)
from wmma_emu.testing.probing.chains import ask_fused, chain_cases
from wmma_emu.testing.probing.fitting import Observations, Survivors, differing, tiles_of, with_parameters
from wmma_emu.testing.probing.report import Answer, Report
from wmma_emu.testing.probing.rounding import ROUNDINGS, floor_cases, operand_cases, rounding_cases
from wmma_emu.testing.probing.specials import special_answers
from wmma_emu.testing.probing.structure import Structure, structures_of
from wmma_emu.testing.probing.subject import Case, Subject
from wmma_emu.testing.probing.terms import Terms
from wmma_emu.testing.probing.tree import Masks, NoTreeError, brackets, reveal

__all__ = ["Examination"]

_SEEDS_TO_FIT = 2
_SEEDS_TO_CHECK = 4
_NO_FLOOR = 200
"""So far below the accumulator's smallest normal exponent a floor shows nowhere."""

_LOWEST_FLOOR = -(1 << 14)
_ANY = 1 << 16
_CHAIN_ROUNDINGS = ("RNE", "RZ", "RD", "RU")


class _Sums(NamedTuple):
    """What steps could round to, and how."""

    accumulator: str
    output: str
    rounding: str

    def __str__(self) -> str:
        return f"{self.rounding} to {self.output or self.accumulator}"


class _Conversion(NamedTuple):
    """What operands could become first."""

    name: str

    def __str__(self) -> str:
        return f"first converted to {self.name}" if self.name else "as they are"


class _Chain(NamedTuple):
    """How a chain could run."""

    structure: Structure
    inside: str
    rounding: str

    def __str__(self) -> str:
        return f"{self.rounding} to {self.inside}"


class Examination:
    """The state of one examination.

    Parameters
    ----------
    subject : Subject
    seed : int
        Of the families that are compared.
    """

    def __init__(self, subject: Subject, seed: int) -> None:
        self.subject = subject
        self.seed = seed
        self.answers: list[Answer] = []
        self.unobservable: dict[str, Sequence[Any]] = {}
        self.seen = Observations(subject)
        self.structures: list[Structure] = []
        self.tree = ""
        self.note = ""
        self.checked = 0

    def run(self) -> Report:
        """Ask everything."""
        product = None
        if self._places():
            product = self._structure()
        if product is not None:
            self.seen.tiles += tiles_of(self.subject, range(self.seed, self.seed + _SEEDS_TO_FIT))
            product = self._chain(product) if product.model.arithmetic == "fma_chain" else self._steps(product)
            self.answers += special_answers(self.subject, product, Step.first(product))
            self._check(product)
        sound = product is not None and not any(answer.problem for answer in self.answers)
        return Report(
            subject=self.subject.name,
            like=self.subject.instruction.mnemonic,
            answers=tuple(self.answers),
            tree=self.tree,
            model=replace(product.model, note=self.note) if sound and product is not None else None,
            unobservable=self.unobservable if sound else {},
            note=self.note,
            dot_products=self.subject.asked,
            checked=self.checked,
            calls=self.subject.calls,
        )

    def _places(self) -> bool:
        """Whether every element of D is computed alike, and twice alike."""
        subject, row = self.subject, self.subject.instruction
        case = _ordinary(subject)
        one_a, one_b, one_c = subject.operands([case])
        a = np.zeros((row.m, row.k), subject.a.storage)
        b = np.zeros((row.k, row.n), subject.b.storage)
        a[:, list(subject.positions)], b[list(subject.positions)] = one_a[0], one_b[0]
        c = np.full((row.m, row.n), one_c[0, 0, 0])
        first, second = subject.multiply(a, b, c), subject.multiply(a, b, c)
        kinds = len(np.unique(first))
        question = "elements of D"
        if (first != second).any():
            self.answers.append(Answer(question, "differ from call to call", (), "results are not repeatable"))
        elif kinds > 1:
            text = f"{kinds} different results of one dot product, in different places"
            self.answers.append(Answer(question, text, (), "elements of D are computed in different ways"))
        else:
            self.answers.append(Answer(question, "all computed alike, and the same at a second call"))
        return not self.answers[-1].problem

    def _structure(self) -> DotProduct | None:
        """The tree of sums, and the steps that make it."""
        masks = Masks(self.subject)
        try:
            tree = reveal(masks)
        except NoTreeError as error:
            self.answers.append(Answer("order of the sums", "no tree", (str(error),), "the sums come about in no tree"))
            return None
        self.tree = brackets(tree)
        evidence = (
            f"2**{masks.small} beside 2**{masks.large} and its negative: lost where it meets one before they meet",
        )
        found = structures_of(tree, _product(self.subject.instruction, Structure("fma_chain", 1)))
        problem = "" if found else "the sums have an order that no DotModel has"
        self.answers.append(Answer("order of the sums", self.tree, evidence, problem))
        if not found:
            return None
        chosen = found[0]
        same = [x for x in found if x.arithmetic == chosen.arithmetic]
        self.structures = list({_significant(x): x for x in reversed(same)}.values())[::-1]
        self.answers.append(Answer("steps", _steps_text(chosen)))
        for name in ("terms_per_step", "k_order", "c_joins", "partial_sums"):
            self._leave_open(name, _values(same, chosen, name, self.subject.terms))
        return _product(self.subject.instruction, chosen)

    def _steps(self, product: DotProduct) -> DotProduct:
        """Aligned sums: the bits kept, then how sums are rounded, the floor, the conversion of operands."""
        subject, step = self.subject, Step.first(product)
        if not step.arrangements():
            text = "a step has fewer than three terms"
            self.answers.append(Answer("fraction bits", "steps too small to see", (), text))
            return product
        answer, values = ask_fraction_bits(subject, step)
        self.answers.append(answer)
        fraction_bits = values[0]
        self._leave_open("fraction_bits", values)
        for ask in (ask_cut, ask_normalisation, ask_zero_products):
            self.answers.append(ask(subject, step, fraction_bits))
        product = with_parameters(product, fraction_bits=fraction_bits)
        last = Step.last(product)
        product = self._rounding(product, rounding_cases(subject, last, fraction_bits))
        product = self._operands(product, operand_cases(subject, last, fraction_bits))
        return self._floor(product, floor_cases(subject, last))

    def _rounding(self, product: DotProduct, cases: list[Case]) -> DotProduct:
        """Format and rounding of the steps' results: everything that a unit could do, on the same sums."""
        candidates = {}
        for accumulator, output in _sums_of(self.subject):
            for rounding in ROUNDINGS:
                floor = format_of(accumulator).emin - _NO_FLOOR
                parameters = {"accumulator": accumulator, "output": output, "rounding": rounding}
                candidates[_Sums(accumulator, output, rounding)] = with_parameters(
                    product, min_exponent=floor, **parameters
                )
        survivors = self.seen.survivors(cases, candidates)
        modelled = [value for value in survivors.values if value[2] in ("RZ", "RNE")]
        chosen = (modelled or survivors.values)[0]
        accumulator, output, rounding = chosen
        text = str(chosen)
        if accumulator != self.subject.d.name:
            text += f", converted to {self.subject.d} at the end"
        problem = survivors.problem if modelled else survivors.problem or f"steps round {rounding}"
        self.answers.append(self._eliminated("rounding of steps", text, survivors, cases, candidates, problem))
        for i, name in enumerate(("accumulator", "output", "rounding")):
            rest = [x for j, x in enumerate(chosen) if j != i]
            self._leave_open(name, [v[i] for v in modelled if [x for j, x in enumerate(v) if j != i] == rest])
        return candidates[chosen]

    def _operands(self, product: DotProduct, cases: list[Case]) -> DotProduct:
        """Whether operands are converted, which shows in the exponents of subnormal ones."""
        names = [_Conversion(name) for name in _conversions(self.subject)]
        candidates = {x: with_parameters(product, operand_format=x.name) for x in names}
        survivors = self.seen.survivors(cases, candidates)
        # Few of these cases can be asked of narrow formats; the families have others.
        chosen = min(survivors.values, key=lambda x: self.seen.wrong(candidates[x]))
        answer = self._eliminated("operands", str(chosen), survivors, cases, candidates, survivors.problem, chosen)
        self.answers.append(answer)
        self._leave_open("operand_format", [x.name for x in survivors.values])
        return candidates[chosen]

    def _floor(self, product: DotProduct, cases: list[Case]) -> DotProduct:
        """The exponent below which the alignment does not fall: the highest that explains everything."""
        emin = product.model.accumulator_format.emin
        exponents = range(emin - 64, emin + 33)
        candidates = {e: with_parameters(product, min_exponent=e) for e in exponents}
        survivors = self.seen.survivors(cases, candidates)
        values = survivors.values
        # A floor that cuts nothing cuts nothing if it is lower.
        low, high = 0, len(values) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (low, middle - 1) if self.seen.wrong(candidates[values[middle]]) else (middle, high)
        highest = values[low]
        is_open = values[0] == exponents[0]
        text = f"2**{highest}" + (" or lower" if is_open else "")
        answer = self._eliminated(
            "floor of the alignment", text, survivors, cases, candidates, survivors.problem, highest
        )
        self.answers.append(answer)
        if is_open or low:
            self._leave_open("min_exponent", range(_LOWEST_FLOOR if is_open else values[0], highest + 1))
        return candidates[highest]

    def _chain(self, product: DotProduct) -> DotProduct:
        """Multiply-adds: the format in which they run, how each rounds, and whether products are rounded first."""
        d = self.subject.d.name
        cases = chain_cases(self.subject)
        candidates = {}
        for structure in self.structures:
            for inside in _chain_formats(self.subject):
                for rounding in _CHAIN_ROUNDINGS:
                    changes = {"accumulator": d, "operand_format": "" if inside == d else inside, **structure.fields()}
                    candidates[_Chain(structure, inside, rounding)] = with_parameters(
                        product, chain_rounding=rounding, **changes
                    )
        survivors = self.seen.survivors(cases, candidates)
        chosen = min(survivors.values, key=lambda value: self.seen.wrong(candidates[value]))
        structure, inside, rounding = chosen
        problem = survivors.problem
        if rounding != product.rounding:
            problem = f"chains round {rounding}, and {self.subject.instruction.mnemonic} rounds {product.rounding}"
        text = f"{chosen} after every product"
        labels = {value: candidates[value] for value in survivors.wrong}
        self.answers.append(self._eliminated("rounding of sums", text, survivors, cases, labels, problem, chosen))
        self.answers.append(ask_fused(self.subject))
        formats = [value[1] for value in survivors.values if (value[0], value[2]) == (structure, rounding)]
        self._leave_open("operand_format", [*formats, *([""] if d in formats else [])])
        self._leave_open("terms_per_step", _values(self.structures, structure, "terms_per_step", self.subject.terms))
        self._leave_open("c_joins", [structure.c_joins])
        return candidates[chosen]

    def _eliminated(
        self,
        question: str,
        text: str,
        survivors: Survivors,
        cases: list[Case],
        candidates: Mapping[Any, DotProduct],
        problem: str,
        chosen: Any = None,
    ) -> Answer:
        """An answer found by elimination: how many dot products say so, and the simplest that rules out another."""
        value = survivors.values[0] if chosen is None else chosen
        wrong = survivors.runners_up()
        evidence = [f"{survivors.compared} dot products" + (f"; wrong would be {wrong}" if wrong else "")]
        if not cases:
            evidence = ["these formats have no case that shows it"]
        others = sorted((n, i, v) for i, (v, n) in enumerate(survivors.wrong.items()) if n)
        if others and not problem:
            evidence += self.seen.telling(cases, candidates[value], candidates[others[0][2]])
        return Answer(question, text, tuple(evidence), problem)

    def _leave_open(self, name: str, values: Sequence[Any]) -> None:
        """Note the values of a parameter that nothing tells apart so far."""
        self.unobservable.pop(name, None)
        if len(values) > 1:
            self.unobservable[name] = values

    def _check(self, product: DotProduct) -> None:
        """Hold the model, and each value that was left open, against fresh inputs of every family."""
        start = self.seed + _SEEDS_TO_FIT
        fresh = Observations(self.subject, list(tiles_of(self.subject, range(start, start + _SEEDS_TO_CHECK))))
        wrong: dict[str, int] = {}
        of_nan = 0
        for tile in fresh.tiles:
            predicted = tile.predicted(product)
            count = int(differing(predicted, tile.d, product.d).sum())
            of_nan += int((predicted != tile.d).sum()) - count
            self.checked += tile.d.size
            if count:
                wrong[tile.family] = wrong.get(tile.family, 0) + count
        question = "the model against adversarial families"
        text = f"{self.checked} dot products of {len({tile.family for tile in fresh.tiles})} families"
        if wrong:
            worst = ", ".join(f"{family} {count}" for family, count in sorted(wrong.items(), key=lambda x: -x[1])[:5])
            problem = f"{sum(wrong.values())} of {text} differ: {worst}"
            self.answers.append(Answer(question, "it does not hold", (), problem))
            return
        if of_nan:
            self.note = f"NaN results have other bits than the model's, in {of_nan} of {self.checked} dot products"
        self.answers.append(Answer(question, f"{text}: 0 differ" + (", but for the bits of NaN" if of_nan else "")))
        fresh.tiles += self.seen.tiles
        for name, values in list(self.unobservable.items()):
            if not isinstance(values, range):
                chosen = getattr(product.model, name)
                same = [x for x in values if x == chosen or not fresh.wrong(with_parameters(product, **{name: x}))]
                self._leave_open(name, same)


def _ordinary(subject: Subject) -> Case:
    """A dot product in which every term counts and has bits of its own."""
    terms = Terms(subject)
    cases = [terms.case([(k, 3 if k % 2 else 1, -(k % 5), k % 3 == 0)]) for k in range(subject.terms)]
    products = {k: pair for case in cases if case is not None for k, pair in case.products.items()}
    return Case(products, terms.addend(5, -3) or 0)


def _product(row: Instruction, structure: Structure) -> DotProduct:
    """A structure applied to an instruction's formats, with nothing else known."""
    model = DotModel(arch="", families=(row.family,), shapes=(row.shape,), inputs=(row.a,), accumulator=row.d,
                     source="", status="probed", **structure.fields())  # fmt: skip
    return DotProduct.of(model, row)


def _significant(structure: Structure) -> Structure:
    """A structure without what has no meaning for it: a chain has no steps unless c takes their sums."""
    if structure.arithmetic == "fma_chain" and structure.c_joins != "each_add":
        return replace(structure, terms_per_step=1)
    return structure


def _values(found: list[Structure], chosen: Structure, name: str, terms: int) -> Sequence[Any]:
    """The values of a field with which the tree stays the same, and so the bits."""
    fields = [x for x in chosen.__slots__ if x != name]
    same = [x for x in found if all(getattr(x, field) == getattr(chosen, field) for field in fields)]
    values = list(dict.fromkeys(getattr(x, name) for x in same)) or [getattr(chosen, name)]
    if name != "terms_per_step":
        return values
    if chosen.arithmetic == "fma_chain" and chosen.c_joins != "each_add":
        return range(1, _ANY)
    least = min(values)
    whole = terms // 2 if chosen.k_order == "byte_pairs" else terms
    return range(least, _ANY) if max(values) >= whole else values


def _steps_text(structure: Structure) -> str:
    n = structure.terms_per_step
    join = {"first_step": "c begins", "last_add": "c is added last", "each_add": "c takes each group's sum in turn"}
    if structure.arithmetic == "fma_chain":
        groups = f", {n} products a group" if structure.c_joins == "each_add" else ""
        return f"one product after another{groups}; {join[structure.c_joins]}"
    parts = [f"{n} products at once", join[structure.c_joins]]
    if structure.k_order == "byte_pairs":
        parts.append("first the k with k % 4 < 2, then the others")
    if structure.partial_sums == "added":
        parts.append("the steps' results are added")
    return "; ".join(parts)


def _sums_of(subject: Subject) -> list[tuple[str, str]]:
    """Accumulators and outputs that steps can have: (accumulator, output)."""
    wide = [("f32", ""), ("f32", "e8m13")]
    if subject.d.name == "f16":
        return ([("f16", "")] if subject.c.name == "f16" else []) + wide
    return wide if subject.d.name == "f32" else [(subject.d.name, "")]


def _conversions(subject: Subject) -> list[str]:
    """Formats that operands can be converted to exactly, no conversion first, then narrow ones."""

    def holds(outer: str) -> bool:
        fmt = FORMATS[outer]
        return all(
            fmt.emin - fmt.fraction_bits <= x.emin - x.fraction_bits
            and fmt.emax >= x.emax
            and fmt.fraction_bits >= x.fraction_bits
            and fmt != x
            for x in (subject.a, subject.b)
        )

    return ["", *(name for name in ("f16", "bf16", "tf32") if holds(name))]


def _chain_formats(subject: Subject) -> list[str]:
    formats = ["f16", "f32", "f64"]
    narrow = max(subject.c.fraction_bits, subject.a.fraction_bits)
    return [name for name in formats if FORMATS[name].fraction_bits >= narrow]
