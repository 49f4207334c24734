# SPDX-License-Identifier: MIT
"""Measure which rules each input generator exposes: alter one rule of a model, count the outputs that change.

python -m tools.parameter_visibility [--write] [--processes 2]
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tools.altered_arithmetic import ALTERATIONS, Alteration, compute
from wmma_emu.arithmetic import DotProduct, dot_product_of
from wmma_emu.instructions import Instruction, lookup
from wmma_emu.testing import generators

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "input-generators.md"
BEGIN = "<!-- what input generators expose: written by tools/parameter_visibility.py -->"
END = "<!-- end of what input generators expose -->"
BEGIN_ROWS = "<!-- the input generators: written by tools/parameter_visibility.py -->"
END_ROWS = "<!-- end of the input generators -->"

SEEDS, OUTPUTS = 5, 2000
"""The number of seeds of a generator, and of outputs of each: 10,000 outputs in total."""


class Subject(NamedTuple):
    """A representative of the instructions that one model describes."""

    name: str
    mnemonic: str
    arch: str


SUBJECTS = (
    Subject("f16, f32", "m16n8k16.f32.f16.f16.f32", "sm_90"),
    Subject("f16, f16", "m16n8k16.f16.f16.f16.f16", "sm_90"),
    Subject("bf16", "m16n8k16.f32.bf16.bf16.f32", "sm_90"),
    Subject("tf32", "m16n8k8.f32.tf32.tf32.f32", "sm_90"),
    Subject("FP8 mma, f32", "m16n8k32.f32.e4m3.e5m2.f32", "sm_90"),
    Subject("FP8 mma, f16", "m16n8k32.f16.e4m3.e5m2.f16", "sm_90"),
    Subject("FP8 wgmma, f32", "wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90"),
    Subject("FP8 wgmma, f16", "wgmma.m64n8k32.f16.e5m2.e5m2", "sm_90"),
    Subject("f64", "m16n8k8.f64.f64.f64.f64", "sm_90"),
    Subject("m8n8k4, f32", "m8n8k4.f32.f16.f16.f32", "sm_90"),
    Subject("m8n8k4, f16", "m8n8k4.f16.f16.f16.f16", "sm_90"),
    Subject("bf16, sm_80", "m16n8k16.f32.bf16.bf16.f32", "sm_80"),
    Subject("FP8, f32, sm_89", "m16n8k32.f32.e5m2.e4m3.f32", "sm_89"),
    Subject("f16, f32, sm_70", "wmma.mma.row.col.m16n16k16.f32.f32", "sm_70"),
    Subject("f16, f16, sm_70", "wmma.mma.row.col.m16n16k16.f16.f16", "sm_70"),
)

_TO_F32 = ("f16, f32", "FP8 mma, f32", "FP8 wgmma, f32", "FP8, f32, sm_89", "f16, f32, sm_70")
_ALIGNED = tuple(x.name for x in SUBJECTS if x.name not in ("f64", "m8n8k4, f32", "m8n8k4, f16"))
_FLOORS = ("exponent floor - 1", "exponent floor + 1", "no exponent floor")
_TOO_FAR = "products of f16 and FP8 are between 2^-50 and 2^36, far from both ends of f32"

UNSEEN: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (_ALIGNED, ("k reversed in a step",), "a step adds exactly, so its order has no effect"),
    (_TO_F32, (*_FLOORS, "zero c aligns", "products overflow", "overflow to largest"), _TOO_FAR),
    (("m8n8k4, f32",), ("overflow to largest",), _TOO_FAR),
    (("FP8 mma, f16",), (*_FLOORS, "zero c aligns"),
     "the last bit of a product is 2^-32 or higher, and a datapath with F = 25 keeps all bits down to 2^-39, even with "
     "the zero that it starts from"),
    (("FP8 wgmma, f16",), ("exponent floor - 1", "no exponent floor"),
     "the floor truncates at 2^-32, the last bit of the smallest product: a lower floor truncates the same bits"),
    (("FP8 wgmma, f16",), ("rounded twice",), "with F = 13 the aligned sum has fewer bits than an f32"),
    (("FP8 mma, f32",), ("zero keeps its sign",),
     "steps start from +0, so their terms are never all -0, and no product rounds to zero in f32"),
    (("m8n8k4, f32", "m8n8k4, f16"), ("not fused",), "a product of two f16 numbers is exact in f32"),
)  # fmt: skip
"""The alterations that no input can expose: subjects, alterations, and the reason."""


def product_of(subject: Subject) -> tuple[Instruction, DotProduct]:
    """Return the instruction and the dot product of a subject."""
    instruction = lookup(subject.mnemonic, subject.arch)
    return instruction, dot_product_of(instruction, subject.arch)


def alterations_of(subject: Subject) -> tuple[Alteration, ...]:
    """Return the alterations that apply to a subject's model."""
    _, product = product_of(subject)
    return tuple(x for x in ALTERATIONS if x.applies(product))


def operands(instruction: Instruction, generator: str, seed: int, outputs: int) -> tuple[np.ndarray, ...]:
    """Draw pools with at least this many outputs: a (x, 1, m, k), b (y, k, n), c (y, m, n)."""
    pairs = -(-outputs // (instruction.m * instruction.n))
    y = max(1, int(pairs**0.5))
    a, b, c, _ = generators.draw(instruction, generator, seed, -(-pairs // y), y, y)
    return a[:, None], b, c


def changed(subject: Subject, generator: str, seeds: int = SEEDS, outputs: int = OUTPUTS) -> dict[str, int]:
    """Return, for each alteration, how many of 10,000 outputs change."""
    instruction, product = product_of(subject)
    counts: dict[str, int] = {x.name: 0 for x in alterations_of(subject)}
    for seed in range(seeds):
        pools = operands(instruction, generator, seed, outputs)
        right = compute(product, *pools).ravel()[:outputs]
        for alteration in alterations_of(subject):
            counts[alteration.name] += int((compute(product, *pools, alteration).ravel()[:outputs] != right).sum())
    return {name: -(-count * 10_000 // (seeds * outputs)) for name, count in counts.items()}


def measure(subject: Subject) -> dict[str, dict[str, int]]:
    """Return the counts of every input generator of a subject."""
    return {generator: changed(subject, generator) for generator in generators.generators_of(product_of(subject)[0])}


def unseen_reason(subject: Subject, alteration: Alteration) -> str:
    """Return why no input exposes an alteration of a subject; empty if an input can."""
    for subjects, names, reason in UNSEEN:
        if subject.name in subjects and alteration.name in names:
            return reason
    return ""


def table_of(subject: Subject, counts: dict[str, dict[str, int]]) -> list[str]:
    """Return Markdown: input generators by alterations, outputs of 10,000 that change."""
    names = [x.name for x in alterations_of(subject) if not unseen_reason(subject, x)]
    lines = ["| | " + " | ".join(names) + " |", "|---" + "|--:" * len(names) + "|"]
    for generator, row in counts.items():
        lines.append(f"| `{generator}` | " + " | ".join(str(row[name] or "") for name in names) + " |")
    return lines


def summary(counts: dict[str, dict[str, dict[str, int]]]) -> list[str]:
    """Return Markdown: the best input generator for each alteration, for the easiest and the hardest instruction."""
    lines = ["| alteration | easiest | hardest |", "|---|---|---|"]
    for alteration in ALTERATIONS:
        best = []
        for subject in SUBJECTS:
            if alteration in alterations_of(subject) and not unseen_reason(subject, alteration):
                found = counts[subject.name]
                generator = max(found, key=lambda name: found[name][alteration.name])
                best.append((found[generator][alteration.name], f"{subject.name}: `{generator}`"))
        if best:
            cells = (f"{text} {count}" for count, text in (max(best), min(best)))
            lines.append(f"| {alteration.name} | " + " | ".join(cells) + " |")
    return lines


def generators_text() -> str:
    """Return the table of input generators as Markdown."""
    lines = [BEGIN_ROWS, "", "| input generator | kind | inputs | exposes |", "|---|---|---|---|"]
    for entry in generators.GENERATORS.values():
        lines.append(f"| `{entry.name}` | {entry.kind} | {entry.description} | {entry.sees} |")
    return "\n".join([*lines, "", END_ROWS])


def with_section(page: str, begin: str, end: str, text: str) -> str:
    """Return the page with everything from one marker to another replaced."""
    return page[: page.index(begin)] + text + page[page.index(end) + len(end) :]


def page_text(counts: dict[str, dict[str, dict[str, int]]]) -> str:
    """Return everything between the markers of the page."""
    lines = [BEGIN, "", f"Outputs of 10,000 ({SEEDS} seeds) that change; an empty cell means none.", ""]
    lines += summary(counts)
    lines += ["", "Alterations that no input can expose:", ""]
    for subjects, names, reason in UNSEEN:
        who = "every aligned sum" if subjects == _ALIGNED else "; ".join(subjects)
        lines.append(f"- {', '.join(names)} ({who}): {reason}.")
    for subject in SUBJECTS:
        heading = f"{subject.name}: {product_of(subject)[0].mnemonic} on {subject.arch}"
        lines += ["", f"### {heading}", "", *table_of(subject, counts[subject.name])]
    return "\n".join([*lines, "", END])


def main(arguments: list[str]) -> int:
    """Measure everything; print it, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/explanation/input-generators.md")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    with ProcessPoolExecutor(options.processes) as pool:
        counts = dict(zip([x.name for x in SUBJECTS], pool.map(measure, SUBJECTS), strict=True))
    text = page_text(counts)
    if not options.write:
        print(text)
        return 0
    page = with_section(PAGE.read_text(encoding="utf-8"), BEGIN_ROWS, END_ROWS, generators_text())
    PAGE.write_text(with_section(page, BEGIN, END, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
