# SPDX-License-Identifier: MIT
"""What the page knows: every instruction on every chip with its layouts, each distinct thing written once."""

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
    rows: tuple[Instruction, ...] | None = None, moves: bool = True, tensor_memory: bool = True
) -> dict[str, Any]:
    """Collect what the page shows of some instructions, or of all, as lists and numbers that JSON holds.

    Matrix moves, and how they load and store operands, may be left out, and so may `tcgen05.mma`.

    ``chips``: name, generation and products of each. ``layouts``: `CodedLayout` of each distinct layout. ``cute``: of
    each layout, thread and value in CuTe's notation, and the lanes of the threads (both empty where it has none).
    ``plans``: of each layout, its `Plan` rows. ``formulas``: of each layout, its formulas. ``sources``: text and
    status. ``bindings``: for groups of chips (a bit for each), the numbers of the layouts of a, b, c, d (-1 where an
    operand is not in registers) and of the source. ``instructions``: mnemonic, types, binding, metadata, scales, held.
    ``metadata``: `CodedMetadata` rows. ``scales``: `CodedScales` rows. ``held``: where values of A and of B are
    narrower than what holds them, their bits and the lowest one's place in it, of A and of B. ``moves``: see
    `move_rows`. ``every_lane_needs_an_address``: chips on which no lane's address may be invalid in `ldmatrix`.

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
    rows = tuple(INSTRUCTIONS.values()) if rows is None else rows
    page_of = [pages(document_of(row)) for row in rows]

    def binding_of(row: Instruction) -> tuple[tuple[int, ...], ...]:
        chips: dict[tuple[int, ...], int] = {}
        for bit, arch in enumerate(ARCHS):
            if arch not in row.archs:
                continue
            held = [None if row.is_warpgroup and x == "b" else layout_for(row, x, arch) for x in OPERANDS]
            source = next((x.source, x.status) for x in held if x is not None)
            key = (*(-1 if x is None else layouts(x) for x in held), sources(source))
            chips[key] = chips.get(key, 0) | 1 << bit
        return tuple((mask, *key) for key, mask in chips.items())

    tensor = coded_tensor(sources) if tensor_memory else []
    instructions = [
        [
            row.mnemonic,
            types(".".join((row.d, row.a, row.b, row.c))),
            bindings(binding_of(row)),
            metadata(coded_metadata(row)) if row.is_sparse else -1,
            scales(coded_scales(row)) if row.is_block_scaled else -1,
            held(_held(row)) if any(row.container(x).bits > row.format(x).bits for x in ("a", "b")) else -1,
        ]
        for row in rows
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
        "names": coded_names(rows),
        "tensor": tensor,
        "paths": coded_paths(),
        "tensor_loads": coded_loads() if tensor_memory else [],
        "every_lane_needs_an_address": EVERY_LANE_NEEDS_AN_ADDRESS,
    }


def _held(row: Instruction) -> tuple[int, ...]:
    return row.format("a").bits, row.container("a").shift, row.format("b").bits, row.container("b").shift


def _formulas(layout: LaneMap) -> list[Any]:
    """Write the formulas of a layout with the operand's name and the source left open: sources differ by chip."""
    found = formulas_of(replace(layout, source="@", status="@said"))
    return [found.one_line(), found.c("OPERAND"), found.python("OPERAND")]


def _cute(layout: LaneMap) -> tuple[str, str]:
    """Write a layout as CuTe does, and which lanes its threads are."""
    try:
        found = layout.cute
    except ArgumentValueError:
        return "", ""
    return str(found), str(found.threads)
