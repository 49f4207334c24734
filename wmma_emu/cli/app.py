# SPDX-License-Identifier: MIT
"""From a command line to an exit status: what goes wrong becomes a line, never a traceback."""

import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from wmma_emu.cli.options import UnknownCommandError, parse_arguments
from wmma_emu.cli.terminal import Terminal, discard_output, say_on_stderr, show_on_stderr
from wmma_emu.cli.usage import SeveralError
from wmma_emu.cli.warned import warnings_in_short
from wmma_emu.errors import CompilationError, PtxSyntaxError, WmmaEmuError

_MODULES = {"list": "listing", "gemm": "product", "help": "helping", "version": "versions"}
"""Modules that are not called as their command is."""

_COMPLETE = "__complete"
"""What the scripts of `wmma-emu completion` call; no command for people."""

_USER_ERROR = 2
_BROKEN_PIPE = 141
"""What a shell reports for a program that a closed pipe (SIGPIPE) ends."""

_KEYWORD = re.compile(
    r"\b(instr|arch|reference|engine|threads|lowering|model|scale_a|scale_b|a_format|b_format|contraction|schedule|schedules|max_steps|max_bytes|checks|silence|"
    r"max_seconds)="
)
"""Keywords of the library that are options here: its messages name them."""


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit status: 0, 1, 2 or 141; `wmma_emu.cli.main` says which is which.

    What is wrong with it, with its files and with their contents is a WmmaEmuError, and then nothing is written.
    """
    try:
        status = _run_command(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        discard_output(sys.stdout)
        return _BROKEN_PIPE
    except (WmmaEmuError, OSError, MemoryError) as error:
        return _fail(error)
    return status


def _run_command(argv: Sequence[str]) -> int:
    """Import what a command needs, and only that; most commands have no exit status of their own."""
    if argv and argv[0] == _COMPLETE:
        from wmma_emu.cli.complete import run as complete

        return complete(argv[1:])
    try:
        arguments = _parsed(argv)
    except SystemExit:  # --help has been written
        return 0
    command = import_module(f"wmma_emu.cli.{_MODULES.get(arguments.command, arguments.command)}")
    with warnings_in_short(arguments.verbose):
        status: int | None = command.run(arguments, Terminal())
    return status or 0


def _parsed(argv: Sequence[str]) -> Namespace:
    """Read the command line; a first word that is no command, but the name of something, shows that."""
    try:
        return parse_arguments(argv)
    except UnknownCommandError:
        from wmma_emu.cli.things import command_for

        words = command_for(argv)
        if words is None:
            raise
        return parse_arguments(words)


def _fail(error: Exception) -> int:
    text = str(error).replace("scale_a and scale_b are missing", "--scale-a and --scale-b are missing")
    text = text.replace("pad=True", "--pad")
    text = _KEYWORD.sub(lambda found: f"--{found[1].replace('_', '-')} ", text)
    if isinstance(error, MemoryError) and not isinstance(error, WmmaEmuError):
        text = f"not enough memory; multiply smaller matrices ({text})" if text else "not enough memory"
    elif isinstance(error, OSError) and not isinstance(error, WmmaEmuError):
        what = error.filename if error.filename is not None else "standard output"
        text = f"{what}: {error.strerror or error}"
        if error.filename is None:
            discard_output(sys.stdout)
    if isinstance(error, PtxSyntaxError | CompilationError | SeveralError):  # what they show is a place in a text
        show_on_stderr(f"wmma-emu: error: {text}")
    else:
        say_on_stderr(f"wmma-emu: error: {text}")
    return _USER_ERROR
