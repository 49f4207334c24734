# SPDX-License-Identifier: MIT
"""Models that differ from the emulator's in one parameter, and would explain the other side's bits."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from wmma_emu.applications.campaign.cases import Case
from wmma_emu.arithmetic import DotModel, DotProduct
from wmma_emu.arithmetic.reference import Datapath, dot, rounded_sum, special_result, step_terms
from wmma_emu.warp import BoundInstruction


class Alteration(NamedTuple):
    """A model that differs in one parameter, described by ``name``, and the datapath that executes its steps."""

    name: str
    product: DotProduct
    unit: Datapath


class ZerosTakePart(Datapath):
    """A datapath that also aligns to the exponents of zero products."""

    def fused_step(
        self, product: DotProduct, a: list[int], b: list[int], c: int,
        scale_a: Sequence[int] = (), scale_b: Sequence[int] = (),
    ) -> int:  # fmt: skip
        """Execute one rounding step in which zero terms have the exponents of their factors."""
        model = product.model
        terms = step_terms(product, a, b, c, scale_a, scale_b)
        if any(t.is_special for t in terms):
            return special_result(model, terms)
        *products, addend = terms
        floor = max(model.min_exponent, addend.exponent) if addend.kind == "finite" else model.min_exponent
        exponent = max([floor, *(t.exponent for t in products if t.kind in ("zero", "finite"))])
        return rounded_sum(model, terms, exponent)


def alterations_of(ins: BoundInstruction) -> Iterator[Alteration]:
    """Yield the models that differ from the instruction's in one parameter, likely ones first."""
    model, product = ins.model, ins.product
    if model.arithmetic == "integer":
        yield Alteration("wraps instead of clamping" if product.satfinite else "clamps instead of wrapping",
                         replace(product, satfinite=not product.satfinite), Datapath())  # fmt: skip
    if model.arithmetic == "popcount":
        other: Literal["and", "xor"] = "and" if product.bit_operation == "xor" else "xor"
        yield Alteration(
            f"{other} instead of {product.bit_operation}", replace(product, bit_operation=other), Datapath()
        )
    if model.arithmetic == "fma_chain":
        for rounding in ("RNE", "RZ", "RD", "RU"):
            if rounding != product.rounding:
                yield Alteration(f"rounding {rounding} instead of {product.rounding}",
                                 replace(product, rounding=rounding), Datapath())  # fmt: skip
    for changed in _changes(model, ins.instruction.terms):
        words = ", ".join(f"{name} {value} instead of {getattr(model, name)}" for name, value in changed.items())
        yield Alteration(words, replace(product, model=replace(model, **changed)), Datapath())
    if model.arithmetic == "aligned_sum" and not model.scaling:
        yield Alteration("products that are zero take part in the alignment", product, ZerosTakePart())


def _changes(model: DotModel, terms: int) -> Iterator[dict[str, Any]]:
    if model.arithmetic in ("integer", "popcount"):
        return
    yield from ({"c_joins": x} for x in ("first_step", "last_add") if x != model.c_joins)
    if model.arithmetic == "fma_chain":
        return
    for difference in (-1, 1, -2, 2):
        yield {"fraction_bits": model.fraction_bits + difference}
    for difference in (-1, 1, -2, 2, -1000):
        yield {"min_exponent": model.min_exponent + difference}
    yield {"rounding": "RNE" if model.rounding == "RZ" else "RZ"}
    for count in (4, 8, 16, 32):
        if count != model.terms_per_step and model.group_terms <= count <= terms:
            yield {"terms_per_step": count}
    if model.scaling == "groups":
        yield {"zero_groups": "aligned" if model.zero_groups == "left_out" else "left_out"}
        yield from ({"group_terms": x} for x in (16, 32) if x != model.group_terms)
        return
    yield {"k_order": "byte_pairs" if model.k_order == "ascending" else "ascending"}
    yield {"partial_sums": "added" if model.partial_sums == "chained" else "chained"}
    if model.accumulator == "f32":
        yield {"output": "e8m13" if model.output in ("", "f32") else "f32"}


def explaining(ins: BoundInstruction, cases: Sequence[Case]) -> list[str]:
    """Return the names of the alterations that give the other side's bits in every case."""
    return [x.name for x in alterations_of(ins) if all(_gives(ins, x, case) for case in cases)]


def _gives(ins: BoundInstruction, alteration: Alteration, case: Case) -> bool:
    a, b, c = case.dot_operands(ins)
    return dot(alteration.product, a, b, c, alteration.unit, **case.dot_scales(ins)) == case.theirs
