# SPDX-License-Identifier: MIT
"""The options of commands that write a page and open it: ``explore`` and ``handout``."""

import argparse

__all__ = ["add_explore", "add_handout"]


def add_explore(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``wmma-emu explore``."""
    _add_page(parser, "wmma_emu_explorer.html")


def add_handout(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``wmma-emu handout``."""
    parser.add_argument("instruction", metavar="INSTR",
        help="PTX mnemonic, as in m16n8k16.f32.f16.f16.f32; mma.sync.aligned and row.col may be left out")  # fmt: skip
    parser.add_argument("--arch", metavar="CHIP",
        help="a target or a product, as in sm_90, h200; sm_90 if left out, or the first chip that has it")  # fmt: skip
    _add_page(parser, "wmma_emu_handout.html")


def _add_page(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", default=name,
        help=f"where the page is written, {name} if left out; - is standard output")  # fmt: skip
    parser.add_argument("--no-open", dest="open", action="store_false",
        help="do not open it in the browser; it never opens from a pipe, over ssh, or where CI is set")  # fmt: skip
