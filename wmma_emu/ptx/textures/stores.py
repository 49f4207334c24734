# SPDX-License-Identifier: MIT
"""The values that a formatted store writes to texels that are narrower than its registers: the fact "formatted"."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.textures.values import Words


def saturated(words: Words, kind: str) -> NDArray[np.unsignedinteger]:
    """Return registers as integers of a narrower kind ("u1", "i2"), the nearest one if a number does not fit.

    Examples
    --------
    >>> words = np.array([0x7F, 0x80, 0xFFFFFFFF], np.uint32)
    >>> [[hex(x) for x in saturated(words, kind)] for kind in ("u1", "i1")]
    [['0x7f', '0x80', '0xff'], ['0x7f', '0x7f', '0xff']]
    """
    limits = np.iinfo(kind)
    wide = words.view(np.int32 if kind[0] == "i" else np.uint32).astype(np.int64)
    return np.clip(wide, limits.min, limits.max).astype(kind).view(f"u{limits.bits // 8}")
