# SPDX-License-Identifier: MIT
"""What a formatted store writes to texels that are narrower than its registers: the fact "formatted"."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, computed
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


def narrowed(undefined: Undefined | None, size: int) -> Undefined | None:
    """Return the undefined bits of saturated values of ``size`` bytes: all, if any bit of the register is undefined."""
    if undefined is None:
        return None
    every = np.iinfo(f"u{size}").max
    return Undefined(np.where(undefined.bits != 0, every, 0).astype(f"u{size}"), computed(undefined.origin))
