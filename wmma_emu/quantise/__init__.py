# SPDX-License-Identifier: MIT
"""Conversion to block-scaled formats and to FP8 with float32 scales, and back; the order of scale factors."""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # not imported from typing, which is slow to import
if TYPE_CHECKING:
    from wmma_emu.quantise.block_scaled import BlockScaled, dequantise, dequantize
    from wmma_emu.quantise.blocked import blocked_offset, from_blocked, to_blocked
    from wmma_emu.quantise.delayed import DelayedScale
    from wmma_emu.quantise.fp8 import FloatScaled, scale_to_fp8
    from wmma_emu.quantise.fp8_rules import FP8_RULES
    from wmma_emu.quantise.quantiser import quantise, quantize
    from wmma_emu.quantise.spec import BlockFormat, ScaleRule
    from wmma_emu.quantise.table import BLOCK_FORMATS, SCALE_RULES, block_format_of

__all__ = [
    "BLOCK_FORMATS",
    "FP8_RULES",
    "SCALE_RULES",
    "BlockFormat",
    "BlockScaled",
    "DelayedScale",
    "FloatScaled",
    "ScaleRule",
    "block_format_of",
    "blocked_offset",
    "dequantise",
    "dequantize",
    "from_blocked",
    "quantise",
    "quantize",
    "scale_to_fp8",
    "to_blocked",
]

_HOMES = {
    "block_scaled": ("BlockScaled", "dequantise", "dequantize"),
    "blocked": ("blocked_offset", "from_blocked", "to_blocked"),
    "delayed": ("DelayedScale",),
    "fp8": ("FloatScaled", "scale_to_fp8"),
    "fp8_rules": ("FP8_RULES",),
    "quantiser": ("quantise", "quantize"),
    "spec": ("BlockFormat", "ScaleRule"),
    "table": ("BLOCK_FORMATS", "SCALE_RULES", "block_format_of"),
}  # fmt: skip
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers see the imports above; with __getattr__ they would accept any name
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
