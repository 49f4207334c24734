# SPDX-License-Identifier: MIT
"""`wmma_emu.quantise`, as it is spelt in America: the same names, and `quantize` and `dequantize` beside them.

>>> import numpy as np, wmma_emu as we
>>> we.quantize.quantize(np.ones((2, 32), np.float32), "mxfp8_e4m3").dequantize("bf16")[0, 0]
1
"""

from wmma_emu.quantise import (
    BLOCK_FORMATS,
    SCALE_RULES,
    BlockFormat,
    BlockScaled,
    ScaleRule,
    block_format_of,
    blocked_offset,
    dequantise,
    from_blocked,
    quantise,
    to_blocked,
)

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

quantize, dequantize = quantise, dequantise
