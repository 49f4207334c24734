# SPDX-License-Identifier: MIT
"""Whole matrices: tiling, padding, the order of k, the final rounding."""

from wmma_emu.gemm.gemm import gemm
from wmma_emu.gemm.operands import bind

__all__ = ["bind", "gemm"]
