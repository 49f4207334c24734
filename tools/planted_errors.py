# SPDX-License-Identifier: MIT
"""Errors planted in a backend, to see that a campaign finds them: which ones, in which models, and how often they show.

python -m tools.planted_errors [--write] [--processes 2]
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tools.altered_arithmetic import ALTERATIONS
from tools.parameter_visibility import SUBJECTS, unseen_reason, with_section
from wmma_emu.applications.campaign.groups import bound_instructions
from wmma_emu.applications.campaign.pairs import emulate_pairs
from wmma_emu.applications.campaign.registers import apply_variant
from wmma_emu.applications.campaign.report_text import large
from wmma_emu.applications.campaign.tasks import plan_tasks
from wmma_emu.arithmetic import DotModel, DotProduct, dot_product_of
from wmma_emu.formats import Format, decode, round_pack, unpack
from wmma_emu.generators import Operands, draw
from wmma_emu.gpu.campaign import EmulatedBackend
from wmma_emu.instructions import lookup
from wmma_emu.scalar import convert
from wmma_emu.scalar.fused import add

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "crosscheck-with-a-gpu.md"
BEGIN = "<!-- planted errors: written by tools/planted_errors.py -->"
END = "<!-- end of planted errors -->"

DOT_PRODUCTS = 3 * 10**6
"""The least number of dot products, over all input generators of a model, for the shares in the table."""

Bits = np.ndarray[Any, Any]


class Model(NamedTuple):
    """A representative of the instructions of one model; ``subject`` is what `parameter_visibility` calls it."""

    name: str
    mnemonic: str
    arch: str
    subject: str


class Error(NamedTuple):
    """The altered part: fields of the model, or the rule that zeros have no exponent.

    ``alteration`` is what `altered_arithmetic` calls it.
    """

    name: str
    alteration: str
    alter: Callable[[DotModel], dict[str, Any]]
    zeros_align: bool = False


MODELS = (
    Model("`f32.f16`", "m16n8k16.f32.f16.f16.f32", "sm_90", "f16, f32"),
    Model("`f32.f16`, Ampere", "m16n8k16.f32.f16.f16.f32", "sm_80", "f16, f32"),
    Model("`f16.f16`", "m16n8k16.f16.f16.f16.f16", "sm_90", "f16, f16"),
    Model("`f32.bf16`", "m16n8k16.f32.bf16.bf16.f32", "sm_90", "bf16"),
    Model("`f32.tf32`", "m16n8k8.f32.tf32.tf32.f32", "sm_90", "tf32"),
    Model("FP8 `mma`, f32", "m16n8k32.f32.e4m3.e5m2.f32", "sm_90", "FP8 mma, f32"),
    Model("FP8 `mma`, f16", "m16n8k32.f16.e4m3.e5m2.f16", "sm_90", "FP8 mma, f16"),
    Model("FP8 `wgmma`, f32", "wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90", "FP8 wgmma, f32"),
    Model("FP8 `wgmma`, f16", "wgmma.m64n8k32.f16.e5m2.e5m2", "sm_90", "FP8 wgmma, f16"),
    Model("Ada's FP8", "m16n8k32.f32.e5m2.e4m3.f32", "sm_89", "FP8, f32, sm_89"),
    Model("sparse f16", "mma.sp.m16n8k32.f32.f16.f16.f32", "sm_90", "f16, f32"),
)
"""The columns."""

ERRORS = (
    Error("F one less", "F - 1", lambda m: {"fraction_bits": m.fraction_bits - 1}),
    Error("F one more", "F + 1", lambda m: {"fraction_bits": m.fraction_bits + 1}),
    Error("floor one lower", "exponent floor - 1", lambda m: {"min_exponent": m.min_exponent - 1}),
    Error("floor one higher", "exponent floor + 1", lambda m: {"min_exponent": m.min_exponent + 1}),
    Error("the other rounding", "rounding RZ, RNE", lambda m: {"rounding": "RNE" if m.rounding == "RZ" else "RZ"}),
    Error("steps half as long", "steps halved", lambda m: {"terms_per_step": m.terms_per_step // 2}),
    Error("another order of k", "k reversed in a step",
          lambda m: {"k_order": "byte_pairs" if m.k_order == "ascending" else "ascending"}),
    Error("zeros take part", "zero products align", lambda m: {}, zeros_align=True),
)  # fmt: skip
"""The rows."""


@dataclass(frozen=True)
class AnyModel(EmulatedBackend):
    """Aligned sums of any model: any rounding; and, if wanted, with zero products that take part in the alignment.

    Product by product in float64, which holds the terms exactly; one step after another.
    """

    zeros_align: bool = False

    def product(self, ins: Any) -> DotProduct:
        return replace(ins.product, model=replace(ins.model, **self.alter))

    def pairs(self, row: Any, product: DotProduct, operands: Operands) -> Bits:
        a, b, c, indices = operands
        return self.tiles(product, Operands(a[:, None], b, c, None if indices is None else indices[:, None]))

    def tiles(self, product: DotProduct, operands: Operands) -> Bits:
        model, (fa, fb) = product.model, product.operand_formats
        accumulator, indices = model.accumulator_format, operands.indices
        a, b = convert(operands.a, product.a, fa), convert(operands.b, product.b, fb)
        c = convert(operands.c, product.c, accumulator)
        first = model.c_joins == "first_step"
        running, sums = (c if first else np.zeros_like(c)), []
        for step in product.steps:
            pairs = [(a[..., :, k, None], _row_of_b(b, k, indices)) for k in step]
            running = self._step(model, pairs, (fa, fb), running)
            if model.partial_sums == "added":
                sums.append(running)
                running = np.zeros_like(c)
        if sums:
            running = reduce(lambda x, y: add(x, y, accumulator), sums)
        if not first:
            running = add(*np.broadcast_arrays(c, running), accumulator)
        return convert(running, accumulator, product.d)

    def _step(self, model: DotModel, pairs: list[tuple[Bits, Bits]], formats: tuple[Format, Format], c: Bits) -> Bits:
        (fa, fb), out, accumulator = formats, model.output_format, model.accumulator_format
        with np.errstate(all="ignore"):
            exponent = np.maximum(_exponents(c, accumulator, False), model.min_exponent)
            for x, y in pairs:
                e = _exponents(x, fa, self.zeros_align) + _exponents(y, fb, self.zeros_align)
                exponent = np.maximum(exponent, e)
            scale = model.fraction_bits - exponent
            total = np.trunc(np.ldexp(decode(c, accumulator), scale))
            for x, y in pairs:
                total = total + np.trunc(np.ldexp(decode(x, fa) * decode(y, fb), scale))
            finite = np.isfinite(total)
            whole = np.where(finite, total, 0).astype(np.int64)
        bits = round_pack(whole < 0, np.abs(whole), -scale, out, model.rounding, "infinity")
        bits = np.where(bits == out.sign_mask, 0, bits)
        infinity = np.where(total < 0, out.infinity | out.sign_mask, out.infinity)
        special = np.where(np.isnan(total), out.canonical_nan, infinity)
        return np.where(finite, bits, special).astype(out.storage)


class ReversedK(EmulatedBackend):
    """Takes k from its other end: another order in a step."""

    def pairs(self, row: Any, product: DotProduct, operands: Operands) -> Bits:
        return super().pairs(row, product, _reversed(operands))

    def tiles(self, product: DotProduct, operands: Operands) -> Bits:
        return super().tiles(product, _reversed(operands))


def _reversed(operands: Operands) -> Operands:
    a, b, c, indices = operands
    if indices is None:
        return Operands(a[..., ::-1], b[..., ::-1, :], c, None)
    return Operands(a[..., ::-1], b, c, indices[..., ::-1])


def _row_of_b(b: Bits, k: int, indices: Any) -> Bits:
    """Return the factors of the k-th element of each row of A: (..., 1, n), or (..., m, n) where A is sparse."""
    if indices is None:
        return b[..., k, None, :]
    at = np.broadcast_to(indices[..., k, None], (*np.broadcast_shapes(indices.shape[:-2], b.shape[:-2]),
                                                 indices.shape[-2], b.shape[-1]))  # fmt: skip
    return np.take_along_axis(np.broadcast_to(b, (*at.shape[:-2], *b.shape[-2:])), at, axis=-2)


def _exponents(bits: Bits, fmt: Format, of_zeros: bool) -> Bits:
    """Return exponents; zeros have one far below all others, or optionally the format's smallest."""
    u = unpack(bits, fmt)
    exponent = np.where(u.significand != 0, u.exponent, fmt.emin if of_zeros else -(1 << 12))
    return exponent.astype(np.int64)


def product_of(model: Model) -> DotProduct:
    """Return the dot product that a model stands for."""
    return dot_product_of(lookup(model.mnemonic, model.arch), model.arch)


def backend(model: Model, error: Error) -> EmulatedBackend:
    """Return the other side of a campaign, with the error in it."""
    alter = error.alter(product_of(model).model)
    if "k_order" in alter and len(product_of(model).steps) == 1:
        return ReversedK(model.arch)
    if error.zeros_align or "rounding" in alter:
        return AnyModel(model.arch, alter, error.zeros_align)
    return EmulatedBackend(model.arch, alter)


def unseen(model: Model, error: Error) -> tuple[str, str]:
    """Return the word in the table and the reason if no input can expose an error, otherwise two empty strings."""
    product = product_of(model)
    is_order = "k_order" in error.alter(product.model)
    if is_order and len(product.steps) > 1:
        return "", ""
    [alteration] = [x for x in ALTERATIONS if x.name == error.alteration]
    [subject] = [x for x in SUBJECTS if x.name == model.subject]
    reason = unseen_reason(subject, alteration)
    return ("one step" if is_order else "never", reason) if reason else ("", "")


PLANTED = tuple((model, error) for error in ERRORS for model in MODELS if not unseen(model, error)[0])
"""The errors that inputs can expose."""

UNSEEN = tuple((model, error) for error in ERRORS for model in MODELS if unseen(model, error)[0])
"""The errors that no input can expose."""


def name_of(planted: tuple[Model, Error]) -> str:
    """Name a planted error."""
    model, error = planted
    return f"{model.name}: {error.name}".replace("`", "")


def share(number: int) -> float:
    """Return the share of the dot products of a campaign that expose one of the planted errors."""
    warnings.simplefilter("ignore")
    model, error = PLANTED[number]
    [ins] = bound_instructions(model.mnemonic, model.arch)
    row, other = ins.instruction, backend(model, error)
    different = total = 0
    for task in plan_tasks([ins], [DOT_PRODUCTS], None, 0):
        operands = draw(row, task.generator, task.seed, task.p, task.q, task.q)
        operands = apply_variant(row, operands, task.variant)
        ours = emulate_pairs(row, ins.product, operands)
        different += int((other.pairs(row, other.product(ins), operands) != ours).sum())
        total += ours.size
    return different / total


def table(shares: dict[tuple[str, str], float]) -> str:
    """Return everything between the markers of the page."""
    lines = [
        BEGIN,
        "",
        f"Each number is the share of dot products that differ, of {large(DOT_PRODUCTS)} over all input generators.",
        "",
    ]
    lines += ["| planted error | " + " | ".join(x.name for x in MODELS) + " |", "|---" * (len(MODELS) + 1) + "|"]
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for error in ERRORS:
        cells = []
        for model in MODELS:
            word, reason = unseen(model, error)
            cells.append(word or f"{shares[model.name, error.name]:.1e}".replace("e-0", "e-"))
            if word:
                reasons.setdefault((word, reason), {}).setdefault(error.name, []).append(model.name)
        lines.append(f"| {error.name} | " + " | ".join(cells) + " |")
    lines += ["", "Errors that no input can expose:", ""]
    for (word, reason), where in reasons.items():
        lines.append(f"- **{word}**: {reason}.")
        lines += [f"  - {error}: {'; '.join(models)}" for error, models in where.items()]
    return "\n".join([*lines, "", END])


def main(arguments: list[str]) -> int:
    """Measure everything; print it, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/how-to/crosscheck-with-a-gpu.md")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    with ProcessPoolExecutor(options.processes) as pool:
        measured = list(pool.map(share, range(len(PLANTED))))
    text = table({(model.name, error.name): x for (model, error), x in zip(PLANTED, measured, strict=True)})
    if options.write:
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), BEGIN, END, text), encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
