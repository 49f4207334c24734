# SPDX-License-Identifier: MIT
"""One rounding step of an aligned sum: how many bits are kept, which way the others are cut, and where terms align."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.fitting import observed_line
from wmma_emu.applications.probing.report import Answer
from wmma_emu.applications.probing.terms import C, Leaf, Terms, exact
from wmma_emu.arithmetic import DotProduct
from wmma_emu.formats.reference import unpack

_REACH = 120
"""Large terms are no larger: every format of sums has their sums."""

_DEEP, _DEEPEST = 64, 260
"""How far below them small ones are looked for; and how far if all of those count."""


class RoundingStep(NamedTuple):
    """Where a rounding step takes its terms from: positions of its products; c, itself or through steps of c alone."""

    positions: tuple[int, ...]
    takes_c: bool

    @classmethod
    def first(cls, product: DotProduct) -> "RoundingStep":
        """The first step of a dot product."""
        return cls(product.steps[0], product.model.c_joins == "first_step")

    @classmethod
    def last(cls, product: DotProduct) -> "RoundingStep":
        """The last step of a dot product, whose result no other step touches."""
        chained = product.model.partial_sums == "chained" or len(product.steps) == 1
        return cls(product.steps[-1], product.model.c_joins == "first_step" and chained)

    def arrangements(self) -> list[tuple[Leaf, Leaf, Leaf]]:
        """Places of a large term, of its negative, and of a small one: three products; c in either role."""
        p = self.positions
        if len(p) < 2:
            return []
        found: list[tuple[Leaf, Leaf, Leaf]] = [(p[0], p[1], p[2])] if len(p) > 2 else []
        if self.takes_c:
            found += [(p[0], p[1], C), (C, p[0], p[1])]
        return found


def _large(device: DeviceUnderTest) -> int:
    return min(Terms(device).top, device.c.emax, device.d.emax, _REACH)


def _residues(
    device: DeviceUnderTest, where: tuple[Leaf, Leaf, Leaf], depths: Sequence[int]
) -> dict[int, tuple[Query, int]]:
    """What is left of a small term, so many bits below a large one that cancels, for each depth that formats have."""
    terms, top = Terms(device), _large(device)
    lowest = device.d.emin - device.d.fraction_bits
    cases = {}
    for depth in depths:
        case = terms.case([(where[0], 1, top, 0), (where[1], 1, top, 1), (where[2], 1, top - depth, 0)])
        if case is not None and top - depth >= lowest:
            cases[depth] = case
    return dict(zip(cases, zip(cases.values(), device.query(cases.values()), strict=True), strict=True))


def find_fraction_bits(device: DeviceUnderTest, step: RoundingStep) -> tuple[Answer, Sequence[int]]:
    """Find F: how far below a large term, which its negative takes away, a small one still counts.

    Comes with the values that F can have: one; or all from the deepest on that the formats reach.
    """
    found: dict[int, list[str]] = {}
    evidence: list[str] = []
    reached = 0
    for where in step.arrangements():
        residues = _residues(device, where, range(1, _DEEP))
        if all(unpack(bits, device.d).kind != "zero" for _, bits in residues.values()):
            residues |= _residues(device, where, range(_DEEP, _DEEPEST))
        kept = [depth for depth, (_, bits) in residues.items() if unpack(bits, device.d).kind != "zero"]
        limit = max(kept, default=0)
        if kept != [depth for depth in residues if depth <= limit]:
            text = "small terms count at some depths below a large one and not at others above those"
            return Answer("fraction bits", "no fixed number", tuple(evidence), text), [limit]
        evidence += [observed_line(device, *residues[depth]) for depth in (limit, limit + 1) if depth in residues]
        reached = max(reached, limit)
        if limit + 1 in residues:
            found.setdefault(limit, []).append(str(where[2]))
    if not found:
        text, problem = f"{reached} or more: the formats reach no deeper", ""
        if reached < _deepest(device, step):
            problem = f"nothing is lost down to {reached} bits below a large term, and what is below was not asked"
        return Answer("fraction bits", text, tuple(evidence), problem), range(reached, 1 << 10)
    values = sorted(found)
    if len(values) > 1 or reached > values[0]:
        text = ", ".join(f"{limit} with the small term at {' and '.join(names)}" for limit, names in found.items())
        return Answer("fraction bits", text, tuple(evidence), "terms are kept to different depths"), values[:1]
    text = f"F = {values[0]}, below the largest exponent of a step's terms"
    return Answer("fraction bits", text, tuple(evidence)), values


def _deepest(device: DeviceUnderTest, step: RoundingStep) -> int:
    """How far below the largest exponent of a term the last bit of another one can be."""
    terms = Terms(device)
    low = terms.bottom - device.a.fraction_bits - device.b.fraction_bits
    if not step.takes_c:
        return terms.top - low
    low_c = device.c.emin - device.c.fraction_bits
    return max(terms.top - low, terms.top - low_c, device.c.emax - low)


def find_truncation(device: DeviceUnderTest, step: RoundingStep, fraction_bits: int) -> Answer:
    """Find out where bits go that are not kept: a small term of both signs, one half and three of the last bit."""
    terms, top = Terms(device), _large(device)
    where = step.arrangements()[0]
    queried = {}
    for significand in (1, 3):
        for sign in (0, 1):
            small = (where[2], significand, top - fraction_bits - 1, sign)
            case = terms.case([(where[0], 1, top, 0), (where[1], 1, top, 1), small])
            if case is not None and top - fraction_bits >= device.d.emin - device.d.fraction_bits:
                queried[significand * (1 - 2 * sign)] = case
    results = dict(zip(queried, device.query(queried.values()), strict=True))
    evidence = tuple(observed_line(device, queried[halves], bits) for halves, bits in results.items())
    if not results:
        return Answer("bits that are not kept", "the formats reach no bit that is not kept")
    ways: dict[str, Callable[[int], int]] = {
        "cut toward zero": lambda halves: int(halves / 2),
        "cut downwards": lambda halves: halves // 2,
        "rounded up": lambda halves: -(-halves // 2),
        "rounded to nearest even": lambda halves: round(halves / 2),
        "rounded to nearest, away from zero": lambda halves: (1 if halves > 0 else -1) * ((abs(halves) + 1) // 2),
    }
    for way, kept in ways.items():
        if all(_is(device, bits, kept(halves), top - fraction_bits) for halves, bits in results.items()):
            problem = "" if way == "cut toward zero" else f"terms are {way}"
            return Answer("bits that are not kept", way, evidence, problem)
    return Answer("bits that are not kept", "no rule", evidence, "the bits below the last kept one follow no rule")


def _is(device: DeviceUnderTest, bits: int, count: int, exponent: int) -> bool:
    """Whether a result is so many times a power of two."""
    if not count:
        return unpack(bits, device.d).kind == "zero"
    return bits == exact(device.d, abs(count), exponent, int(count < 0))


def find_normalisation(device: DeviceUnderTest, step: RoundingStep, fraction_bits: int) -> Answer:
    """Find out whether a product of significands 2 or more aligns by the sum of exponents, or by its value's."""
    terms = Terms(device)
    top = _large(device) - 1
    where = step.arrangements()[0]
    if C in where[:2]:
        return Answer("normalisation", "a step with too few products to see")
    factors = [terms.product(top - 2, 3, 3, sign) for sign in (0, 1)]
    case = terms.case([(where[2], 1, top - fraction_bits, 0)])
    if None in factors or case is None or top - fraction_bits < device.d.emin - device.d.fraction_bits:
        return Answer("normalisation", "the formats reach no bit that would show it")
    products = {**case.products, int(where[0]): factors[0], int(where[1]): factors[1]}
    queried = Query(products, case.c)  # type: ignore[arg-type]
    [bits] = device.query([queried])
    evidence = (observed_line(device, queried, bits),)
    if unpack(bits, device.d).kind == "zero":
        return Answer("normalisation", "products are normalised before they are aligned", evidence,
                      "products are normalised before they are aligned")  # fmt: skip
    return Answer("normalisation", "none: a product aligns by the sum of its factors' exponents", evidence)


def find_zero_products(device: DeviceUnderTest, step: RoundingStep, fraction_bits: int) -> Answer:
    """Find out whether zero times a huge number takes part in the alignment."""
    terms = Terms(device)
    queried = []
    for huge, zero in (("a", device.b), ("b", device.a)):
        if huge == "b" and device.instruction.is_sparse:
            continue  # what is zero in A may be what the metadata leaves out
        fmt = device.a if huge == "a" else device.b
        largest = exact(fmt, 1, fmt.emax)
        case = terms.case([(step.positions[0], 1, zero.emin + fmt.emax - fraction_bits - 1, 0)])
        if case is None or largest is None or zero.emin + fmt.emax - fraction_bits - 1 < device.d.emin:
            continue
        pair = (largest, 0) if huge == "a" else (0, largest)
        queried.append(Query({**case.products, step.positions[1]: pair}, case.c))
    results = device.query(queried)
    evidence = tuple(observed_line(device, case, bits) for case, bits in zip(queried, results, strict=True))
    if not queried:
        return Answer("zero products", "no input shows whether they align")
    if any(unpack(bits, device.d).kind == "zero" for bits in results):
        return Answer(
            "zero products", "take part in the alignment", evidence, "zero products take part in the alignment"
        )
    return Answer("zero products", "take no part in the alignment", evidence)
