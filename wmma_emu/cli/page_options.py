# SPDX-License-Identifier: MIT
"""The options of commands that write a page and open it: ``explore`` and ``handout``."""

import argparse

from wmma_emu.cli.choices import CHIP, option
from wmma_emu.cli.instruction_options import INSTRUCTION


def add_explore(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``wmma-emu explore``."""
    _add_page(parser, "wmma_emu_explorer.html")


def add_handout(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``wmma-emu handout``."""
    option(parser, "words", completes="instruction", metavar="INSTR", nargs="+", help=INSTRUCTION)
    option(parser, "--arch", completes="chip", metavar="CHIP",
        help=f"{CHIP}; sm_90 if left out, or the first chip that has it")  # fmt: skip
    _add_page(parser, "wmma_emu_handout.html")


def _add_page(parser: argparse.ArgumentParser, name: str) -> None:
    option(parser, "-o", "--output", completes="file", metavar="FILE", default=name,
        help=f"where the page is written, {name} if left out; - is standard output")  # fmt: skip
    option(parser, "--no-open", dest="open", action="store_false",
        help="do not open it in the browser; it never opens from a pipe, over ssh, or where CI is set")  # fmt: skip
