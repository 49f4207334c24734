# SPDX-License-Identifier: MIT
"""Install the emulated chip in Helion, and remove it."""

from collections.abc import Callable
from contextlib import ExitStack

from wmma_emu.languages.helion.configurations import DefaultConfiguration
from wmma_emu.languages.helion.devices import install_device
from wmma_emu.languages.session import Session


def install(session: Session) -> Callable[[], None]:
    """Make Helion compile for the emulated chip, and return the function that undoes it.

    Triton launches the kernels, and its plug-in runs them.
    """
    from helion._compiler.backend import Backend

    tuning = DefaultConfiguration(session, Backend)
    stack = ExitStack()
    stack.callback(install_device())
    tuning.install()
    stack.callback(tuning.uninstall)
    return stack.close
