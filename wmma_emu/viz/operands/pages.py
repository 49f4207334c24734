# SPDX-License-Identifier: MIT
"""Notebook displays of layouts, operands, fragments and instructions: pictures and tables of facts."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from wmma_emu.arithmetic import DotModel
from wmma_emu.errors import FragmentMismatchError, WmmaEmuError
from wmma_emu.instructions import OPERANDS, Instruction
from wmma_emu.instructions.arch import usual_chip
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.tiled import TiledLayout
from wmma_emu.viz.operands.matrix_view import draw_matrix
from wmma_emu.viz.operands.register_view import draw_registers
from wmma_emu.viz.operands.subject import Drawable, subject_of
from wmma_emu.viz.operands.tile_view import draw_tile
from wmma_emu.warp import BoundInstruction, bound_instruction
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.wmma.fragments import Fragment

_MOST_CELLS = 256
"""The size of a picture among others."""

_MOST_VALUES = 1024


def layout_html(layout: LaneMap) -> str:
    """Show a layout: the matrix, and the registers folded; or a message if it cannot be drawn."""
    try:
        return _pictures(layout)
    except WmmaEmuError as error:  # a user's layout
        return _paragraph(f"{layout!r} is not drawn: {error}")


def tile_html(tile: TiledLayout) -> str:
    """Show a tile of several warps, or a message if it cannot be drawn."""
    try:
        return draw_tile(tile)._repr_html_()
    except WmmaEmuError as error:  # too large
        return _paragraph(f"{tile!r} is not drawn: {error}")


def operand_html(operand: BoundOperand) -> str:
    """Show an operand of an instruction on a chip; an operand in memory has no picture of registers."""
    if operand.in_registers:
        return _pictures(operand)
    fix = "; wmma_emu.viz.draw_shared_operand draws its addresses" * operand.instruction.is_warpgroup
    return _paragraph(f"{operand!r}: no lane holds it{fix}")


def fragment_html(fragment: Fragment) -> str:
    """Show a fragment: its type, its layout, and its values if it has any."""
    head = _paragraph(repr(fragment))
    return head + _pictures(fragment) + _values(fragment)


def instruction_html(instruction: BoundInstruction | Instruction) -> str:
    """Show an instruction: its operands, a picture of each, and its known facts.

    An entry of the table is shown for the default chip, or the first chip that supports it.
    """
    if isinstance(instruction, Instruction):
        instruction = bound_instruction(instruction, usual_chip(instruction.archs))
    bound = instruction
    entry = bound.instruction
    facts = [
        ("in short", entry.short_mnemonic),
        ("chips", " ".join(entry.archs)),
        ("known from", f"{entry.source} ({entry.status})"),
        *_computed(bound.model, bound.arch.name),
        ("machine code", bound.machine),
        ("layouts from", _layouts(bound)),
    ]
    heads = ("operand", "format", "matrix", "registers per lane", "elements per lane")
    table = _table(heads, (_operand_row(getattr(bound, x)) for x in OPERANDS))
    known = _details("What it computes, on which chips, and the sources", _table((), facts))
    return _paragraph(entry.mnemonic, "strong") + table + _beside(_operand_pictures(bound)) + known


def _computed(model: DotModel, chip: str) -> list[tuple[str, str]]:
    lowering = "" if model.lowering == "native" else f", lowering {model.lowering}"
    facts = [(f"on {chip}{lowering}", f"{model.describe()} ({model.status})"), ("known from", model.source)]
    return [*facts, ("note", model.note)] if model.note else facts


def _operand_row(operand: BoundOperand) -> list[str]:
    shape = " × ".join(map(str, operand.matrix_shape))
    if not operand.in_registers:
        return [operand.name, str(operand.format), shape, f"in {operand.place}", ""]
    layout = operand.layout
    registers = f"{layout.num_registers} of {layout.register_bits} bits"
    copies = "" if layout.multiplicity == 1 else f", each held {layout.multiplicity} times"
    return [operand.name, str(operand.format), shape, registers, f"{layout.num_elements}{copies}"]


def _layouts(bound: BoundInstruction) -> str:
    """Return the sources of the layouts; operands with the same source are grouped."""
    known: dict[str, list[str]] = {}
    for operand in _in_registers(bound):
        known.setdefault(f"{operand.layout.source} ({operand.layout.status})", []).append(operand.name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in known.items())


def _in_registers(bound: BoundInstruction) -> list[BoundOperand]:
    return [x for x in (bound.a, bound.b, bound.c, bound.d) if x.in_registers]


def _operand_pictures(bound: BoundInstruction) -> Iterable[str]:
    """Return the matrix of each operand in registers; C and D are one if their layouts are equal."""
    same = bound.c.layout == bound.d.layout and bound.c.format == bound.d.format
    for operand in _in_registers(bound):
        if operand.operand == "c" and same:
            continue
        name = "C and D" if operand.operand == "d" and same else operand.name
        picture = draw_matrix(operand, most_cells=_MOST_CELLS)
        yield _details(f"{name}: which lane holds what", picture._repr_html_(), shown=True)


def _pictures(operand: Drawable) -> str:
    registers = draw_registers(operand)._repr_html_()
    subject = subject_of(operand)
    return draw_matrix(operand)._repr_html_() + _details(f"Registers of {subject.name}, bit by bit", registers)


def _values(fragment: Fragment) -> str:
    if not fragment.is_initialised:
        return ""
    try:
        matrix = fragment.to_matrix()
    except FragmentMismatchError:
        return _paragraph("Copies of an element differ between lanes; x has them all")
    matrix = matrix.reshape(-1, *matrix.shape[-2:])
    if not len(matrix) or matrix[0].size > _MOST_VALUES:
        return ""
    rows = [[str(i), *map(_number, row)] for i, row in enumerate(matrix[0])]
    heads = ("", *map(str, range(matrix.shape[-1])))
    which = "Elements" if len(matrix) == 1 else f"Elements of warp 0 of {len(matrix)}"
    return _details(which, _table(heads, rows))


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, np.floating) else str(value)


def _beside(pieces: Iterable[str]) -> str:
    boxes = "".join(f'<div style="max-width:100%">{piece}</div>' for piece in pieces)
    return f'<div style="display:flex;flex-wrap:wrap;gap:0.5rem 1.5rem;align-items:flex-start">{boxes}</div>\n'


def _details(summary: str, inner: str, shown: bool = False) -> str:
    mark = ' open=""' if shown else ""
    return f"<details{mark}><summary>{escape(summary)}</summary>{inner}</details>\n"


def _paragraph(text: str, tag: str = "span") -> str:
    return f"<p><{tag}>{escape(text)}</{tag}></p>\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(x)}</th>' if x else "<td></td>" for x in heads)
    head = f"<tr>{head}</tr>\n" if heads else ""
    left = ' style="text-align:left"'
    body = "".join(
        f'<tr><th scope="row"{left}>{escape(first)}</th>'
        + "".join(f"<td{left}>{escape(x)}</td>" for x in rest)
        + "</tr>\n"
        for first, *rest in rows
    )
    return f"<table>{head}{body}</table>\n"
