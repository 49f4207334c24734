# SPDX-License-Identifier: MIT
"""``wmma-emu layout``: where the elements of an operand live, as a picture of the matrix or as a list."""

from argparse import Namespace

from wmma_emu.cli.grid import describe_cells, grid_lines, shortened
from wmma_emu.cli.operand import check_index, select
from wmma_emu.cli.places import FORMATS, cell_size, places_of_lanes, write_places
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import check_choice

__all__ = ["run"]


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Show the layout of an operand.

    Raises
    ------
    UsageError, UnsupportedInstructionError
        For an instruction, a chip, an operand, a lane or a format that does not exist.
    """
    output = check_choice("--format", arguments.format, ("grid", *FORMATS))
    selection = select(arguments)
    layout = selection.layout
    if arguments.lane is None:
        lanes, subject = range(layout.num_lanes), selection.name
    else:
        lane = check_index("--lane", arguments.lane, layout.num_lanes, selection.lanes)
        lanes, subject = range(lane, lane + 1), f"Lane {lane} of {selection.name}"
    if output == "grid" and arguments.lane is None:
        picture, rules = shortened(layout)
        selection.write_head(subject, terminal, [("a cell", describe_cells(picture)), *rules])
        terminal.lines(grid_lines(picture, terminal.width))
        return
    in_short = output == "grid" and layout.element_bits == 1  # a line for each of 128 bits says nothing more
    size = cell_size(layout) if in_short else (1, 1)
    write_places(selection, subject, places_of_lanes(layout, lanes, size=size), output, terminal)
