# SPDX-License-Identifier: MIT
"""``wmma-emu list``: the instructions that have everything asked for."""

from argparse import Namespace
from collections.abc import Sequence

from wmma_emu.arithmetic import models_for
from wmma_emu.cli.tables import Column, Record, csv_text, json_text, markdown_text, table_lines
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import check_choice
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, OPERANDS, Arch, Instruction, arch_of, instructions_of

__all__ = ["run"]

_FORMATS = ("table", "csv", "json", "markdown")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """List instructions.

    Raises
    ------
    UsageError, UnsupportedInstructionError
        For a filter that names nothing.
    """
    output = check_choice("--format", arguments.format, _FORMATS)
    chip = None if arguments.arch is None else arch_of(arguments.arch)
    rows = _filtered(arguments, chip)
    if output in ("csv", "json"):
        records = [_record(row, chip) for row in rows]
        keys = list(_record(next(iter(INSTRUCTIONS.values())), None))
        keys += ["arithmetic", "lowerings"] if chip else []
        terminal.raw(json_text(records) if output == "json" else csv_text(records, keys))
        return
    columns = [Column("instruction"), Column("shape", True), Column("types", True), Column("layouts", True),
               Column("registers"), Column("chips", chip is not None)]  # fmt: skip
    columns += [Column("arithmetic")] if chip else []
    cells = [_cells(row, chip) for row in rows]
    if output == "markdown":
        terminal.raw(markdown_text(columns, cells))
        return
    if rows:
        table = list(table_lines(columns, cells, terminal.width))
        terminal.lines(table)
        terminal.line()
        if len(table[0]) < len(columns):
            terminal.text("Columns are left out for want of width; --format csv has everything.")
    for text in _summary(rows, chip):
        terminal.text(text)


def _filtered(arguments: Namespace, chip: Arch | None) -> tuple[Instruction, ...]:
    every = INSTRUCTIONS.values()
    family = check_choice("--family", arguments.family, (row.family for row in every))
    shape = check_choice("--shape", arguments.shape, (row.shape for row in every))
    multiplied = {name: None for row in every for name in (row.a, row.b)}
    summed = {name: None for row in every for name in (row.c, row.d) if name not in multiplied}
    wanted = check_choice("--type", arguments.type, (*multiplied, *summed))
    rows = instructions_of(chip, family=family, shape=shape)
    if wanted is None:
        return rows
    operands = ("a", "b") if wanted in multiplied else ("c", "d")
    return tuple(row for row in rows if wanted in [getattr(row, x) for x in operands])


def _record(row: Instruction, chip: Arch | None) -> Record:
    """Everything about a row, for programs."""
    record: dict[str, str | int | Sequence[str]] = {
        "mnemonic": row.mnemonic, "short": row.short_mnemonic, "family": row.family, "shape": row.shape,
        "m": row.m, "n": row.n, "k": row.k, "a_layout": row.a_layout, "b_layout": row.b_layout,
        "d": row.d, "a": row.a, "b": row.b, "c": row.c, "modifiers": row.modifiers,
    }  # fmt: skip
    record.update({f"{x}_registers": row.registers(x) for x in OPERANDS})
    record.update({"archs": row.archs, "source": row.source, "status": row.status})
    if chip is not None:
        record["arithmetic"] = _status(row, chip)
        record["lowerings"] = [x.lowering for x in models_for(row, chip.name)]
    return record


def _cells(row: Instruction, chip: Arch | None) -> list[str]:
    """Render a row for people."""
    cells = [
        row.short_mnemonic,
        row.shape,
        ".".join((row.d, row.a, row.b, row.c)),
        f"{row.a_layout}.{row.b_layout}",
        " ".join(str(row.registers(x)) for x in OPERANDS),
        _chips(row.archs),
    ]
    if chip is not None:
        cells.append(_status(row, chip))
    return cells


def _status(row: Instruction, chip: Arch) -> str:
    """How well the arithmetic is known on a chip."""
    models = models_for(row, chip.name)
    return models[0].status if models else "not modelled"


def _chips(archs: Sequence[str]) -> str:
    """Chips in short: ``sm_80+`` is sm_80 and every later one."""
    names = list(ARCHS)
    later = names[names.index(archs[0]) :]
    return f"{archs[0]}+" if list(archs) == later and len(later) > 1 else " ".join(archs)


def _summary(rows: Sequence[Instruction], chip: Arch | None) -> list[str]:
    place = f" on {chip} ({chip.generation})" if chip else ""
    if not rows:
        return [f"no instruction{place} has all of that; leave a filter out"]
    lines = [
        f"{len(rows)} instruction{'s' * (len(rows) > 1)}{place}.",
        "Registers are those of a lane, of A, B, C and D. Types, in names too, are in the order D, A, B, C.",
    ]
    shown = {text for text in (_chips(row.archs) for row in rows) if text.endswith("+")}
    if shown:
        first = min(shown, key=lambda text: list(ARCHS).index(text[:-1]))
        lines.append(f"{first} is {first[:-1]} and every later chip.")
    return lines
