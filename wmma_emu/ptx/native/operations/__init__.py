# SPDX-License-Identifier: MIT
"""Rows of lane operations, which each thread computes alone: traced from the NumPy machine's functions."""

from wmma_emu.ptx.native.operations.operands import row_of

__all__ = ["row_of"]
