# SPDX-License-Identifier: MIT
"""Exact products under the name that tests import; see `wmma_emu.applications.error_analysis.exact`."""

from wmma_emu.applications.error_analysis.exact import exact_dot, exact_matmul

__all__ = ["exact_dot", "exact_matmul"]
