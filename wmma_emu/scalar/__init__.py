# SPDX-License-Identifier: MIT
"""What one lane's arithmetic gives: correctly rounded fma, sums, products and conversions, on bits."""

from wmma_emu.scalar.conversion import convert
from wmma_emu.scalar.environment import require_ieee_subnormals, require_round_to_nearest
from wmma_emu.scalar.fused import add, fma, mul

__all__ = ["add", "convert", "fma", "mul", "require_ieee_subnormals", "require_round_to_nearest"]
