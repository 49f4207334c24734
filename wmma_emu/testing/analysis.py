# SPDX-License-Identifier: MIT
"""The analysis of rounding errors under the name that tests import; see `wmma_emu.applications.error_analysis`."""

from wmma_emu.applications.error_analysis import *  # noqa: F403 - the same names
from wmma_emu.applications.error_analysis import __all__ as __all__
