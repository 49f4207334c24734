# SPDX-License-Identifier: MIT
"""``wmma-emu explore`` and ``handout``: a page with all layouts, and a page of one instruction to print."""

from argparse import Namespace
from pathlib import Path

from wmma_emu.applications.explorer import explorer_page, handout_page
from wmma_emu.cli.browser import show_page
from wmma_emu.cli.names import chip_for, one_instruction
from wmma_emu.cli.output import output_of, write_output
from wmma_emu.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the page; if it is a file, open it in the browser unless --no-open is given, and print its path."""
    if arguments.command == "handout":
        found = one_instruction(arguments.words, arguments.arch)
        name, page = "handout", handout_page(found.instruction, chip_for(found.instruction, found.chip).name)
    else:
        name, page = "explorer", explorer_page()
    path = output_of(arguments.output, "html", ("html",), f"{name}.html")
    write_output(path, page, terminal)
    if path is not None:
        how = show_page(Path(path), arguments.open, terminal)
        size = len(page.encode())
        shown = f"{size / 1e6:.1f} MB" if size > 500_000 else f"{size // 1000} kB"
        terminal.line(f"the {name} is {path}, {shown}; {how}")
