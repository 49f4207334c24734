# SPDX-License-Identifier: MIT
"""From a command line to an exit status: what goes wrong becomes a line, never a traceback."""

import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TextIO

from wmma_emu.cli.options import UnknownCommandError, parse_arguments
from wmma_emu.cli.terminal import Terminal, discard_output, say_on_stderr, show_on_stderr
from wmma_emu.cli.usage import SeveralError
from wmma_emu.errors import (
    CompilationError,
    PtxSyntaxError,
    UnspecifiedBehaviourWarning,
    UnverifiedModelWarning,
    WmmaEmuError,
)

_MODULES = {"list": "listing", "gemm": "product", "handout": "explore", "help": "helping", "version": "helping"}
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

_OURS: dict[type[Warning], str] = {
    UnverifiedModelWarning: "results with no recording behind them",
    UnspecifiedBehaviourWarning: "results that the documentation leaves open",
}
"""The kinds of warnings, and what they are about where there are several of a kind."""


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
    with _warnings_in_short(arguments.verbose):
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


@contextmanager
def _warnings_in_short(verbose: bool) -> Iterator[None]:
    """Show the package's warnings: each once and as it comes, or in one line at the end."""
    said: dict[str, type[Warning]] = {}

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        file: TextIO | None = None, line: str | None = None,
    ) -> None:  # fmt: skip
        text = str(message)
        if not issubclass(category, tuple(_OURS)):
            before(message, category, filename, lineno, file, line)
        elif text not in said:
            said[text] = category
            if verbose:
                say_on_stderr(f"warning: {text}")

    with warnings.catch_warnings():
        before = warnings.showwarning
        for kind in _OURS:
            warnings.simplefilter("always", kind)
        warnings.showwarning = show
        try:
            yield
        finally:
            if said and not verbose:
                say_on_stderr(f"warning: {_in_short(said)}")


def _in_short(said: dict[str, type[Warning]]) -> str:
    """Fold warnings into one line: one as it is, of several how many there are of each kind."""
    if len(said) == 1:
        return next(iter(said))
    counts = {kind: sum(issubclass(x, kind) for x in said.values()) for kind in _OURS}
    parts = [f"{count} {_OURS[kind]}" for kind, count in counts.items() if count]
    return f"{' and '.join(parts)}; --verbose says which, and why"


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
