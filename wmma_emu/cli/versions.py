# SPDX-License-Identifier: MIT
"""``wmma-emu version``."""

from argparse import Namespace

from wmma_emu.cli.terminal import Terminal
from wmma_emu.version import __version__


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the version."""
    terminal.line(f"wmma-emu {__version__}")
