# SPDX-License-Identifier: MIT
"""The section of one instruction: operands, the arithmetic of each chip, machine code, and sources."""

from html import escape
from urllib.parse import quote

from docs._ext.instruction_groups import Group, anchor_of
from docs._ext.layout_gallery import Shown, chips_in_words, in_registers
from docs._ext.markup import code, link, relative, table
from wmma_emu.arithmetic import model_for
from wmma_emu.instructions import ARCHS, OPERANDS, Instruction, lowerings, machine_instructions
from wmma_emu.instructions.spec import Operand
from wmma_emu.layouts import granularity_of, layout_for, metadata_map, scale_map, scale_selectors_of, selectors_of
from wmma_emu.layouts.block_scales import SCALED

__all__ = ["explorer_link", "section"]


def explorer_link(document: str, entry: Instruction, chip: str) -> str:
    """Return the way from a page to the explorer, opened at an instruction on a chip."""
    return relative(document, f"explorer.html#i={quote(entry.mnemonic)}&chip={chip}")


def section(entry: Instruction, group: Group, shown: tuple[Shown, ...]) -> str:
    """Return an instruction's section as Markdown: a heading with a label, and HTML without an empty line."""
    chip = "sm_90" if "sm_90" in entry.archs else entry.archs[0]
    parts = [
        f"<p>{code(entry.short_mnemonic)} on {chips_in_words(set(entry.archs))}; "
        f"{link('open in the explorer', explorer_link(group.document, entry, chip))}.</p>",
        _operands(entry, shown),
        *_values(entry),
        *_metadata(entry),
        *_scales(entry),
        _chips(entry),
        f"<p>Known from: {escape(entry.source)} ({entry.status}). {link('Back to the top', '#')}</p>",
    ]
    body = "\n".join(parts)
    return f'({anchor_of(entry)})=\n## `{entry.mnemonic}`\n\n<div class="instruction">\n{body}\n</div>\n'


def _operands(entry: Instruction, shown: tuple[Shown, ...]) -> str:
    headings = ("operand", "format", "matrix", "registers a lane", "elements a lane", "layout")
    return table(headings, [_operand(entry, x, shown) for x in OPERANDS])


def _operand(entry: Instruction, operand: Operand, shown: tuple[Shown, ...]) -> list[str]:
    stored = "" if entry.is_warpgroup else {"a": entry.a_layout, "b": entry.b_layout}.get(operand, "")
    letter = operand.upper() + (f", {stored}" if stored else "")
    name = entry.format(operand).name
    if operand not in in_registers(entry):
        shape = " × ".join(str(x) for x in entry.matrix_shape(operand))
        how = link("read through a descriptor", "../../how-to/wgmma-operands.html")
        return [letter, name, shape, "in shared memory", "–", how]
    layout = layout_for(entry, operand, entry.archs[0])
    shape = " × ".join(str(x) for x in layout.matrix_shape)
    shape += f" of {entry.m} × {entry.k}" if entry.is_sparse and operand == "a" else ""
    copies = "" if layout.is_bijection else f", each element {layout.multiplicity} times"
    registers = f"{layout.num_registers} of {layout.register_bits} bits"
    places = [x for x in shown if any(use[0] is entry and use[1] == operand for use in x.uses)]
    links = []
    for place in places:
        chips = {chip for used, used_as, chip, _ in place.uses if used is entry and used_as == operand}
        text = "picture, formulas" if len(places) == 1 else f"on {chips_in_words(chips)}"
        links.append(link(text, f"#{place.anchor}"))
    return [letter, name, shape, registers, f"{layout.num_elements}{copies}", "; ".join(links)]


def _metadata(entry: Instruction) -> list[str]:
    if not entry.is_sparse:
        return []
    places, found = granularity_of(entry), metadata_map(entry)
    pairs = ", in pairs of neighbours" if places.width > 1 else ""
    nibbles = " ".join(f"{x:04b}" for x in places.nibbles)
    threads = [x for x in range(4) if x in found.lane % 4]
    selectors = "; ".join(
        f"{i}: lane % 4 = {' or '.join(str(x + i * len(threads)) for x in threads)}" for i in selectors_of(entry)
    )
    of_each_warp = " of each warp" if entry.is_warpgroup else ""
    return [
        f"<p>Sparsity {places.name}: A has elements in {places.kept} of every {places.chunk} columns{pairs}. Metadata: "
        f"a register of 32 bits a lane, a nibble for {places.chunk} columns of a row: {code(nibbles)}. The selector "
        f"selects the lanes{of_each_warp} that hold it: {selectors}. {escape(found.source)} ({found.status}).</p>"
    ]


def _values(entry: Instruction) -> list[str]:
    """Describe the bit positions of values of A and B that do not fill their byte."""
    held = [(x.upper(), entry.format(x).bits, entry.container(x)) for x in OPERANDS]
    said = [f"of {name} in bits {at.shift} to {at.shift + bits - 1}" for name, bits, at in held if bits < at.bits]
    return [f"<p>Each value has a byte: {', '.join(said)} of it; the other bits are ignored.</p>"] if said else []


def _scales(entry: Instruction) -> list[str]:
    """Describe the block scales, and the lanes and bytes that hold them."""
    if not entry.is_block_scaled:
        return []
    found = scale_map(entry, "a")
    whole = ", including columns that a sparse A omits" if entry.is_sparse else ""
    selectors = "; ".join(
        f"byte-id {', '.join(map(str, legal.byte_ids))} and thread-id {', '.join(map(str, legal.thread_ids))} of "
        f"scale_{x}"
        for x, legal in ((x, scale_selectors_of(entry, x)) for x in SCALED)
    )
    return [
        f"<p>Block scales ({code(entry.scale)}): one for {entry.scale_block} columns in each row of A, and one for "
        f"{entry.scale_block} rows in each column of B{whole}. Each lane gives a register of 32 bits of scales of A "
        f"and one of B. With thread-id <i>t</i> and byte-id <i>y</i> the scale of row <i>r</i> of A and block <i>j</i> "
        f"of k is byte <i>y</i> + <i>j</i> of lane 4 (<i>r</i> mod 8) + ⌊<i>r</i> / 8⌋ + 2 <i>t</i>, that of column "
        f"<i>c</i> of B byte <i>y</i> + <i>j</i> of lane 4 <i>c</i> + <i>t</i>; nothing else is read. There is "
        f"{selectors}. "
        f"{escape(found.source)} ({found.status}).</p>"
    ]


def _chips(entry: Instruction) -> str:
    """Group chips with the same facts in one line."""
    lines: dict[tuple[str, ...], set[str]] = {}
    for chip in entry.archs:
        for lowering in lowerings(entry, chip):
            model = model_for(entry, chip, lowering)
            machine = machine_instructions(entry, chip, lowering)
            how = "" if lowering == "native" else f", {escape(lowering)}"
            text = (
                f"{how}<br>{code(model.status)}",
                escape(model.describe()) + _small(model.source, model.note),
                code(machine.text) + _small(f"{machine.source} ({machine.status})", machine.note),
            )
            lines.setdefault(text, set()).add(chip)
    cells = [[f"{_generations(chips)}{text[0]}", *text[1:]] for text, chips in lines.items()]
    return table(("chip, status", "computes", "machine code"), cells, "chips")


def _small(*texts: str) -> str:
    """Return the source, and notes."""
    return "".join(f"<br><small>{escape(text)}</small>" for text in texts if text)


def _generations(chips: set[str]) -> str:
    names = dict.fromkeys(ARCHS[x].generation for x in ARCHS if x in chips)
    return f"{chips_in_words(chips)} ({'; '.join(names)})" if len(names) == 1 else chips_in_words(chips)
