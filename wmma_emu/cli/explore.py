# SPDX-License-Identifier: MIT
"""``wmma-emu explore``: the explorer as one file, a page that says which element a lane holds."""

from argparse import Namespace

from wmma_emu.cli.output import output_of
from wmma_emu.cli.terminal import Terminal
from wmma_emu.viz.explorer import explorer_page

__all__ = ["run"]


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the explorer.

    Raises
    ------
    UsageError
        For a file that cannot be written, or that is named as if it were no page; then nothing is written.
    """
    file = output_of(arguments.output, "html", ("html",), "explorer.html")
    page = explorer_page()
    file.write(page, terminal)
    if file.path is not None:
        terminal.line(f"the explorer is {file.path}, {len(page.encode()) / 1e6:.1f} MB; open it in a browser")
