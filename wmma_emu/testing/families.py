# SPDX-License-Identifier: MIT
"""Inputs that bring out what a chip's arithmetic does, as tests import them: see `wmma_emu.families`."""

from wmma_emu.families import *  # noqa: F403 - the same names
from wmma_emu.families import __all__ as __all__
from wmma_emu.families import __dir__ as __dir__
