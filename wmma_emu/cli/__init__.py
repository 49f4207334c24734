# SPDX-License-Identifier: MIT
"""The command line, ``wmma-emu`` or ``python -m wmma_emu``: formats results, computes nothing."""

import sys
from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C (SIGINT) ends."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, the program's name left out; those of the process by default.

    Returns
    -------
    int
        0; 2 after an error, which is one line on standard error, with the place below it where a text of PTX or
        CUDA C++ is wrong; 130 after an interrupt; 141 when the reader of standard output has gone; 1 where
        ``crosscheck`` finds bits that differ, and where ``ptx run`` finds an error.
    """
    try:
        from wmma_emu.cli.app import run  # here, so that an interrupt while it is imported is quiet too

        return run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return _INTERRUPTED
