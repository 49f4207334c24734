# SPDX-License-Identifier: MIT
"""Inputs that bring out what a chip's arithmetic does, as tests import them: see `wmma_emu.families`."""

from wmma_emu.families import (
    FAMILIES,
    VERSION,
    Family,
    Operands,
    Sample,
    Scales,
    draw,
    draw_scales,
    families_of,
    matrices,
)

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
