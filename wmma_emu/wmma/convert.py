# SPDX-License-Identifier: MIT
"""`__float_to_tf32`: the rounding that a kernel may apply before a tf32 product."""

from typing import overload

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.formats.arrays import is_masked
from wmma_emu.scalar import convert


@overload
def float_to_tf32(x: np.float32) -> np.float32: ...
@overload
def float_to_tf32(x: NDArray[np.float32]) -> NDArray[np.float32]: ...
def float_to_tf32(x: NDArray[np.float32] | np.float32) -> NDArray[np.float32] | np.float32:
    """Round float32 numbers to tf32, ties away from zero, as ``cvt.rna.tf32.f32`` does.

    The product itself does not round: it ignores the low 13 bits of unconverted numbers.

    Parameters
    ----------
    x : float32 scalar or array

    Returns
    -------
    float32 scalar or array
        With the low 13 bits zero. A NaN keeps its upper bits, and becomes an infinity if all its payload is in the low
        bits: measured on an NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-21, same machine code on every chip.

    Examples
    --------
    >>> bits = np.array([0x3F800FFF, 0x3F801000, 0xBF801000], np.uint32)
    >>> [hex(word) for word in float_to_tf32(bits.view(np.float32)).view(np.uint32)]
    ['0x3f800000', '0x3f802000', '0xbf802000']
    """
    dtype = getattr(x, "dtype", None)
    if not isinstance(x, np.ndarray | np.generic) or dtype != np.float32:
        given = type(x).__name__ if dtype is None else shorten(dtype, str)
        raise ArgumentError(
            f"float_to_tf32 takes float32, as the chip's instruction does, not {given}; round to numpy.float32 first"
        )
    if is_masked(x):
        raise ArgumentError("x is a masked array; pass x.filled(value)")
    word = np.asarray(x, np.float32).view(np.uint32)
    rounded: NDArray[np.float32] = convert(word, "f32", "tf32", "RNA").view(np.float32)
    if isinstance(x, np.ndarray):
        return rounded.view(type(x))  # keeps the type of lane values
    return rounded[()]
