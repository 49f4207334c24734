# SPDX-License-Identifier: MIT
"""Whole matrices: panels, padding, the order of k, the epilogue, what a library's kernels do."""

from wmma_emu.gemm.comparison import Comparison
from wmma_emu.gemm.comparison_chips import Lowering, compare_chips
from wmma_emu.gemm.comparison_statistics import Difference, DistanceBin, Statistics
from wmma_emu.gemm.element import explain_element
from wmma_emu.gemm.gemm import gemm
from wmma_emu.gemm.k_order import KOrder
from wmma_emu.gemm.operands import bind
from wmma_emu.gemm.preset_table import PRESETS, Preset, Recorded

__all__ = [
    "PRESETS",
    "Comparison",
    "Difference",
    "DistanceBin",
    "KOrder",
    "Lowering",
    "Preset",
    "Recorded",
    "Statistics",
    "bind",
    "compare_chips",
    "explain_element",
    "gemm",
]
