# SPDX-License-Identifier: MIT
"""The names of `wmma_emu.quantise` in American spelling, with `quantize` and `dequantize`.

>>> import numpy as np, wmma_emu as we
>>> we.quantize.quantize(np.ones((2, 32), np.float32), "mxfp8_e4m3").dequantize("bf16")[0, 0]
1
"""

import sys
from types import ModuleType

from wmma_emu.first_use import calling_fails
from wmma_emu.quantise import *  # noqa: F403 - the same names: quantise's __all__
from wmma_emu.quantise import __all__ as __all__

sys.modules[__name__].__class__ = type("Module", (ModuleType,), {"__call__": calling_fails(__name__, "quantize")})
