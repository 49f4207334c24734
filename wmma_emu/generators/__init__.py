# SPDX-License-Identifier: MIT
"""Input generators: seeded inputs, for any instruction, that expose how a chip's arithmetic rounds."""

from wmma_emu.generators.block_scales import Scales
from wmma_emu.generators.operands import VERSION, Operands, draw, draw_scales, generators_of
from wmma_emu.generators.samples import Sample, matrices
from wmma_emu.generators.table import GENERATORS, InputGenerator

__all__ = [
    "GENERATORS",
    "VERSION",
    "InputGenerator",
    "Operands",
    "Sample",
    "Scales",
    "draw",
    "draw_scales",
    "generators_of",
    "matrices",
]


def __dir__() -> list[str]:
    return sorted(__all__)
