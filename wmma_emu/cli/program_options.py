# SPDX-License-Identifier: MIT
"""The options of ``wmma-emu run``, which end where the program begins."""

import argparse
from collections.abc import Sequence

from wmma_emu.cli.choices import CHIP, add_engine, option
from wmma_emu.cli.usage import UsageError

KERNEL_FILES = (".ptx", ".cu", ".cuh")
_FLAGS = ("-m", "-v", "--verbose", "-h", "--help")


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; sm_90 if left out")
    option(parser, "--findings", completes=("warn", "raise", "report"), metavar="F", default="warn",
        help="warn (default), raise or report; whether a finding becomes a warning, an error in the program and exit "
        "status 1, or only a line of the report")  # fmt: skip
    add_engine(parser)
    option(parser, "-m", action="store_true", help="the program is a module, as in python -m")
    option(parser, "program", completes="file", metavar="PROGRAM", nargs="*",
        help="a Python script, or with -m a module, and its arguments; wmma-emu's options come before it")  # fmt: skip


def split_program(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the words after ``run`` into the command's own options and the program with its arguments.

    Examples
    --------
    >>> split_program(["--arch", "a100", "train.py", "--arch", "gpt2"])
    (['--arch', 'a100'], ['train.py', '--arch', 'gpt2'])
    >>> split_program(["-m", "pkg.train", "-v"])
    (['-m'], ['pkg.train', '-v'])
    """
    position = 0
    while position < len(words) and words[position].startswith("-") and words[position] != "--":
        takes_value = words[position] not in _FLAGS and "=" not in words[position]
        position += 1 + takes_value
    own, rest = list(words[:position]), list(words[position:])
    return own, rest[1:] if rest[:1] == ["--"] else rest


def is_kernel_file(words: Sequence[str]) -> bool:
    """Return whether a command line names a file of kernels, and no Python program before it.

    Examples
    --------
    >>> is_kernel_file(["k.cu", "--grid", "4"]), is_kernel_file(["train.py", "k.cu"]), is_kernel_file(["-m", "train"])
    (True, False, False)
    """
    named = (x for x in words if x.casefold().endswith((".py", *KERNEL_FILES)))
    return next(named, "").casefold().endswith(KERNEL_FILES)


def require_program(arguments: argparse.Namespace) -> None:
    """Check that there is a program, and that the action for findings exists."""
    if not arguments.program:
        raise UsageError("run needs a program: a Python script, or -m and a module, and its arguments")
    if arguments.findings not in ("warn", "raise", "report"):
        raise UsageError(f"--findings {arguments.findings[:80]!r} is not one of warn, raise and report")
