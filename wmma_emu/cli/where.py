# SPDX-License-Identifier: MIT
"""``wmma-emu where``: every lane and register that holds an element of a matrix."""

from argparse import Namespace

from wmma_emu.cli.choices import POSITION_FORMATS
from wmma_emu.cli.operand import Selection, asked_for, check_index, selections_of
from wmma_emu.cli.output import format_of, writing
from wmma_emu.cli.positions import ElementPosition, OperandPositions, position_of, write_positions
from wmma_emu.cli.scales import run_scales, scales_of
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError, from_words


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Find an element in one operand, or in every operand that has one at this position."""
    asked = asked_for(arguments, numbers=2)
    from_words(arguments, ("row", "col"), asked.numbers)
    if missing := [f"--{x}" for x in ("row", "col") if getattr(arguments, x) is None]:
        raise UsageError(
            f"where needs {' and '.join(missing)}: the position of an element of the operand's matrix, counted from 0"
        )
    if scaled := scales_of(asked, arguments):
        run_scales(arguments, asked, scaled, terminal)
        return
    output = format_of(arguments.format, arguments.output, POSITION_FORMATS)
    selections = selections_of(asked)
    with writing(arguments, POSITION_FORMATS, "positions.csv", terminal) as out:
        several = len(selections) > 1
        held = [OperandPositions(x, _positions(arguments, x)) for x in selections if not several or _has(arguments, x)]
        if not held:
            sizes = ", ".join(f"{x.name} is {x.layout.rows} x {x.layout.cols}" for x in selections)
            raise UsageError(f"no operand has an element [{arguments.row[:80]}, {arguments.col[:80]}]: {sizes}")
        write_positions(held, lambda x: _subject(arguments, x), output, out, several)


def _has(arguments: Namespace, selection: Selection) -> bool:
    """Return whether an operand has this element; True if an index is not a number, which is rejected later."""
    limits = (arguments.row, selection.layout.rows), (arguments.col, selection.layout.cols)
    return all(not x.strip().isdecimal() or int(x[:80]) < size for x, size in limits)


def _subject(arguments: Namespace, selection: Selection) -> str:
    return f"{selection.name}[{int(arguments.row)}, {int(arguments.col)}]"


def _positions(arguments: Namespace, selection: Selection) -> list[ElementPosition]:
    layout, (row, col) = selection.layout, selection.element_of(arguments)
    held = [x for i in _matrices(arguments.matrix, selection) for x in layout.locate(row, col, i)]
    return [position_of(layout, x.lane, x.element) for x in held]


def _matrices(given: str | None, selection: Selection) -> range:
    count = selection.layout.num_matrices
    if given is None:
        return range(count)
    has = f"{count} independent products" if count > 1 else "a single product"
    matrix = check_index("--matrix", given, count, f"{selection.instruction.short_mnemonic} computes {has}")
    return range(matrix, matrix + 1)
