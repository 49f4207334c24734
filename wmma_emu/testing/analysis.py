# SPDX-License-Identifier: MIT
"""What rounding does to a product, as tests import it: see `wmma_emu.applications.error_analysis`."""

from wmma_emu.applications.error_analysis import *  # noqa: F403 - the same names
from wmma_emu.applications.error_analysis import __all__ as __all__
