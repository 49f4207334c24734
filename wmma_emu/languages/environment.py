# SPDX-License-Identifier: MIT
"""The environment variable WMMA_EMU, with which Python begins the emulation when it starts.

The wheel has a file ``wmma_emu.pth`` that calls `begin` if the variable is set; otherwise nothing is imported.
"""

import atexit
import os
import sys
from contextlib import ExitStack

from wmma_emu.errors import WmmaEmuError, shorten
from wmma_emu.instructions import DEFAULT_ARCH
from wmma_emu.languages.switch import emulate

VARIABLE = "WMMA_EMU"
_TRUE = ("1", "true", "yes", "on")

_EMULATION = ExitStack()
_BEGUN: list[str] = []


def begin() -> None:
    """Begin the emulation of the chip that the variable names, sm_90 for "1" or "true"; its report is written at exit.

    Python may read a ``.pth`` file twice; the second call does nothing. A chip that does not exist ends the process
    with status 2: a program that asked for an emulated chip must not run without it.
    """
    if _BEGUN:
        return
    value = os.environ.get(VARIABLE, "")
    _BEGUN.append(value)
    try:
        session = _EMULATION.enter_context(emulate(DEFAULT_ARCH if value.casefold() in _TRUE else value))
    except WmmaEmuError as error:
        print(f"{VARIABLE}={shorten(value, str)}: {error}", file=sys.stderr, flush=True)
        os._exit(2)  # an exception here would be a fatal error of Python

    def report() -> None:
        if session.launches or session.notes:
            print(session.report, file=sys.stderr)

    _EMULATION.callback(report)
    atexit.register(_EMULATION.close)


def end() -> None:
    """End the emulation that the variable began, if any, before another emulation begins."""
    _EMULATION.pop_all().close()
