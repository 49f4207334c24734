# SPDX-License-Identifier: MIT
"""Exact products, as tests import them: see `wmma_emu.applications.error_analysis.exact`."""

from wmma_emu.applications.error_analysis.exact import exact_dot, exact_matmul

__all__ = ["exact_dot", "exact_matmul"]
