# SPDX-License-Identifier: MIT
"""The input generators under the name that tests import; see `wmma_emu.generators`."""

from wmma_emu.generators import *  # noqa: F403 - the same names
from wmma_emu.generators import __all__ as __all__
from wmma_emu.generators import __dir__ as __dir__
