# SPDX-License-Identifier: MIT
"""``wmma-emu show``: one instruction, its operands and, for each chip, its arithmetic with the sources."""

from argparse import Namespace
from collections.abc import Sequence

from wmma_emu.arithmetic import DotModel, model_for
from wmma_emu.arithmetic.lookup import alternatives_for
from wmma_emu.cli.choices import TEXT
from wmma_emu.cli.listing import write_entries
from wmma_emu.cli.names import named
from wmma_emu.cli.output import writing
from wmma_emu.cli.query import chip_named
from wmma_emu.cli.tables import Column, table_lines
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.instructions import (
    ARCHS,
    OPERANDS,
    Arch,
    Instruction,
    arch_of,
    lowerings,
    machine_instructions,
)
from wmma_emu.layouts import granularity_of, layout_for, metadata_map, scale_map, scale_selectors_of, selectors_of
from wmma_emu.layouts.block_scales import SCALED

_PARAMETERS = {
    "aligned_sum": ("terms_per_step", "fraction_bits", "min_exponent", "output", "rounding",
                    "operand_format", "k_order", "c_joins", "partial_sums", "scaling"),
    "fma_chain": ("accumulator", "operand_format", "c_joins"),
}  # fmt: skip
"""The parameters of a model that each kind of arithmetic reads; the other kinds read none."""


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Show an instruction, list several, or describe a chip."""
    only = None if arguments.arch is None else arch_of(arguments.arch)
    with writing(arguments, TEXT, "instruction.txt", terminal) as out:
        if only is None and (chip := chip_named(arguments.words)) is not None:
            from wmma_emu.cli.chips import show_chip

            show_chip(chip, out)
            return
        found = named(arguments.words, only)
        if len(found.entries) == 1:
            _show(found.entries[0], found.chip, out)
            return
        if found.note:
            out.text(found.note)
            out.line()
        write_entries(found.entries, found.chip, "table", out)
        out.text("wmma-emu show describes a single instruction: add a format, a shape or a chip, or name it.")


def _show(entry: Instruction, only: Arch | None, terminal: Terminal) -> None:
    chips = [ARCHS[name] for name in entry.archs if only is None or name == only.name]
    terminal.line(Styled(entry.mnemonic, "title"))
    terminal.fields(
        [
            ("in short", entry.short_mnemonic),
            ("chips", " ".join(entry.archs)),
            ("known from", f"{entry.source} ({entry.status})"),
        ]
    )
    terminal.line()
    if entry.is_tensor:
        _tensor(entry, chips, terminal)
        return
    _operands(entry, chips[0], terminal)
    if entry.is_sparse:
        terminal.line()
        terminal.fields(_metadata(entry))
    if entry.is_block_scaled:
        terminal.line()
        terminal.fields(_scales(entry))
    computed: dict[tuple[object, ...], str] = {}
    for chip in chips:
        for lowering in lowerings(entry, chip):
            terminal.line()
            _chip(entry, chip, lowering, computed, terminal)


def _tensor(entry: Instruction, chips: Sequence[Arch], terminal: Terminal) -> None:
    shapes = {x: entry.matrix_shape(x) for x in OPERANDS[:2]}
    pairs = [(x.upper(), f"{rows} x {cols} {entry.format(x)}") for x, (rows, cols) in shapes.items()]
    pairs += [("D", f"{entry.m} x {entry.n} {entry.d}, in tensor memory; C is its previous contents")]
    if entry.is_block_scaled:
        pairs += [("block scales", f"{entry.scale}: one for {entry.scale_block} k, in tensor memory")]
    terminal.fields([*pairs, ("where", "wmma_emu.tcgen05 documents where each element is, and executes it")])
    for chip in chips:
        model = model_for(entry, chip.name)
        terminal.line()
        terminal.line(Styled(f"{chip} ({chip.generation})", "title"), ": ", Styled(model.status, model.status))
        fields = [("computes", model.describe()), ("parameters", _parameters(model)), ("known from", model.source),
                  ("note", model.note), ("other models", _alternatives(entry, chip, model))]  # fmt: skip
        terminal.fields([(label, text) for label, text in fields if text])


def _operands(entry: Instruction, chip: Arch, terminal: Terminal) -> None:
    headings = ("operand", "format", "matrix", "layout", "registers a lane", "elements a lane")
    cells = []
    for operand in OPERANDS:
        stored = "-" if entry.is_warpgroup else {"a": entry.a_layout, "b": entry.b_layout}.get(operand, "-")
        if entry.is_warpgroup and operand == "b":
            matrix = " x ".join(map(str, entry.matrix_shape(operand)))
            cells.append([operand.upper(), entry.format(operand).name, matrix, stored, "in shared memory", "-"])
            continue
        layout = layout_for(entry, operand, chip)
        copies = "" if layout.is_bijection else f" (each element {layout.multiplicity} times)"
        matrix = " x ".join(str(x) for x in layout.matrix_shape)
        matrix += f" of {entry.m} x {entry.k}" if entry.is_sparse and operand == "a" else ""
        registers = f"{layout.num_registers} of {layout.register_bits} bits"
        elements = f"{layout.num_elements}{copies}"
        cells.append([operand.upper(), entry.format(operand).name, matrix, stored, registers, elements])
    for line in table_lines([Column(x) for x in headings], cells, None):
        terminal.line("  ", *line)
    if values := _values(entry):
        terminal.line(f"  {values}")
    if entry.is_warpgroup:
        terminal.line("  Four warps together hold A, C and D; A may be read from shared memory instead.")


def _metadata(entry: Instruction) -> list[tuple[str, str]]:
    pattern = granularity_of(entry)
    found = metadata_map(entry)
    pairs = f"{pattern.kept} of every {pattern.chunk} columns"
    if pattern.width > 1:
        pairs += ", in pairs of neighbours"
    nibbles = " ".join(f"{x:04b}" for x in pattern.nibbles)
    threads = [x for x in range(4) if x in found.lane % 4]
    selectors = [f"{i}: lane % 4 = {' or '.join(str(x + i * len(threads)) for x in threads)}"
                 for i in selectors_of(entry)]  # fmt: skip
    return [
        ("sparsity", f"{pattern.name}: A has elements in {pairs}"),
        ("metadata", f"a register of 32 bits a lane; a nibble for {pattern.chunk} columns of a row: {nibbles}"),
        ("selector", f"lanes{' of each warp' * entry.is_warpgroup} that hold it: {'; '.join(selectors)}"),
        ("known from", f"{found.source} ({found.status})"),
    ]


def _values(entry: Instruction) -> str:
    """Return a note on the bit positions of values of A and B that do not fill their byte; empty if all do."""
    held = [(x.upper(), entry.format(x).bits, entry.container(x)) for x in OPERANDS]
    said = [f"of {name} in bits {at.shift + bits - 1}:{at.shift}" for name, bits, at in held if bits < at.bits]
    return f"Each value has a byte: {' and '.join(said)} of it; the other bits are ignored." if said else ""


def _scales(entry: Instruction) -> list[tuple[str, str]]:
    whole = " (k includes the columns that a sparse A omits)" if entry.is_sparse else ""
    selectors = [
        f"byte-id {', '.join(map(str, legal.byte_ids))} and thread-id {', '.join(map(str, legal.thread_ids))} of {name}"
        for name, legal in ((f"scale_{x}", scale_selectors_of(entry, x)) for x in SCALED)
    ]
    found = scale_map(entry, "a")
    return [
        ("block scales", f"{entry.scale}: one for {entry.scale_block} columns in each row of A, and for "
                         f"{entry.scale_block} rows in each column of B{whole}"),
        ("registers", "one of 32 bits a lane for scale_a, one for scale_b; wmma-emu layout --operand scale_a lists "
                      "the lanes and bytes that are read"),
        ("selectors", "; ".join(selectors)),
        ("known from", f"{found.source} ({found.status})"),
    ]  # fmt: skip


def _chip(
    entry: Instruction, chip: Arch, lowering: str, computed: dict[tuple[object, ...], str], terminal: Terminal
) -> None:
    """Write one chip and one lowering; refer to an earlier chip if the arithmetic is the same."""
    model = model_for(entry, chip.name, lowering)
    code = machine_instructions(entry, chip, lowering)
    name = chip.name if lowering == "native" else f"{chip.name}, {lowering}"
    default = lowering == lowerings(entry, chip)[0]
    how = "" if lowering == "native" else f", lowering {lowering}" + " (default)" * default
    title = Styled(f"{chip} ({chip.generation})", "title")
    terminal.line(title, f"{how}: ", Styled(model.status, model.status))
    like = computed.setdefault(model.parameters, name)
    fields = [("computes", f"as on {like}")] if like != name else [
        ("computes", model.describe()), ("parameters", _parameters(model)),
    ]  # fmt: skip
    fields += [
        ("known from", model.source),
        ("note", model.note),
        ("other models", _alternatives(entry, chip, model)),
        ("machine code", f"{code.text}" + (f" ({code.note})" if code.note else "")),
        ("code from", f"{code.source} ({code.status})"),
        ("layouts from", _layouts(entry, chip)),
    ]
    terminal.fields([(label, text) for label, text in fields if text])


def _alternatives(entry: Instruction, chip: Arch, model: DotModel) -> str:
    named = [x for x in alternatives_for(entry, chip.name) if x.lowering == model.lowering]
    return "; ".join(f"{x.name!r} ({x.status}: {x.source})" for x in named)


def _parameters(model: DotModel) -> str:
    names = _PARAMETERS.get(model.arithmetic, ())
    names = (*names, "group_terms", "zero_groups") if model.scaling == "groups" else names
    values = {name: str(getattr(model, name)) for name in names} | {"output": str(model.output_format)}
    return ", ".join(f"{name}={values[name]}" for name in names if values[name])


def _layouts(entry: Instruction, chip: Arch) -> str:
    """Return the sources of the layouts; operands with the same source are grouped."""
    layouts: dict[str, list[str]] = {}
    for operand in OPERANDS:
        if entry.is_warpgroup and operand == "b":  # in shared memory
            continue
        layout = layout_for(entry, operand, chip)
        layouts.setdefault(f"{layout.source} ({layout.status})", []).append(operand.upper())
    if len(layouts) == 1:
        return next(iter(layouts))
    return "; ".join(f"{' '.join(names)}: {text}" for text, names in layouts.items())
