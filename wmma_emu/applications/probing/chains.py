# SPDX-License-Identifier: MIT
"""Chains of multiply-adds: their format, their rounding, and whether they are fused."""

from itertools import combinations, product
from typing import NamedTuple

from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.fitting import observed_line, with_parameters
from wmma_emu.applications.probing.probe_log import ProbeLog
from wmma_emu.applications.probing.report import Answer
from wmma_emu.applications.probing.structure import Structure, values_of
from wmma_emu.applications.probing.terms import C, Leaf, Terms
from wmma_emu.arithmetic import DotProduct
from wmma_emu.formats import FORMATS
from wmma_emu.formats.reference import unpack

_PRECISIONS = (10, 23, 52)
"""Fraction bits of the formats in which chains may run."""

_ROUNDINGS = ("RNE", "RZ", "RD", "RU")


class _Chain(NamedTuple):
    """A candidate for a chain's structure, format and rounding."""

    structure: Structure
    inside: str
    rounding: str

    def __str__(self) -> str:
        return f"{self.rounding} to {self.inside}"


def find_chain(log: ProbeLog, product: DotProduct) -> DotProduct:
    """Find the format of multiply-adds, their rounding, and whether products are rounded first."""
    d = log.device.d.name
    cases = _cases(log.device)
    candidates = {}
    for structure in log.structures:
        for inside in _chain_formats(log.device):
            for rounding in _ROUNDINGS:
                changes = {"accumulator": d, "operand_format": "" if inside == d else inside, **structure.fields()}
                candidates[_Chain(structure, inside, rounding)] = with_parameters(
                    product, chain_rounding=rounding, **changes
                )
    survivors = log.seen.survivors(cases, candidates)
    chosen = min(survivors.values, key=lambda value: log.seen.wrong(candidates[value]))
    structure, inside, rounding = chosen
    problem = survivors.problem
    if rounding != product.rounding:
        problem = f"chains round {rounding}, and {log.device.instruction.mnemonic} rounds {product.rounding}"
    text = f"{chosen} after every product"
    log.eliminated("rounding of sums", text, survivors, cases, candidates, problem, chosen)
    log.answers.append(_find_fused(log.device))
    formats = [value[1] for value in survivors.values if (value[0], value[2]) == (structure, rounding)]
    log.leave_open("operand_format", [*formats, *([""] if d in formats else [])])
    log.leave_open("terms_per_step", values_of(log.structures, structure, "terms_per_step", log.device.terms))
    log.leave_open("c_joins", [structure.c_joins])
    return candidates[chosen]


def _chain_formats(device: DeviceUnderTest) -> list[str]:
    formats = ["f16", "f32", "f64"]
    narrow = max(device.c.fraction_bits, device.a.fraction_bits)
    return [name for name in formats if FORMATS[name].fraction_bits >= narrow]


def _cases(device: DeviceUnderTest) -> list[Query]:
    """Return cases of a number and last bits, halves and quarters of it.

    They cover each format, with one product after another, or c.
    """
    terms = Terms(device)
    places: list[list[Leaf]] = [[*range(min(device.terms, 4))], [C, *range(min(device.terms, 3))],
                                [*range(min(device.terms, 3)), C]]  # fmt: skip
    cases = []
    for leaves, bits, sign, small_sign in product(places, _PRECISIONS, (0, 1), (0, 1)):
        for chosen in combinations(range(3), 2):
            exponents = [2, *(2 - bits - x for x in chosen)]
            signs = [sign, small_sign, sign ^ small_sign]
            case = terms.case([(leaf, 1, x, s) for leaf, x, s in zip(leaves, exponents, signs, strict=False)])
            opposite = terms.case([(leaf, 1, x, s) for leaf, x, s in zip(
                leaves, [2, 2 - bits - chosen[0], 2], [sign, small_sign, 1 - sign], strict=False)])  # fmt: skip
            cases += [x for x in (case, opposite) if x is not None]
    return cases


def _find_fused(device: DeviceUnderTest) -> Answer:
    """Find whether a product is rounded before the addition.

    The case is a product that no format of sums represents, minus its rounding.
    """
    width = device.a.fraction_bits
    exact_products = device.a.fraction_bits + device.b.fraction_bits < device.d.fraction_bits
    terms = Terms(device)
    if exact_products or device.terms < 2:
        return Answer("fused", "products are exact in the format of the sums: no input shows whether they are rounded")
    factors = terms.product(-2 * width, (1 << width) + 1, (1 << width) - 1)
    one = terms.product(0, 1, 1, 1)
    if factors is None or one is None:
        return Answer("fused", "the formats have no product that would show it")
    case = Query({0: one, 1: factors})
    [bits] = device.query([case])
    evidence = (observed_line(device, case, bits),)
    if unpack(bits, device.d).kind == "zero":
        return Answer(
            "fused", "no: the product is rounded, then added", evidence, "products are rounded before they are added"
        )
    return Answer("fused", "yes: the product is added exactly, and rounded once", evidence)
