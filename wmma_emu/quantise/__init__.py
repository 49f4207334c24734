# SPDX-License-Identifier: MIT
"""Arrays to block-scaled formats and back: MXFP8, MXFP6, MXFP4, MXINT8, NVFP4, and the order of their scale factors."""

from wmma_emu.quantise.block_scaled import BlockScaled, dequantise
from wmma_emu.quantise.blocked import blocked_offset, from_blocked, to_blocked
from wmma_emu.quantise.quantiser import quantise
from wmma_emu.quantise.spec import BlockFormat, ScaleRule
from wmma_emu.quantise.table import BLOCK_FORMATS, SCALE_RULES, block_format_of

__all__ = [
    "BLOCK_FORMATS",
    "SCALE_RULES",
    "BlockFormat",
    "BlockScaled",
    "ScaleRule",
    "block_format_of",
    "blocked_offset",
    "dequantise",
    "from_blocked",
    "quantise",
    "to_blocked",
]


def __dir__() -> list[str]:
    return sorted(__all__)
