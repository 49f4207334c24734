# SPDX-License-Identifier: MIT
"""The reference of chips, formats and models of arithmetic: their tables, with sources."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import escape

from docs._ext.instruction_groups import SCOPE, family_document, groups, known_families
from docs._ext.markup import code, link, table
from tools.support_matrix import matrix
from wmma_emu.arithmetic import E8M13, MODELS, DotModel, alternatives_for, models_for
from wmma_emu.formats import FORMATS, Format
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, Arch
from wmma_emu.instructions.launches import LAUNCH_LIMITS
from wmma_emu.instructions.spec import TENSOR_FAMILIES

__all__ = ["FOLDER", "as_known", "table_pages"]

FOLDER = "reference/tables"
"""The folder of the generated pages within the site. Nothing in it is written by hand."""

_STATUS = """
| status | what it means |
|---|---|
| `measured` | raw registers compared on our own GPU |
| `recorded` | recordings published by others |
| `documented` | NVIDIA's manual defines it |
| `literature` | a published model, unchecked |
| `inferred` | read off machine code, or carried over from a similar instruction |
""".strip()


def table_pages() -> dict[str, str]:
    """Return every page as Markdown, by its name within the site."""
    return {f"{FOLDER}/chips": _chips(), f"{FOLDER}/formats": _formats(), f"{FOLDER}/models": _models()}


def _chips() -> str:
    parts = [
        "(table-of-chips)=\n# Chips",
        "`arch=` and `--arch` name an entry of this table: by the PTX target, the generation or a product, in any "
        "case, with or without a manufacturer's name.",
        table(("chip", "generation", "products", "other names"), [_chip(x) for x in ARCHS.values()]),
        f"Known from: {_once(x.source for x in ARCHS.values())}.",
        "## How well the arithmetic of each is known",
        matrix(),
        _STATUS,
        "Models that are only `literature` or `inferred` warn when they are used. Each model with its source: "
        "[models of arithmetic](models.md).",
        "## Instructions of each",
        SCOPE,
        _counts(),
        "## The largest launch",
        table(
            ("chip", "grid", "block", "threads a block", "shared memory a block", "known from"),
            [
                [
                    code(name), " × ".join(f"{x:,}" for x in limits.grid), " × ".join(str(x) for x in limits.block),
                    f"{limits.threads:,}", f"{limits.shared_bytes // 1024} KiB",
                    f"{escape(limits.source)} ({limits.status})",
                ]
                for name, limits in LAUNCH_LIMITS.items()
            ],
        ),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _once(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


def _chip(row: Arch) -> list[str]:
    return [code(row.name), escape(row.generation), escape(", ".join(row.products)), escape(", ".join(row.aliases))]


def _counts() -> str:
    rows = []
    for chip in ARCHS:
        numbers = [
            sum(chip in entry.archs for group in groups() if group.family == family for entry in group.entries)
            for family in known_families()
        ]
        rows.append([code(chip), *(str(x) if x else "–" for x in numbers), str(sum(numbers))])
    names = [link(code(x), f"../../{family_document(x)}.html") for x in known_families()]
    return table(("chip", *names, "all"), rows)


def _formats() -> str:
    floats = [x for x in (*FORMATS.values(), E8M13) if x.is_float]
    others = [x for x in FORMATS.values() if not x.is_float]
    headings = (
        "format",
        "bits",
        "sign, exponent, fraction",
        "bias",
        "normal from, largest",
        "infinity",
        "NaN",
        "known from",
    )
    parts = [
        "(table-of-formats)=\n# Formats",
        "The meaning of bit patterns. `wmma_emu.format_of` returns an entry of this table. Patterns are hexadecimal.",
        "## Floating point",
        table(headings, [_float(x) for x in floats]),
        "`e8m13` is not a PTX format: the FP8 units of Ada, and of `wgmma` on Hopper, keep these bits of a float32.",
        "## Integers and bits",
        table(
            ("format", "bits", "smallest", "largest", "known from"),
            [
                [code(x.name), str(x.bits), str(x.min_integer), str(x.max_integer), f"{escape(x.source)} ({x.status})"]
                for x in others
            ],
        ),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _float(entry: Format) -> list[str]:
    fields = f"{int(entry.signed)}, {entry.exponent_bits}, {entry.fraction_bits}"
    if entry.ignored_low_bits:
        fields += f", then {entry.ignored_low_bits} that are not read"
    nan = {"ieee": "as IEEE 754", "all_ones": "all ones", "none": "–"}[entry.nan]
    if entry.canonical_nan >= 0:
        nan += f", {code(f'{entry.canonical_nan:#x}')} as a result"
    infinity = code(f"{entry.infinity:#x}") if entry.has_infinity else "–"
    span = f"2<sup>{entry.emin}</sup>, {code(f'{entry.max_finite:#x}')}"
    source = f"{escape(entry.source)} ({entry.status})"
    return [code(entry.name), str(entry.bits), fields, str(entry.bias), span, infinity, nan, source]


def _models() -> str:
    parts = [
        "(table-of-models)=\n# Models of arithmetic",
        f"The arithmetic of each chip: {len(MODELS)} entries. An instruction uses the entry of its chip, family, "
        f"shape, "
        "format of A (and of B, if the entry names any) and accumulator; its section of the "
        "[reference](../instructions/index.md) names it. Entries with a name are alternatives, which `model=` selects. "
        "An entry whose instructions have different statuses or sources is listed once for each.",
        _STATUS,
    ]
    for chip in ARCHS:
        rows = [_model(x) for x in as_known(chip)]
        headings = ("instructions", "accumulator", "computes", "status, known from")
        parts += [f"## {chip} ({ARCHS[chip].generation})", table(headings, rows, "models")]
    return "\n\n".join(parts) + "\n"


def as_known(chip: str) -> Iterator[DotModel]:
    """Return the entries of a chip, once for each status and source of their instructions."""
    pairs = (x for x in INSTRUCTIONS.values() if chip in x.archs)
    found = dict.fromkeys(model for x in pairs for model in models_for(x, chip) + alternatives_for(x, chip))
    for entry in MODELS:
        if entry.arch == chip and entry.families[0] in TENSOR_FAMILIES:
            yield entry
        elif entry.arch == chip:
            yield from (x for x in found if replace(x, evidence=entry.evidence, note=entry.note) == entry)


def _model(entry: DotModel) -> list[str]:
    what = "<br>".join(
        f"{escape(', '.join(families))}: {', '.join(inputs)}<br><small>{escape(_shapes(shapes))}</small>"
        for families, inputs, shapes in _served(entry)
    )
    what += f"<br>B: {', '.join(entry.b_inputs)}" if entry.b_inputs else ""
    lowering = "" if entry.lowering == "native" else f"<br>lowering {code(entry.lowering)}"
    lowering += f"<br>model={code(repr(entry.name))}" if entry.name else ""
    note = f"<br><small>{escape(entry.note)}</small>" if entry.note else ""
    known = f"{code(entry.status)}<br><small>{escape(entry.source)}</small>"
    return [what + lowering, code(entry.accumulator), escape(entry.describe()) + note, known]


def _served(entry: DotModel) -> list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    """Return the families, formats of A and shapes of a model's instructions on its chip, which may be fewer than it
    names.

    Examples
    --------
    >>> _served(next(x for x in MODELS if x.arch == "sm_72" and "s8" in x.inputs))
    [(('wmma.mma',), ('s8', 'u8'), ('m16n16k16', 'm32n8k16', 'm8n32k16'))]
    """
    if entry.families[0] in TENSOR_FAMILIES:  # whose instructions are made on demand
        return [(entry.families, entry.inputs, entry.shapes)]
    shapes: dict[tuple[str, str], dict[str, None]] = {}
    for x in INSTRUCTIONS.values():
        if entry.arch in x.archs and entry in models_for(x, entry.arch) + alternatives_for(x, entry.arch):
            shapes.setdefault((x.family, x.a), {})[x.shape] = None
    inputs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (family, fmt), found in shapes.items():
        inputs.setdefault((family, tuple(found)), []).append(fmt)
    families: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (family, some), formats in inputs.items():
        families.setdefault((tuple(formats), some), []).append(family)
    return [(tuple(x), formats, some) for (formats, some), x in families.items()]


def _shapes(shapes: tuple[str, ...]) -> str:
    """Name shapes; shapes of `wgmma` that differ only in n are one.

    Examples
    --------
    >>> _shapes(("m16n8k8", "m64n8k16", "m64n16k16", "m64n8k32"))
    'm16n8k8, m64nNk16 (n = 8 to 16), m64nNk32 (n = 8)'
    """
    found: dict[str, list[int]] = {}
    for shape in shapes:
        n = re.search(r"n(\d+)", shape)  # shapes of tcgen05.mma have any m and n
        name = re.sub(r"n\d+", "nNN", shape) if shape.startswith("m64") else shape
        found.setdefault(name, []).append(int(n[1]) if n else 0)
    return ", ".join(
        f"{shape.replace('nNN', 'nN')} (n = {' to '.join(str(x) for x in sorted({min(every), max(every)}))})"
        if "nNN" in shape
        else shape
        for shape, every in found.items()
    )
