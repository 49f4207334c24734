# SPDX-License-Identifier: MIT
"""``wmma-emu explore``: the explorer as one file, a page that says which element a lane holds."""

from argparse import Namespace

from wmma_emu.cli.matrices import check_output, write_text
from wmma_emu.cli.terminal import Terminal
from wmma_emu.viz.explorer import explorer_page

__all__ = ["run"]

_STANDARD_OUTPUT = "-"


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the explorer.

    Raises
    ------
    UsageError
        For a file that cannot be written; then nothing is.
    """
    if arguments.output == _STANDARD_OUTPUT:
        terminal.raw(explorer_page())
        return
    check_output(arguments.output, (), "explorer.html")
    page = explorer_page()
    write_text(arguments.output, page)
    terminal.line(f"the explorer is {arguments.output}, {len(page.encode()) / 1e6:.1f} MB; open it in a browser")
