# SPDX-License-Identifier: MIT
"""Inputs that bring out what a chip's arithmetic does: families, each drawn from a seed for any instruction."""

from wmma_emu.families.block_scales import Scales
from wmma_emu.families.operands import VERSION, Operands, draw, draw_scales, families_of
from wmma_emu.families.samples import Sample, matrices
from wmma_emu.families.table import FAMILIES, Family

__all__ = [
    "FAMILIES",
    "VERSION",
    "Family",
    "Operands",
    "Sample",
    "Scales",
    "draw",
    "draw_scales",
    "families_of",
    "matrices",
]


def __dir__() -> list[str]:
    return sorted(__all__)
