# SPDX-License-Identifier: MIT
"""The command line, ``wmma-emu`` or ``python -m wmma_emu``: formats results, computes nothing."""

from wmma_emu.cli.app import main

__all__ = ["main"]
