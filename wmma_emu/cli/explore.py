# SPDX-License-Identifier: MIT
"""``wmma-emu explore``: the explorer as one file, a page that says which element a lane holds."""

from argparse import Namespace
from pathlib import Path

from wmma_emu.applications.explorer import explorer_page
from wmma_emu.cli.browser import show_page
from wmma_emu.cli.output import output_of
from wmma_emu.cli.terminal import Terminal


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the explorer, and open it in the browser."""
    write_page("the explorer", explorer_page(), arguments.output, "explorer.html", arguments.open, terminal)


def write_page(what: str, page: str, output: str, example: str, wanted: bool, terminal: Terminal) -> None:
    """Write a page where it is asked for, open it if it is a file and that is wanted, and say where it is."""
    file = output_of(output, "html", ("html",), example)
    file.write(page, terminal)
    if file.path is not None:
        how = show_page(Path(file.path), wanted, terminal)
        size = len(page.encode())
        shown = f"{size / 1e6:.1f} MB" if size > 500_000 else f"{size // 1000} kB"
        terminal.line(f"{what} is {file.path}, {shown}; {how}")
