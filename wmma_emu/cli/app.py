# SPDX-License-Identifier: MIT
"""From a command line to an exit status: what goes wrong becomes a line, never a traceback."""

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TextIO

from wmma_emu.cli.options import parse_arguments
from wmma_emu.cli.terminal import Terminal, discard_output, say_on_stderr, show_on_stderr
from wmma_emu.errors import (
    CompilationError,
    PtxSyntaxError,
    UnspecifiedBehaviourWarning,
    UnverifiedModelWarning,
    WmmaEmuError,
)

__all__ = ["run"]

_MODULES = {"list": "listing", "gemm": "product"}
"""Modules that are not called as their command is."""

_USER_ERROR = 2
_BROKEN_PIPE = 141
"""What a shell reports for a program that a closed pipe (SIGPIPE) ends."""

_KEYWORD = re.compile(
    r"\b(instr|arch|reference|engine|threads|lowering|model|scale_a|scale_b|a_format|b_format|contraction|schedule|schedules|max_steps|max_bytes|checks|silence|"
    r"max_seconds)="
)
"""Keywords of the library that are options here: its messages name them."""


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit status: 0, 1, 2 or 141; `wmma_emu.cli.main` says which is which."""
    try:
        with _warnings_as_lines():
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
    try:
        arguments = parse_arguments(argv)
    except SystemExit:  # --help and --version have been written
        return 0
    command = import_module(f"wmma_emu.cli.{_MODULES.get(arguments.command, arguments.command)}")
    status: int | None = command.run(arguments, Terminal())
    return status or 0


def _fail(error: Exception) -> int:
    text = str(error).replace("scale_a and scale_b are missing", "--scale-a and --scale-b are missing")
    text = _KEYWORD.sub(lambda found: f"--{found[1].replace('_', '-')} ", text)
    if isinstance(error, MemoryError) and not isinstance(error, WmmaEmuError):
        text = f"not enough memory; multiply smaller matrices ({text})" if text else "not enough memory"
    elif isinstance(error, OSError) and not isinstance(error, WmmaEmuError):
        what = error.filename if error.filename is not None else "standard output"
        text = f"{what}: {error.strerror or error}"
        if error.filename is None:
            discard_output(sys.stdout)
    if isinstance(error, PtxSyntaxError | CompilationError):  # what they show is a place in a text
        show_on_stderr(f"wmma-emu: error: {text}")
    else:
        say_on_stderr(f"wmma-emu: error: {text}")
    return _USER_ERROR


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Show each of the package's warnings as one line, once."""
    said: set[str] = set()

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        file: TextIO | None = None, line: str | None = None,
    ) -> None:  # fmt: skip
        text = str(message)
        if not issubclass(category, (UnverifiedModelWarning, UnspecifiedBehaviourWarning)):
            before(message, category, filename, lineno, file, line)
        elif text not in said:
            said.add(text)
            say_on_stderr(f"warning: {text}")

    with warnings.catch_warnings():
        before = warnings.showwarning
        for ours in (UnverifiedModelWarning, UnspecifiedBehaviourWarning):
            warnings.simplefilter("always", ours)
        warnings.showwarning = show
        yield
