# SPDX-License-Identifier: MIT
"""Conversion to and from block-scaled formats: MXFP8, MXFP6, MXFP4, MXINT8, NVFP4; the order of scale factors."""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # not imported from typing, which is slow to import
if TYPE_CHECKING:
    from wmma_emu.quantise.block_scaled import BlockScaled, dequantise, dequantize
    from wmma_emu.quantise.blocked import blocked_offset, from_blocked, to_blocked
    from wmma_emu.quantise.quantiser import quantise, quantize
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
    "dequantize",
    "from_blocked",
    "quantise",
    "quantize",
    "to_blocked",
]

_HOMES = {
    "block_scaled": ("BlockScaled", "dequantise", "dequantize"),
    "blocked": ("blocked_offset", "from_blocked", "to_blocked"),
    "quantiser": ("quantise", "quantize"),
    "spec": ("BlockFormat", "ScaleRule"),
    "table": ("BLOCK_FORMATS", "SCALE_RULES", "block_format_of"),
}  # fmt: skip
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers see the imports above; with __getattr__ they would accept any name
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
