# SPDX-License-Identifier: MIT
"""``wmma-emu`` without arguments, ``wmma-emu help``, ``wmma-emu --help`` and ``wmma-emu version``."""

import shutil
import textwrap
from argparse import Namespace

from wmma_emu.cli.command_table import COMMANDS
from wmma_emu.cli.options import DESCRIPTION, whole_parser
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.version import __version__

_FIRST = (
    ("wmma-emu explore", "which lane holds which element, as a page for a browser"),
    ("wmma-emu layout m16n8k16.f32.f16.f16.f32 A", "the same in the terminal, of one operand"),
    ("wmma-emu list fp8 h100", "the instructions that match all words"),
    ("wmma-emu gemm A.npy B.npy --arch a100", "a product with a chip's bits"),
    ("wmma-emu compare a100 h100", "the differences between two chips"),
    ("wmma-emu ptx run kernel.cu --grid 4 --block 256 --arg y.npy=x.npy", "the errors of a kernel, without a GPU"),
)
"""Commands for a first try, and their meanings."""


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the short help, the full help with all commands and examples, or the version."""
    if arguments.command == "version":
        terminal.line(f"wmma-emu {__version__}")
        return
    if arguments.all:
        whole_parser().print_help()
        return
    terminal.line(Styled("wmma-emu", "title"), f": {DESCRIPTION}")
    terminal.line()
    for command, meaning in _FIRST:
        terminal.line("  ", Styled(command, "label"))
        terminal.line(f"      {meaning}")
    terminal.line()
    width = min(shutil.get_terminal_size().columns, 100)
    listed = f"Commands: {', '.join(COMMANDS)}."
    for line in textwrap.wrap(listed, width, subsequent_indent="  ", break_on_hyphens=False):
        terminal.line(line)
    terminal.line("wmma-emu help COMMAND describes one; wmma-emu --help has more examples.")
