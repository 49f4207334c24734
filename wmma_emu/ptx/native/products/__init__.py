# SPDX-License-Identifier: MIT
"""Rows of matrix instructions: products of fragments, and matrices that are moved between registers and memory."""

from wmma_emu.ptx.native.products.table import row_of

__all__ = ["row_of"]
