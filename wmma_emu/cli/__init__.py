# SPDX-License-Identifier: MIT
"""The command line, ``wmma-emu`` or ``python -m wmma_emu``: formats results, computes nothing."""

import sys
from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130
"""The exit status that shells report for a program ended by Ctrl-C (SIGINT)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments without the program's name; by default, the arguments of the process.

    Returns
    -------
    int
        0 on success; 1 if ``crosscheck`` finds bits that differ or ``ptx run`` finds an error; 2 after an error, which
        is one line on standard error, followed by the source line if PTX or CUDA C++ source is invalid; 130 after an
        interrupt; 141 if the reader of standard output has closed it.
    """
    try:
        from wmma_emu.cli.app import run  # imported late: an interrupt during the import is quiet too

        return run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return _INTERRUPTED
