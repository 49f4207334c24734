# SPDX-License-Identifier: MIT
"""``--operand scale_a``, ``scale_b``: the lane and byte of each block scale, for `layout`, `where`, `what`."""

from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.cli.choices import POSITION_FORMATS
from wmma_emu.cli.operand import OperandRequest, check_index, span
from wmma_emu.cli.output import format_of, writing
from wmma_emu.cli.tables import Column, write_records, write_table
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.layouts import ScaleMap, scale_map, scale_selectors_of
from wmma_emu.layouts.block_scales import SCALED, Scaled

_NAMES: dict[str, Scaled] = {f"scale_{x}": x for x in SCALED}
_COLUMNS = [Column(x) for x in ("lane", "bits", "row", "col", "k")]


class _ScalePosition(NamedTuple):
    """A scale: its row and column in the matrix of scales, and its lane and byte."""

    row: int
    col: int
    lane: int
    byte: int


def scales_of(asked: OperandRequest, arguments: Namespace) -> Scaled | None:
    """Return the operand whose block scales are requested, or None.

    Selectors without block scales, and block scales together with other operands, are rejected.
    """
    named = [x for x in asked.operands if x in _NAMES]
    if named and len(asked.operands) > 1:
        raise UsageError(f"{named[0]} is listed separately; do not name another operand with it")
    if named:
        return _NAMES[named[0]]
    for name in ("byte_id", "thread_id"):
        if getattr(arguments, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} chooses among block scales; add --operand {' or '.join(_NAMES)}")
    return None


def run_scales(arguments: Namespace, asked: OperandRequest, operand: Scaled, terminal: Terminal) -> None:
    """Show the positions of block scales: of all, or of those that a row and a column, or a lane, select."""
    entry, chip = asked.instruction, asked.chip
    legal = scale_selectors_of(entry, operand)
    output = _format(arguments)
    byte_id = _selector("--byte-id", arguments.byte_id, legal.byte_ids, entry)
    thread_id = _selector("--thread-id", arguments.thread_id, legal.thread_ids, entry)
    found = scale_map(entry, operand, byte_id, thread_id)
    positions = list(_chosen(arguments, found, f"scale_{operand}"))
    records = [_record(entry, operand, x) for x in positions]
    with writing(arguments, POSITION_FORMATS, "scales.csv", terminal) as out:
        if output == "table":
            _write_head(entry, operand, chip, found, (byte_id, thread_id), out)
        if output in ("csv", "json"):
            write_records(records, output, out, list(_record(entry, operand, _ScalePosition(0, 0, 0, 0))))
        elif positions or output == "markdown":
            write_table(_COLUMNS, [_cells(x, entry.scale_block) for x in records], output, out)
        else:
            out.line("The instruction does not read this register.")


def _format(arguments: Namespace) -> str:
    if arguments.format and arguments.format.casefold() == "grid":
        arguments.format = None
    for option in ("view", "matrix"):
        if getattr(arguments, option, None) is not None:
            raise UsageError(f"--{option} does not apply to block scales; omit it")
    if arguments.command == "layout" and arguments.register is not None:
        raise UsageError("--register: block scales take only one register per lane; omit it")
    return format_of(arguments.format, arguments.output, POSITION_FORMATS)


def _selector(option: str, given: str | None, legal: tuple[int, ...], entry: Instruction) -> int:
    if given is None:
        return legal[0]
    names = [str(x) for x in legal]
    if given.strip() not in names:
        raise UsageError(
            f"{option} {given[:80]!r} is not one of {', '.join(names)}, which {entry.short_mnemonic} accepts"
        )
    return int(given)


def _chosen(arguments: Namespace, found: ScaleMap, name: str) -> Iterator[_ScalePosition]:
    rows, cols = found.matrix_shape
    lane = row = col = None
    if getattr(arguments, "lane", None) is not None:
        lane = check_index("--lane", arguments.lane, 32, "a warp has 32 lanes")
    if arguments.command == "what" and arguments.register is not None:
        check_index("--register", arguments.register, 1, f"a lane holds {name} in 1 register")
    if getattr(arguments, "row", None) is not None:
        row = check_index("--row", arguments.row, rows, f"{name} has {rows} rows")
    if getattr(arguments, "col", None) is not None:
        col = check_index("--col", arguments.col, cols, f"{name} has {cols} column{'s' * (cols > 1)}")
    for i in range(rows):
        for j in range(cols):
            position = _ScalePosition(i, j, *found.locate(i, j))
            if row in (None, i) and col in (None, j) and lane in (None, position.lane):
                yield position


def _write_head(
    entry: Instruction, operand: Scaled, chip: Arch, found: ScaleMap, selectors: tuple[int, int], terminal: Terminal
) -> None:
    legal = scale_selectors_of(entry, operand)
    shape = " x ".join(map(str, found.matrix_shape))
    axes = "m x scales of a row" if operand == "a" else "scales of a column x n"
    others = [x for x in entry.archs if x != chip.name]
    said = zip(("byte-id", "thread-id"), selectors, legal, strict=True)
    texts = [f"{name} {value} (legal: {', '.join(map(str, values))})" for name, value, values in said]
    shared = f"{entry.scale_block} columns of a row" if operand == "a" else f"{entry.scale_block} rows of a column"
    if entry.is_sparse:
        shared += " (k includes the columns that a sparse A omits)"
    terminal.line(Styled(f"scale_{operand} of {entry.mnemonic}", "title"))
    terminal.fields([
        ("matrix", f"{shape} ({axes}) {entry.scale}; each applies to {shared}"),
        ("chip", f"{chip} ({chip.generation})" + (f"; the same on {' '.join(others)}" if others else "")),
        ("selectors", "; ".join(texts)),
        ("a lane", "a register of 32 bits; lanes and bytes that are not listed are not read"),
        ("known from", Styled(f"{found.source} ({found.status})", found.status)),
    ])  # fmt: skip
    terminal.line()


def _cells(record: dict[str, int], block: int) -> list[str]:
    bits = f"{record['bit_high']}:{record['bit_low']}"
    return [str(record["lane"]), bits, str(record["row"]), str(record["col"]), span(record["k_first"], block)]


def _record(entry: Instruction, operand: Scaled, position: _ScalePosition) -> dict[str, int]:
    block = position.col if operand == "a" else position.row
    first = block * entry.scale_block
    return {
        "lane": position.lane, "register": 0, "bit_low": 8 * position.byte, "bit_high": 8 * position.byte + 7,
        "row": position.row, "col": position.col, "k_first": first, "k_last": first + entry.scale_block - 1,
    }  # fmt: skip
