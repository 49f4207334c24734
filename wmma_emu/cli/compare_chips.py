# SPDX-License-Identifier: MIT
"""Differences between chips: instructions that only some support, arithmetic, and register layouts."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from wmma_emu.arithmetic import models_for
from wmma_emu.cli.names import grouped
from wmma_emu.cli.tables import Column, write_table
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError
from wmma_emu.gemm.comparison_text import summary
from wmma_emu.instructions import INSTRUCTIONS, OPERANDS, Arch, arch_of
from wmma_emu.layouts import layout_for

_ONLY = (Column("only on"), Column("family"), Column("A and B"), Column("instructions"))


class _Difference(NamedTuple):
    """Instructions of one family and format whose arithmetic differs, with the model of each chip."""

    family: str
    formats: str
    shapes: str
    models: tuple[str, ...]


def compare_chips(names: Sequence[str], output: str, terminal: Terminal) -> None:
    """Write the differences between chips as text, JSON or Markdown."""
    chips = list(dict.fromkeys(arch_of(x) for x in names))
    if len(names) < 2:
        raise UsageError(f"{names[0]} has nothing to be compared with; name another chip, or files: A.npy B.npy")
    if len(chips) < 2:
        both = f"{' and '.join(names)} are both {chips[0]} ({chips[0].generation})"
        raise UsageError(f"{both}: their matrix instructions are the same")
    only, differences, layouts = _only(chips), _differences(chips), _differing_layouts(chips)
    if output == "json":
        keys = ("family", "formats", "shapes")
        terminal.raw(json.dumps({
            "chips": [x.name for x in chips],
            "only": [dict(zip(("chips", "family", "formats", "instructions"), x, strict=True)) for x in only],
            "arithmetic": [{**dict(zip(keys, x[:3], strict=True)),
                            "models": dict(zip([y.name for y in chips], x.models, strict=True))} for x in differences],
            "layouts": layouts,
        }) + "\n")  # fmt: skip
        return
    columns = [Column("family"), Column("A and B"), Column("shapes", True), *(Column(x.name) for x in chips)]
    rows = [[x.family, x.formats, x.shapes, *x.models] for x in differences]
    tables: tuple[tuple[str, Sequence[Column], list[list[str]], str], ...] = (
        ("Instructions that only some of them support", _ONLY, [[*map(str, x)] for x in only],
         "All support the same instructions."),
        ("Instructions whose arithmetic differs", columns, rows, "All compute the same bits, instruction by "
            "instruction."),
    )  # fmt: skip
    terminal.line(Styled(" and ".join(f"{x} ({x.generation})" for x in chips), "title"))
    for title, heads, cells, none in tables:
        terminal.line()
        terminal.line(Styled(title if cells else none, "heading"))
        if cells and output == "markdown":
            terminal.line()
        if cells:
            write_table(heads, cells, output, terminal)
    terminal.line()
    terminal.text(f"Layouts that differ: {', '.join(layouts)}." if layouts else "The register layouts are the same.")
    terminal.text("wmma-emu compare A.npy B.npy --archs " + ",".join(x.name for x in chips) + " compares a product.")


def _only(chips: Sequence[Arch]) -> list[tuple[str, str, str, int]]:
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for entry in INSTRUCTIONS.values():
        having = [x.name for x in chips if x.name in entry.archs]
        if having and len(having) < len(chips):
            formats = counts.setdefault((" ".join(having), entry.family), {})
            name = entry.a if entry.a == entry.b else f"{entry.a} x {entry.b}"
            formats[name] = formats.get(name, 0) + 1
    return [(*key, _few(list(formats)), sum(formats.values())) for key, formats in counts.items()]


def _differences(chips: Sequence[Arch]) -> list[_Difference]:
    """Find the instructions of all chips whose models differ, grouped by family and format."""
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for group in grouped(x for x in INSTRUCTIONS.values() if all(y.name in x.archs for y in chips)):
        entry = group[0]
        models = [next(iter(models_for(entry, x.name)), None) for x in chips]
        if len({None if x is None else x.parameters for x in models}) > 1:
            texts = tuple("not modelled" if x is None else summary(x) for x in models)
            name = entry.a if entry.a == entry.b else f"{entry.a} x {entry.b}"
            shape = f"m{entry.m}nNk{entry.k}" if entry.is_warpgroup else entry.shape
            found.setdefault((entry.family, name, texts), []).append(shape)
    joined: dict[tuple[str, tuple[str, ...]], dict[str, dict[str, None]]] = {}
    for (family, name, texts), shapes in found.items():
        joined.setdefault((family, texts), {}).setdefault(name, {}).update(dict.fromkeys(shapes))
    return [
        _Difference(family, _few(list(names)), _few(list(dict.fromkeys(y for x in names.values() for y in x))), texts)
        for (family, texts), names in joined.items()
    ]


def _few(words: Sequence[str]) -> str:
    return " ".join(words[:5] if len(words) > 6 else words).replace(" x ", "x") + (
        f" and {len(words) - 5} more" if len(words) > 6 else ""
    )


def _differing_layouts(chips: Sequence[Arch]) -> list[str]:
    """List the families, shapes and formats whose register layout differs between the chips."""
    first, *others = chips
    found: dict[str, None] = {}
    for entry in INSTRUCTIONS.values():
        if entry.is_warpgroup or not all(x.name in entry.archs for x in chips):
            continue
        if any(layout_for(entry, x, first) != layout_for(entry, x, y) for x in OPERANDS for y in others):
            found.setdefault(f"{entry.family} {entry.shape} of {entry.a}")
    return list(found)
