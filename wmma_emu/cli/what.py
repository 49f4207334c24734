# SPDX-License-Identifier: MIT
"""``wmma-emu what``: the matrix elements that a register of a lane holds."""

from argparse import Namespace

from wmma_emu.cli.operand import check_index, select
from wmma_emu.cli.places import FORMATS, places_of_lanes, write_places
from wmma_emu.cli.scales import asks_for_scales, run_scales
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import check_choice

__all__ = ["run"]


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Look into a register.

    Raises
    ------
    UsageError, UnsupportedInstructionError
        For an instruction, a chip, an operand, a lane, a register or a format that does not exist.
    """
    if asks_for_scales(arguments):
        run_scales(arguments, terminal)
        return
    output = check_choice("--format", arguments.format, FORMATS)
    selection = select(arguments)
    count, name = selection.layout.num_registers, selection.name
    lane = check_index("--lane", arguments.lane, selection.layout.num_lanes, selection.lanes)
    has = f"a lane holds {name} in {count} register{'s' * (count > 1)}"
    register = check_index("--register", arguments.register, count, has)
    places = places_of_lanes(selection.layout, [lane], register)
    write_places(selection, f"Register {register} of lane {lane} of {name}", places, output, terminal)
