# SPDX-License-Identifier: MIT
"""Run a command line to its exit status; errors are printed as one line, never as a traceback."""

import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TextIO

from wmma_emu.cli.options import UnknownCommandError, parse_arguments
from wmma_emu.cli.spelling import as_typed
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
"""The modules of commands whose module has another name."""

_COMPLETE = "__complete"
"""The hidden command that the scripts of `wmma-emu completion` call."""

_USER_ERROR = 2
_BROKEN_PIPE = 141
"""The exit status that shells report for a program ended by a closed pipe (SIGPIPE)."""

_KEYWORD = re.compile(
    r"\b(instr|arch|reference|engine|threads|lowering|model|scale_a|scale_b|a_format|b_format|contraction|schedule|schedules|asynchrony|machine|max_steps|max_bytes|checks|silence|"
    r"max_seconds)="
)
"""Keywords that the library's messages name, and that are options on the command line."""

_OURS: dict[type[Warning], str] = {
    UnverifiedModelWarning: "results that no recording confirms",
    UnspecifiedBehaviourWarning: "results that the documentation leaves open",
}
"""The kinds of warnings, each with the subject of several warnings of that kind."""


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit status: 0, 1, 2 or 141, as `wmma_emu.cli.main` describes.

    Errors in the command line, its files or their contents are raised as WmmaEmuError before anything is written.
    """
    try:
        status = _run_command(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        discard_output(sys.stdout)
        return _BROKEN_PIPE
    except (WmmaEmuError, OSError, MemoryError) as error:
        return _fail(error, argv)
    return status


def _run_command(argv: Sequence[str]) -> int:
    """Import the modules that a command needs, run it, and return its exit status, 0 if the command returns None."""
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
    """Parse the command line; a chip, an instruction or a file without a command runs the command that shows it."""
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
    """Show each of the package's warnings once when it occurs, or all in one line at the end."""
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
    """Return one line for all warnings: a single warning verbatim, several as a count of each kind."""
    if len(said) == 1:
        return next(iter(said))
    counts = {kind: sum(issubclass(x, kind) for x in said.values()) for kind in _OURS}
    parts = [f"{count} {_OURS[kind]}" for kind, count in counts.items() if count]
    return f"{' and '.join(parts)}; --verbose shows each, with the reason"


def _fail(error: Exception, argv: Sequence[str]) -> int:
    text = str(error).replace("scale_a and scale_b are missing", "--scale-a and --scale-b are missing")
    text = text.replace("pad=True", "--pad")
    text = _KEYWORD.sub(lambda found: f"--{found[1].replace('_', '-')} ", text)
    text = as_typed(text, argv)
    if isinstance(error, MemoryError) and not isinstance(error, WmmaEmuError):
        text = f"not enough memory; multiply smaller matrices ({text})" if text else "not enough memory"
    elif isinstance(error, OSError) and not isinstance(error, WmmaEmuError):
        what = error.filename if error.filename is not None else "standard output"
        text = f"{what}: {error.strerror or error}"
        if error.filename is None:
            discard_output(sys.stdout)
    if isinstance(error, PtxSyntaxError | CompilationError | SeveralError):  # these point into the source
        show_on_stderr(f"wmma-emu: error: {text}")
    else:
        say_on_stderr(f"wmma-emu: error: {text}")
    return _USER_ERROR
