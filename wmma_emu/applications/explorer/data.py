# SPDX-License-Identifier: MIT
"""The data of the page: every instruction on every chip with its layouts, each distinct value stored once."""

from dataclasses import replace
from functools import cache
from typing import Any

from wmma_emu.applications.explorer.moves import move_plans_of, move_rows
from wmma_emu.applications.explorer.names import coded_names
from wmma_emu.applications.explorer.numbered import Numbered
from wmma_emu.applications.explorer.scales import coded_scales
from wmma_emu.applications.explorer.sparse import coded_metadata
from wmma_emu.applications.explorer.tensor import coded_loads, coded_paths, coded_tensor
from wmma_emu.applications.explorer.weights import coded_layout
from wmma_emu.errors import ArgumentValueError
from wmma_emu.formats import FORMATS
from wmma_emu.instructions import ARCHS, DEFAULT_ARCH, OPERANDS, Instruction
from wmma_emu.instructions.reference_pages import document_of
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.layouts.formulas import formulas_of
from wmma_emu.palette import INK, LANE_COLOURS
from wmma_emu.warp.matrix_rows import EVERY_LANE_NEEDS_AN_ADDRESS


@cache
def explorer_data(
    entries: tuple[Instruction, ...] | None = None, moves: bool = True, tensor_memory: bool = True
) -> dict[str, Any]:
    """Collect the page's data about some instructions, or all, as lists and numbers for JSON.

    Matrix moves, and how they load and store operands, can be omitted, and so can `tcgen05.mma`.

    ``chips``: name, generation and products of each. ``layouts``: `CodedLayout` of each distinct layout. ``cute``: for
    each layout, thread and value in CuTe's notation, and the lanes of the threads (both empty if it has none).
    ``plans``: for each layout, its `MovePlan` entries. ``formulas``: for each layout, its formulas. ``sources``: text
    and status. ``bindings``: for groups of chips (a bit for each), the numbers of the layouts of a, b, c, d (-1 for an
    operand that is not in registers) and of the source. ``instructions``: mnemonic, types, binding, metadata, scales,
    held. ``metadata``: `CodedMetadata` entries. ``scales``: `CodedScales` entries. ``held``: if values of A and of B
    are narrower than their containers, their bits and the lowest bit's position in the container, for A and for B.
    ``moves``: see `move_rows`. ``every_lane_needs_an_address``: chips on which every lane's address must be valid in
    `ldmatrix`.

    Examples
    --------
    >>> data = explorer_data()
    >>> len(data["instructions"]), len(data["layouts"]), data["layouts"][0][:4]
    (1572, 147, (8, 4, 4, 16))
    """
    layouts: Numbered[LaneMap] = Numbered()
    sources: Numbered[tuple[str, str]] = Numbered()
    bindings: Numbered[tuple[tuple[int, ...], ...]] = Numbered()
    types: Numbered[str] = Numbered()
    metadata: Numbered[Any] = Numbered()
    scales: Numbered[Any] = Numbered()
    held: Numbered[tuple[int, ...]] = Numbered()
    pages: Numbered[str] = Numbered()
    entries = tuple(INSTRUCTIONS.values()) if entries is None else entries
    page_of = [pages(document_of(entry)) for entry in entries]

    def binding_of(entry: Instruction) -> tuple[tuple[int, ...], ...]:
        chips: dict[tuple[int, ...], int] = {}
        for bit, arch in enumerate(ARCHS):
            if arch not in entry.archs:
                continue
            held = [None if entry.is_warpgroup and x == "b" else layout_for(entry, x, arch) for x in OPERANDS]
            source = next((x.source, x.status) for x in held if x is not None)
            key = (*(-1 if x is None else layouts(x) for x in held), sources(source))
            chips[key] = chips.get(key, 0) | 1 << bit
        return tuple((mask, *key) for key, mask in chips.items())

    tensor = coded_tensor(sources) if tensor_memory else []
    instructions = [
        [
            entry.mnemonic,
            types(".".join((entry.d, entry.a, entry.b, entry.c))),
            bindings(binding_of(entry)),
            metadata(coded_metadata(entry)) if entry.is_sparse else -1,
            scales(coded_scales(entry)) if entry.is_block_scaled else -1,
            held(_held(entry)) if any(entry.container(x).bits > entry.format(x).bits for x in ("a", "b")) else -1,
        ]
        for entry in entries
    ]
    return {
        "colours": LANE_COLOURS,
        "ink": INK,
        "default": {"chip": DEFAULT_ARCH, "instruction": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
        "chips": [[x.name, x.generation, x.products] for x in ARCHS.values()],
        "bits": {name: x.bits for name, x in FORMATS.items()},
        "layouts": layouts.rows(coded_layout),
        "plans": layouts.rows(move_plans_of) if moves else [],
        "formulas": layouts.rows(_formulas),
        "cute": layouts.rows(_cute),
        "sources": sources.rows(),
        "bindings": bindings.rows(),
        "types": types.rows(),
        "metadata": metadata.rows(),
        "scales": scales.rows(),
        "held": held.rows(),
        "instructions": instructions,
        "pages": {"names": pages.rows(), "of": page_of},
        "moves": move_rows() if moves else [],
        "names": coded_names(entries),
        "tensor": tensor,
        "paths": coded_paths(),
        "tensor_loads": coded_loads() if tensor_memory else [],
        "every_lane_needs_an_address": EVERY_LANE_NEEDS_AN_ADDRESS,
    }


def _held(entry: Instruction) -> tuple[int, ...]:
    return entry.format("a").bits, entry.container("a").shift, entry.format("b").bits, entry.container("b").shift


def _formulas(layout: LaneMap) -> list[Any]:
    """Return a layout's formulas with placeholders for the operand's name and the source, which differs by chip."""
    found = formulas_of(replace(layout, source="@", status="@said"))
    return [found.one_line(), found.c("OPERAND"), found.python("OPERAND")]


def _cute(layout: LaneMap) -> tuple[str, str]:
    """Return a layout in CuTe's notation, and the lanes of its threads."""
    try:
        found = layout.cute
    except ArgumentValueError:
        return "", ""
    return str(found), str(found.threads)
