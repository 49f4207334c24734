# SPDX-License-Identifier: MIT
"""``wmma-emu list``: the instructions that match all words and filters."""

from argparse import Namespace
from collections.abc import Sequence

from wmma_emu.arithmetic import models_for
from wmma_emu.cli.choices import TABLE_FORMATS
from wmma_emu.cli.names import grouped, named
from wmma_emu.cli.output import format_of, writing
from wmma_emu.cli.query import families_of, shape_of, types_of, with_type
from wmma_emu.cli.tables import Column, Record, table_lines, write_records, write_table
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import check_choice
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, OPERANDS, Arch, Instruction, arch_of


def run(arguments: Namespace, terminal: Terminal) -> None:
    """List instructions."""
    output = format_of(arguments.format, arguments.output, TABLE_FORMATS)
    entries, chip = _filtered(arguments)
    with writing(arguments, TABLE_FORMATS, "instructions.csv", terminal) as out:
        write_entries(entries, chip, output, out)


def write_entries(entries: Sequence[Instruction], chip: Arch | None, output: str, terminal: Terminal) -> None:
    """Write instructions for people or for programs; with a chip, add how well their arithmetic is known."""
    if output in ("csv", "json"):
        keys = list(_record(next(iter(INSTRUCTIONS.values())), None))
        keys += ["arithmetic", "lowerings"] if chip else []
        write_records([_record(entry, chip) for entry in entries], output, terminal, keys)
        return
    columns = [Column("instruction"), Column("shape", True), Column("types", True), Column("layouts", True),
               Column("registers"), Column("chips", chip is not None)]  # fmt: skip
    columns += [Column("arithmetic")] if chip else []
    groups = grouped(entries)
    cells = [_cells(group, chip) for group in groups]
    if output == "markdown":
        write_table(columns, cells, output, terminal)
        return
    if entries:
        table = list(table_lines(columns, cells, terminal.width))
        terminal.lines(table)
        terminal.line()
        if len(table[0]) < len(columns):
            terminal.text("Some columns do not fit the terminal and are left out; --format csv writes all.")
    for text in _summary(groups, chip):
        terminal.text(text)


def _filtered(arguments: Namespace) -> tuple[tuple[Instruction, ...], Arch | None]:
    chip = None if arguments.arch is None else arch_of(arguments.arch)
    entries = tuple(INSTRUCTIONS.values())
    if words := [x for x in arguments.words if x.casefold() != "all"]:
        found = named(words, chip)
        entries, chip = found.entries, found.chip
    if arguments.family is not None:
        families = families_of(arguments.family)
        entries = tuple(entry for entry in entries if entry.family in families)
    if arguments.shape is not None:
        entries = _of_shape(entries, arguments.shape)
    if arguments.type is not None:
        types = types_of(arguments.type) or _no_type(arguments.type)
        entries = tuple(entry for entry in entries if with_type(entry, types))
    return tuple(entry for entry in entries if chip is None or chip.name in entry.archs), chip


def _of_shape(entries: Sequence[Instruction], given: str) -> tuple[Instruction, ...]:
    """Select the instructions of a shape; in a shape of `wgmma`, N matches every n."""
    every = list(INSTRUCTIONS.values())
    shapes, short = [entry.shape for entry in every], [_shape(group) for group in grouped(every)]
    shape = check_choice("--shape", shape_of(given), (*shapes, *short), short)
    if shape in shapes:
        return tuple(entry for entry in entries if entry.shape == shape)
    return tuple(entry for entry in entries if f"m{entry.m}nNk{entry.k}" == shape and entry.is_warpgroup)


def _no_type(given: str) -> tuple[str, ...]:
    every = INSTRUCTIONS.values()
    multiplied = [name for entry in every for name in (entry.a, entry.b)]
    check_choice("--type", given, (*multiplied, *(name for entry in every for name in (entry.c, entry.d))))
    return ()


def _shape(group: Sequence[Instruction]) -> str:
    entry = group[0]
    return entry.shape if len(group) == 1 else f"m{entry.m}nNk{entry.k}"


def n_range(group: Sequence[Instruction]) -> str:
    """Describe the values of n as runs of equal steps.

    Examples
    --------
    >>> n_range([x for x in INSTRUCTIONS.values() if x.family == "wgmma" and x.a == "b1"])
    '8 to 32 in steps of 8, 48 to 256 in steps of 16'
    """
    ns = [entry.n for entry in group]
    runs: list[list[int]] = []
    for n in ns:
        if runs and (len(runs[-1]) == 1 or n - runs[-1][-1] == runs[-1][1] - runs[-1][0]):
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(f"{x[0]} to {x[-1]} in steps of {x[1] - x[0]}" if len(x) > 1 else str(x[0]) for x in runs)


def _record(entry: Instruction, chip: Arch | None) -> Record:
    record: dict[str, str | int | Sequence[str]] = {
        "mnemonic": entry.mnemonic, "short": entry.short_mnemonic, "family": entry.family, "shape": entry.shape,
        "m": entry.m, "n": entry.n, "k": entry.k, "a_layout": entry.a_layout, "b_layout": entry.b_layout,
        "d": entry.d, "a": entry.a, "b": entry.b, "c": entry.c, "modifiers": entry.modifiers, "scale": entry.scale,
        "scale_vec": entry.scale_vec,
    }  # fmt: skip
    record.update({f"{x}_registers": entry.registers(x) for x in OPERANDS})
    record.update({"archs": entry.archs, "source": entry.source, "status": entry.status})
    if chip is not None:
        record["arithmetic"] = _status(entry, chip)
        record["lowerings"] = [x.lowering for x in models_for(entry, chip.name)]
    return record


def _cells(group: Sequence[Instruction], chip: Arch | None) -> list[str]:
    entry = group[0]
    registers = [str(entry.registers(x)) for x in OPERANDS]
    if len(group) > 1:  # the number of registers of C and D grows with n
        registers = [
            x if y in "ab" else f"N/{entry.n // entry.registers(y)}" for x, y in zip(registers, OPERANDS, strict=True)
        ]
    cells = [
        entry.short_mnemonic.replace(entry.shape, _shape(group)),
        _shape(group),
        ".".join(entry.types),
        "-" if entry.is_warpgroup else f"{entry.a_layout}.{entry.b_layout}",
        " ".join(registers),
        _chips(entry.archs),
    ]
    if chip is not None:
        cells.append(_status(entry, chip))
    return cells


def _status(entry: Instruction, chip: Arch) -> str:
    models = models_for(entry, chip.name)
    return models[0].status if models else "not modelled"


def _chips(archs: Sequence[str]) -> str:
    """Shorten a list of chips: ``sm_80+`` is sm_80 and every later one."""
    names = list(ARCHS)
    later = names[names.index(archs[0]) :]
    return f"{archs[0]}+" if list(archs) == later and len(later) > 1 else " ".join(archs)


def _summary(groups: Sequence[Sequence[Instruction]], chip: Arch | None) -> list[str]:
    where = f" on {chip} ({chip.generation})" if chip else ""
    if not groups:
        return [f"no instruction{where} matches all filters; remove one"]
    count = sum(len(group) for group in groups)
    lines = [
        f"{count} instruction{'s' * (count > 1)}{where}.",
        "Registers are counted per lane, for A, B, C and D. Types are in the order D, A, B, C, also in names.",
    ]
    entries = [group[0] for group in groups]
    if any(entry.is_block_scaled for entry in entries):
        lines.append("The fifth type is the format of the block scales, which take one more register each for A and B.")
    shown = {text for text in (_chips(entry.archs) for entry in entries) if text.endswith("+")}
    if shown:
        first = min(shown, key=lambda text: list(ARCHS).index(text[:-1]))
        lines.append(f"{first} is {first[:-1]} and every later chip.")
    ranges: dict[str, dict[str, None]] = {}
    for group in groups:
        if len(group) > 1:
            ranges.setdefault(n_range(group), {})[group[0].a] = None
    lines += [
        f"N, where A is {' '.join(types)}, is {text}; --format csv has a line for each."
        for text, types in ranges.items()
    ]
    if any(entry.is_warpgroup for entry in entries):
        lines.append("wgmma reads B from shared memory, and A from registers or shared memory; C has the type of D.")
    return lines
