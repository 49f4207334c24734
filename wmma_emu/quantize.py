# SPDX-License-Identifier: MIT
"""The names of `wmma_emu.quantise` in American spelling, with `quantize` and `dequantize`.

>>> import numpy as np, wmma_emu as we
>>> we.quantize.quantize(np.ones((2, 32), np.float32), "mxfp8_e4m3").dequantize("bf16")[0, 0]
1
"""

from wmma_emu.quantise import *  # noqa: F403 - the same names: quantise's __all__
from wmma_emu.quantise import __all__ as __all__
