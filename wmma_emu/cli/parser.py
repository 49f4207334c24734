# SPDX-License-Identifier: MIT
"""A parser whose errors are one line that says what a missing argument may be."""

import argparse
import re
from typing import NoReturn

from wmma_emu.cli.usage import UsageError

_MISSING = re.compile(r"the following arguments are required: (.+)")
_VALUELESS = re.compile(r"argument (\S+): expected one argument")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions: the caller writes them, in one line.

    Examples
    --------
    >>> parser = Parser(prog="wmma-emu layout")
    >>> _ = parser.add_argument("--operand", required=True, help="A, B, C or D; in any case")
    >>> parser.parse_args([])
    Traceback (most recent call last):
        ...
    wmma_emu.cli.usage.UsageError: layout needs --operand: A, B, C or D
    """

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong as a UsageError."""
        command = self.prog.removeprefix("wmma-emu ")
        if found := _MISSING.fullmatch(message):
            message = f"{command} needs {'; '.join(self._with_help(name) for name in found[1].split(', '))}"
        elif found := _VALUELESS.fullmatch(message):
            message = f"{command}: a value is missing after {self._with_help(found[1])}"
        raise UsageError(message)

    def _with_help(self, name: str) -> str:
        """Name an argument, shortest name first, and what it may be: its help up to the first semicolon."""
        for action in self._actions:
            names = action.option_strings or [str(action.metavar)]
            if name == "/".join(names):
                return f"{names[0]}: {(action.help or '').split('; ')[0]}"
        return name
