# SPDX-License-Identifier: MIT
"""Whole matrices: tiling, padding, the order of k, the final rounding."""

from wmma_emu.gemm.comparison import Comparison, compare_chips
from wmma_emu.gemm.element import explain_element
from wmma_emu.gemm.gemm import gemm
from wmma_emu.gemm.operands import bind

__all__ = ["Comparison", "bind", "compare_chips", "explain_element", "gemm"]
