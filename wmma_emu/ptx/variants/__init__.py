# SPDX-License-Identifier: MIT
"""Comparison of the same rows in other batches, grids and orders, down to the first instruction that differs."""

from wmma_emu.ptx.variants.first_difference import FirstDifference
from wmma_emu.ptx.variants.invariance import invariance
from wmma_emu.ptx.variants.plans import Variant
from wmma_emu.ptx.variants.report import InvarianceChange, InvarianceReport

__all__ = ["FirstDifference", "InvarianceChange", "InvarianceReport", "Variant", "invariance"]
