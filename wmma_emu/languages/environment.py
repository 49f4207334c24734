# SPDX-License-Identifier: MIT
"""The environment variable WMMA_EMU, with which Python begins the emulation when it starts.

The wheel has a file ``wmma_emu.pth`` that calls `begin` if the variable is set; otherwise nothing is imported.
"""

import atexit
import os
import sys
from contextlib import ExitStack

from wmma_emu.errors import OptionError, WmmaEmuError
from wmma_emu.instructions import DEFAULT_ARCH
from wmma_emu.languages.switch import emulate

VARIABLE = "WMMA_EMU"

_EMULATION = ExitStack()


def begin() -> None:
    """Begin the emulation of the chip that the variable names, sm_90 for "1"; its report is written at exit.

    A chip that does not exist ends Python with a message: a program that asked for an emulated chip must not run on
    another one.
    """
    value = os.environ.get(VARIABLE, "")
    try:
        session = _EMULATION.enter_context(emulate(DEFAULT_ARCH if value == "1" else value))
    except WmmaEmuError as error:
        raise SystemExit(str(OptionError(f"{VARIABLE}={value}: {error}"))) from error

    def report() -> None:
        if session.launches or session.notes:
            print(session.report, file=sys.stderr)

    _EMULATION.callback(report)
    atexit.register(_EMULATION.close)


def end() -> None:
    """End the emulation that the variable began, if any, before another one begins."""
    _EMULATION.close()
