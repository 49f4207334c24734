# SPDX-License-Identifier: MIT
"""``--operand scale_a``, ``scale_b``: which byte of which lane holds a block scale, for `layout`, `where`, `what`."""

from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.cli.choices import PLACE_FORMATS
from wmma_emu.cli.operand import Asked, check_index, span
from wmma_emu.cli.output import format_of, writing
from wmma_emu.cli.tables import Column, write_records, write_table
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.layouts import ScaleMap, scale_map, scale_selectors_of
from wmma_emu.layouts.block_scales import SCALED, Scaled

_NAMES: dict[str, Scaled] = {f"scale_{x}": x for x in SCALED}
_COLUMNS = [Column(x) for x in ("lane", "bits", "row", "col", "k")]


class _Place(NamedTuple):
    """A scale: its row and column in the matrix of scales, and where it lies."""

    row: int
    col: int
    lane: int
    byte: int


def scales_of(asked: Asked, arguments: Namespace) -> Scaled | None:
    """Say whose block scales are asked for; None if those of nobody are.

    Neither can selectors of block scales stand without them, nor other operands beside them.
    """
    named = [x for x in asked.operands if x in _NAMES]
    if named and len(asked.operands) > 1:
        raise UsageError(f"{named[0]} stands in a list of its own; name no other operand beside it")
    if named:
        return _NAMES[named[0]]
    for name in ("byte_id", "thread_id"):
        if getattr(arguments, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} chooses among block scales; add --operand {' or '.join(_NAMES)}")
    return None


def run_scales(arguments: Namespace, asked: Asked, operand: Scaled, terminal: Terminal) -> None:
    """Show where block scales lie: all of them, or those that a row and a column, or a lane, choose."""
    row, chip = asked.instruction, asked.chip
    legal = scale_selectors_of(row, operand)
    output = _format(arguments)
    byte_id = _selector("--byte-id", arguments.byte_id, legal.byte_ids, row)
    thread_id = _selector("--thread-id", arguments.thread_id, legal.thread_ids, row)
    found = scale_map(row, operand, byte_id, thread_id)
    places = list(_chosen(arguments, found, f"scale_{operand}"))
    records = [_record(row, operand, x) for x in places]
    with writing(arguments, PLACE_FORMATS, "scales.csv", terminal) as out:
        if output == "table":
            _write_head(row, operand, chip, found, (byte_id, thread_id), out)
        if output in ("csv", "json"):
            write_records(records, output, out, list(_record(row, operand, _Place(0, 0, 0, 0))))
        elif places or output == "markdown":
            write_table(_COLUMNS, [_cells(x, row.scale_block) for x in records], output, out)
        else:
            out.line("Nothing in this register is read.")


def _format(arguments: Namespace) -> str:
    if arguments.format and arguments.format.casefold() == "grid":
        arguments.format = None
    for option in ("view", "matrix"):
        if getattr(arguments, option, None) is not None:
            raise UsageError(f"--{option} is not of block scales; leave it out")
    if arguments.command == "layout" and arguments.register is not None:
        raise UsageError("--register: block scales are one register a lane; leave it out")
    return format_of(arguments.format, arguments.output, PLACE_FORMATS)


def _selector(option: str, given: str | None, legal: tuple[int, ...], row: Instruction) -> int:
    if given is None:
        return legal[0]
    names = [str(x) for x in legal]
    if given.strip() not in names:
        raise UsageError(f"{option} {given[:80]!r} is not one of {', '.join(names)}, which {row.short_mnemonic} takes")
    return int(given)


def _chosen(arguments: Namespace, found: ScaleMap, name: str) -> Iterator[_Place]:
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
            place = _Place(i, j, *found.locate(i, j))
            if row in (None, i) and col in (None, j) and lane in (None, place.lane):
                yield place


def _write_head(
    row: Instruction, operand: Scaled, chip: Arch, found: ScaleMap, selectors: tuple[int, int], terminal: Terminal
) -> None:
    legal = scale_selectors_of(row, operand)
    shape = " x ".join(map(str, found.matrix_shape))
    axes = "m x scales of a row" if operand == "a" else "scales of a column x n"
    others = [x for x in row.archs if x != chip.name]
    said = zip(("byte-id", "thread-id"), selectors, legal, strict=True)
    texts = [f"{name} {value} of {', '.join(map(str, values))}" for name, value, values in said]
    shared = f"{row.scale_block} columns of a row" if operand == "a" else f"{row.scale_block} rows of a column"
    if row.is_sparse:
        shared += " (k counts what a sparse A leaves out)"
    terminal.line(Styled(f"scale_{operand} of {row.mnemonic}", "title"))
    terminal.fields([
        ("matrix", f"{shape} ({axes}) {row.scale}; each is of {shared}"),
        ("chip", f"{chip} ({chip.generation})" + (f"; the same on {' '.join(others)}" if others else "")),
        ("selectors", "; ".join(texts)),
        ("a lane", "a register of 32 bits; lanes and bytes that are not named here are not read"),
        ("known from", Styled(f"{found.source} ({found.status})", found.status)),
    ])  # fmt: skip
    terminal.line()


def _cells(record: dict[str, int], block: int) -> list[str]:
    bits = f"{record['bit_high']}:{record['bit_low']}"
    return [str(record["lane"]), bits, str(record["row"]), str(record["col"]), span(record["k_first"], block)]


def _record(row: Instruction, operand: Scaled, place: _Place) -> dict[str, int]:
    block = place.col if operand == "a" else place.row
    first = block * row.scale_block
    return {
        "lane": place.lane, "register": 0, "bit_low": 8 * place.byte, "bit_high": 8 * place.byte + 7,
        "row": place.row, "col": place.col, "k_first": first, "k_last": first + row.scale_block - 1,
    }  # fmt: skip
