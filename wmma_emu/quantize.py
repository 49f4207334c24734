# SPDX-License-Identifier: MIT
"""`wmma_emu.quantise`, as it is spelt in America: the same names, and `quantize` and `dequantize` beside them.

>>> import numpy as np, wmma_emu as we
>>> we.quantize.quantize(np.ones((2, 32), np.float32), "mxfp8_e4m3").dequantize("bf16")[0, 0]
1
"""

from wmma_emu import quantise as _quantise
from wmma_emu.quantise import *  # noqa: F403

__all__ = ["dequantize", "quantize"]
__all__ += _quantise.__all__

quantize, dequantize = _quantise.quantise, _quantise.dequantise
