# SPDX-License-Identifier: MIT
"""Inputs that bring out what a chip's arithmetic does, as tests import them: see `wmma_emu.generators`."""

from wmma_emu.generators import *  # noqa: F403 - the same names
from wmma_emu.generators import __all__ as __all__
from wmma_emu.generators import __dir__ as __dir__
