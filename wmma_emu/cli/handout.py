# SPDX-License-Identifier: MIT
"""``wmma-emu handout``: A, B, C and D of an instruction on one sheet to print."""

from argparse import Namespace

from wmma_emu.applications.explorer import handout_page
from wmma_emu.cli.explore import write_page
from wmma_emu.cli.names import chip_for, one_instruction
from wmma_emu.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the handout of an instruction, and open it in the browser, which prints it."""
    found = one_instruction(arguments.words, arguments.arch)
    page = handout_page(found.instruction, chip_for(found.instruction, found.chip).name)
    write_page("the handout", page, arguments.output, "handout.html", arguments.open, terminal)
