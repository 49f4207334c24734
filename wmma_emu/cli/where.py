# SPDX-License-Identifier: MIT
"""``wmma-emu where``: every place that holds an element of a matrix."""

from argparse import Namespace

from wmma_emu.cli.operand import Selection, check_index, select
from wmma_emu.cli.places import FORMATS, place_of, write_places
from wmma_emu.cli.scales import asks_for_scales, run_scales
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import check_choice

__all__ = ["run"]


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Find an element.

    Raises
    ------
    UsageError, UnsupportedInstructionError
        For an instruction, a chip, an operand, a row, a column, a matrix or a format that does not exist.
    """
    if asks_for_scales(arguments):
        run_scales(arguments, terminal)
        return
    output = check_choice("--format", arguments.format, FORMATS)
    selection = select(arguments)
    layout, name = selection.layout, selection.name
    row = check_index("--row", arguments.row, layout.rows, f"{name} has {layout.rows} rows")
    col = check_index("--col", arguments.col, layout.cols, f"{name} has {layout.cols} columns")
    held = [x for i in _matrices(arguments.matrix, selection) for x in layout.locate(row, col, i)]
    places = [place_of(layout, x.lane, x.element) for x in held]
    write_places(selection, f"{name}[{row}, {col}]", places, output, terminal)


def _matrices(given: str | None, selection: Selection) -> range:
    """Return the independent products that are asked for: all of them if none is named."""
    count = selection.layout.num_matrices
    if given is None:
        return range(count)
    has = f"{count} independent products" if count > 1 else "a single product"
    matrix = check_index("--matrix", given, count, f"{selection.instruction.short_mnemonic} computes {has}")
    return range(matrix, matrix + 1)
