# SPDX-License-Identifier: MIT
"""A comparison of chips as text: a table for the terminal, and the same table as Markdown."""

from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from wmma_emu.arithmetic import DotModel
from wmma_emu.display import in_columns
from wmma_emu.formats.distance import NOT_COMPARABLE
from wmma_emu.gemm.k_order import KOrder
from wmma_emu.instructions import lookup

if TYPE_CHECKING:
    from wmma_emu.gemm.comparison import Comparison

_SMALL = 8
"""The largest number of rows and columns of matrices that are shown element by element."""

_HEADS = ("chip", "instruction", "status", "model", "differ", "max ulps", "at", "reference", "here")


def text(comparison: "Comparison") -> str:
    """Lay out the comparison as a table, with small matrices element by element."""
    shape = comparison.shape
    lines = [heading(comparison), *in_columns([_HEADS, *(_row(comparison, arch) for arch in comparison.results)])]
    if order := order_of_k(comparison):
        lines.insert(1, order)
    if len(shape) == 2 and 0 < max(shape) <= _SMALL:
        lines += ["", *_elements(comparison)]
    return "\n".join(lines)


def markdown(comparison: "Comparison") -> str:
    """Lay out the table as Markdown, with the median and the mean of the distances."""
    heads = (*_HEADS[:6], "median", "mean", *_HEADS[6:])
    lines = [heads, ("---",) * len(heads)]
    for arch in comparison.results:
        row, found = _row(comparison, arch), comparison.statistics(arch)
        middle = ("", "") if found.median is None else (f"{found.median:g}", f"{found.mean:.4g}")
        lines.append((*row[:6], *middle, *row[6:]))
    table = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    notes = [heading(comparison), *filter(None, [order_of_k(comparison)])]
    return "\n".join(["  \n".join(notes), "", *table]) + "\n"


def heading(comparison: "Comparison") -> str:
    """Describe D, and name the chip with which the others are compared."""
    shape = comparison.shape
    count = prod(shape)
    sizes = " x ".join(map(str, shape))
    return f"D {sizes} ({comparison.format}), {count} element{'s' * (count != 1)}; reference: {comparison.reference}"


def order_of_k(comparison: "Comparison") -> str:
    """Describe the order of k by its non-default parameters; empty for a plain loop."""
    order = comparison.k_order
    if order is None or order == KOrder():
        return ""
    given = {x.name: getattr(order, x.name) for x in fields(order) if getattr(order, x.name) != x.default}
    return f"order of k: {', '.join(f'{name}={value!r}' for name, value in given.items())}"


def short_mnemonic(instruction: str) -> str:
    """Return the shortest name of an instruction that the lookup accepts."""
    return instruction if instruction == "fma.f32" else lookup(instruction).short_mnemonic


def summary(model: DotModel) -> str:
    """Describe a model in a few words; `DotModel.describe` gives the full description."""
    match model.arithmetic:
        case "integer":
            return "exact"
        case "popcount":
            return "bit count"
        case "fma_chain":
            return f"{model.chain_format} multiply-adds"
    software = f", as {model.operand_format}" if model.operand_format else ""
    lowering = "" if model.lowering == "native" else f" ({model.lowering})"
    rounded = f"{model.rounding} to {model.output_format}"
    name = f" ({model.name})" if model.name else ""
    return f"{model.terms_per_step} a step, {model.fraction_bits} bits, {rounded}{software}{lowering}{name}"


def _row(comparison: "Comparison", arch: str) -> tuple[str, ...]:
    model = comparison.models[arch]
    start = (arch, short_mnemonic(comparison.instructions[arch]), model.status, summary(model))
    if arch == comparison.reference:
        return (*start, "", "", "", "", "")
    if not comparison.differing[arch]:
        return (*start, "0", "0", "", "", "")
    [found] = comparison.worst(arch, 1)
    away = "NaN" if found.ulps == NOT_COMPARABLE else str(found.ulps)
    return (*start, str(comparison.differing[arch]), away, str(list(found.index)), *found.hex_bits())


def _elements(comparison: "Comparison") -> list[str]:
    """Show every element on every chip, with a star if the bits are not the reference's."""
    rows = [("element", *comparison.results)]
    for where in np.ndindex(comparison.shape):
        first = comparison.hex_bits(comparison.reference, where)
        values = [comparison.hex_bits(arch, where) for arch in comparison.results]
        rows.append((f"D{list(where)}", *(x + "*" * (x != first) for x in values)))
    return in_columns(rows)
