# SPDX-License-Identifier: MIT
"""One probe session: query after query, each answer narrowing the model."""

from dataclasses import replace

import numpy as np

from wmma_emu.applications.probing.alignment import RoundingStep
from wmma_emu.applications.probing.chains import find_chain
from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.fitting import Observations, differing, observed_line, tiles_of, with_parameters
from wmma_emu.applications.probing.probe_log import ProbeLog
from wmma_emu.applications.probing.report import ProbeReport
from wmma_emu.applications.probing.specials import special_answers
from wmma_emu.applications.probing.stepwise import find_steps
from wmma_emu.applications.probing.structure import Structure, significant, steps_text, structures_of, values_of
from wmma_emu.applications.probing.terms import C, Leaf, Terms, exact
from wmma_emu.applications.probing.tree import Masks, NoTreeError, brackets, reveal
from wmma_emu.arithmetic import DotModel, DotProduct
from wmma_emu.evidence import Evidence
from wmma_emu.instructions import Instruction

_SEEDS_TO_FIT = 2
_SEEDS_TO_CHECK = 4


class ProbeSession:
    """The state of one probe session; the input generators use its seed."""

    def __init__(self, device: DeviceUnderTest, seed: int) -> None:
        self.device = device
        self.seed = seed
        self.log = ProbeLog(device)
        self.tree = ""
        self.note = ""
        self.checked = 0

    def run(self) -> ProbeReport:
        """Run all experiments."""
        product = None
        if self._check_uniformity():
            product = self._find_structure()
        if product is not None:
            self.log.seen.tiles += tiles_of(self.device, range(self.seed, self.seed + _SEEDS_TO_FIT))
            find = find_chain if product.model.arithmetic == "fma_chain" else find_steps
            product = find(self.log, product)
            self.log.answers += special_answers(self.device, product, RoundingStep.first(product))
            self._check_model(product)
        sound = product is not None and not any(answer.problem for answer in self.log.answers)
        return ProbeReport(
            subject=self.device.name,
            like=self.device.instruction.mnemonic,
            answers=tuple(self.log.answers),
            tree=self.tree,
            model=replace(product.model, note=self.note) if sound and product is not None else None,
            unobservable=self.log.unobservable if sound else {},
            note=self.note,
            dot_products=self.device.queried,
            checked=self.checked,
            calls=self.device.calls,
        )

    def _check_uniformity(self) -> bool:
        """Return whether every element of D is computed in the same way, repeatably, and at its position."""
        question, device = "elements of D", self.device
        entry = device.instruction
        for case in _ordinary(device):
            one_a, one_b, one_c = device.operands([case])
            a = np.zeros((entry.m, entry.k), device.a.storage)
            b = np.zeros((entry.k, entry.n), device.b.storage)
            a[:, list(device.positions)], b[list(device.positions)] = one_a[0], one_b[0]
            c = np.full((entry.m, entry.n), one_c[0, 0, 0])
            first, second = device.multiply(a, b, c), device.multiply(a, b, c)
            if (first != second).any():
                self.log.answer(question, "differ from call to call", (), "results are not repeatable")
                return False
            kinds = len(np.unique(first))
            if kinds > 1:
                text = f"{kinds} different results of one dot product, at different positions"
                self.log.answer(question, text, (), "elements of D are computed in different ways")
                return False
        return self._check_placement() and self._check_sum()

    def _check_placement(self) -> bool:
        """Return whether row 1 of A and column 0 of B make element [1, 0]."""
        device, entry = self.device, self.device.instruction
        a, b = np.zeros((entry.m, entry.k), device.a.storage), np.zeros((entry.k, entry.n), device.b.storage)
        a[1, 0], b[0, 0] = Terms(device).product(0) or (0, 0)
        d = device.multiply(a, b, np.zeros((entry.m, entry.n), device.c.storage))
        found = np.argwhere(d).tolist()
        question = "elements of D"
        if found == [[1, 0]]:
            self.log.answer(question, "all computed in the same way, with equal bits in a second call")
            return True
        text = f"row 1 of A and column 0 of B make {', '.join(map(str, found)) or 'nothing'}"
        problem = "D is transposed" if found == [[0, 1]] else "elements of D are not where A and B put them"
        self.log.answer(question, text, (), problem)
        return False

    def _check_sum(self) -> bool:
        """Return whether D is A B + C at all: with c alone, one product, and both."""
        device = self.device
        terms = Terms(device)
        queried: dict[str, list[tuple[Leaf, int, int, int]]] = {
            "c": [(C, 1, 0, 0)],
            "a product": [(0, 1, 0, 0)],
            "both": [(0, 1, 0, 0), (C, 1, 0, 0)],
        }
        cases = [case for x in queried.values() if (case := terms.case(x)) is not None]
        results = device.query(cases)
        wanted = [exact(device.d, significand, 0) for significand in (1, 1, 2)]
        if results == wanted:
            return True
        evidence = tuple(observed_line(device, case, bits) for case, bits in zip(cases, results, strict=True))
        wrong = [name for name, bits, expected in zip(queried, results, wanted, strict=True) if bits != expected]
        problem = f"D is not A B + C: {', '.join(wrong)} of ones {'give' if len(wrong) > 1 else 'gives'} a wrong result"
        self.log.answer("terms of the sum", "not c and every product, once each", evidence, problem)
        return False

    def _find_structure(self) -> DotProduct | None:
        """Find the tree of sums, and the steps that produce it."""
        masks = Masks(self.device)
        try:
            tree = reveal(masks)
        except NoTreeError as error:
            self.log.answer("order of the sums", "no tree", (str(error),), "the sums do not form a tree")
            return None
        self.tree = brackets(tree)
        evidence = (
            f"2**{masks.small} with 2**{masks.large} and its negative: lost if it is added to one before they cancel",
        )
        found = structures_of(tree, _product(self.device.instruction, Structure("fma_chain", 1)))
        problem = "" if found else "no DotModel has this order of sums"
        self.log.answer("order of the sums", self.tree, evidence, problem)
        if not found:
            return None
        chosen = found[0]
        same = [x for x in found if x.arithmetic == chosen.arithmetic]
        self.log.structures = list({significant(x): x for x in reversed(same)}.values())[::-1]
        self.log.answer("steps", steps_text(chosen))
        for name in ("terms_per_step", "k_order", "c_joins", "partial_sums"):
            self.log.leave_open(name, values_of(same, chosen, name, self.device.terms))
        return _product(self.device.instruction, chosen)

    def _check_model(self, product: DotProduct) -> None:
        """Compare the model, and each undetermined value, with new inputs of every generator."""
        start = self.seed + _SEEDS_TO_FIT
        fresh = Observations(self.device, list(tiles_of(self.device, range(start, start + _SEEDS_TO_CHECK))))
        wrong: dict[str, int] = {}
        of_nan = 0
        for tile in fresh.tiles:
            predicted = tile.predicted(product)
            count = int(differing(predicted, tile.d, product.d).sum())
            of_nan += int((predicted != tile.d).sum()) - count
            self.checked += tile.d.size
            if count:
                wrong[tile.generator] = wrong.get(tile.generator, 0) + count
        question = "the model on adversarial inputs"
        text = f"{self.checked} dot products of {len({tile.generator for tile in fresh.tiles})} input generators"
        if wrong:
            most = sorted(wrong.items(), key=lambda x: -x[1])[:5]
            worst = ", ".join(f"{generator} {count}" for generator, count in most)
            problem = f"{sum(wrong.values())} of {text} differ: {worst}"
            self.log.answer(question, "it is wrong", (), problem)
            return
        if of_nan:
            self.note = f"NaN results have different bits than the model's, in {of_nan} of {self.checked} dot products"
        self.log.answer(question, f"{text}: 0 differ" + (", except for the bits of NaN" if of_nan else ""))
        fresh.tiles += self.log.seen.tiles
        for name, values in list(self.log.unobservable.items()):
            chosen = getattr(product.model, name)
            queried = _ends_of(values) if isinstance(values, range) else values
            same = [x for x in queried if x == chosen or not fresh.wrong(with_parameters(product, **{name: x}))]
            if len(same) < len(queried):
                self.log.leave_open(name, same)


def _ends_of(values: range) -> list[int]:
    """Return the ends of a range, limited to values that make a difference to an engine."""
    return sorted({max(values.start, -800), min(values.stop - 1, 64)} & set(values))


def _ordinary(device: DeviceUnderTest) -> list[Query]:
    """Return dot products in which every term counts and has distinct bits, close together and far apart."""
    terms = Terms(device)
    found = []
    for spread in (1, 2, 3):
        cases = [terms.case([(k, 3 if k % 2 else 1, -(spread * (k % 5)), k % 3 == 0)]) for k in range(device.terms)]
        products = {k: pair for case in cases if case is not None for k, pair in case.products.items()}
        found.append(Query(products, terms.addend(5, -3 - spread) or 0))
    return found


def _product(entry: Instruction, structure: Structure) -> DotProduct:
    """Apply a structure to an instruction's formats, with all other parameters at their defaults."""
    model = DotModel(arch="", families=(entry.family,), shapes=(entry.shape,), inputs=(entry.a,), accumulator=entry.d,
                     evidence=Evidence("probed", ""), **structure.fields())  # fmt: skip
    return DotProduct.of(model, entry)
