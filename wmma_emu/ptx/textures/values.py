# SPDX-License-Identifier: MIT
"""The values of texels: bits of channels, as registers of 32 bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import encode, format_of
from wmma_emu.ptx.textures.coordinates import Doubles
from wmma_emu.ptx.textures.texels import Texels

Words = NDArray[np.uint32]

_F32 = format_of("f32")
MISSING = np.uint32(0)
"""The word of a channel that a texture lacks: the fact "missing"."""


def divisor_of(texels: Texels) -> int:
    """Return the number by which integers that are read as fractions are divided: the fact "fractions".

    Examples
    --------
    >>> from wmma_emu.ptx.textures.texels import texels_of
    >>> [divisor_of(texels_of(np.zeros(1, x), None, False, "a texture")) for x in (np.uint8, np.int16)]
    [255, 32767]
    """
    bits = 8 * texels.element_bytes
    return (1 << (bits - (texels.kind == "i"))) - 1


def words_of(bits: NDArray[Any], texels: Texels, *, as_fractions: bool) -> Words:
    """Return what a register gets of a channel: integers extended to 32 bits, floats and fractions as f32.

    Examples
    --------
    >>> from wmma_emu.ptx.textures.texels import texels_of
    >>> texels = texels_of(np.zeros(1, np.int8), None, False, "a texture")
    >>> bits = np.array([0x80, 0x7F, 1], np.uint8)
    >>> [[hex(x) for x in words_of(bits, texels, as_fractions=y)] for y in (False, True)]
    [['0xffffff80', '0x7f', '0x1'], ['0xbf800000', '0x3f800000', '0x3c010204']]
    """
    if as_fractions:
        numbers = np.asarray(bits.view(f"{texels.kind}{texels.element_bytes}"), np.float64)
        return rounded(np.maximum(numbers / divisor_of(texels), -1.0))
    if texels.array.dtype == np.float32:
        return np.asarray(bits, np.uint32)
    if texels.kind == "f":
        return bits.view(np.float16).astype(np.float32).view(np.uint32)
    return np.asarray(bits.view(f"{texels.kind}{texels.element_bytes}").astype(f"{texels.kind}4").view(np.uint32))


def rounded(values: Doubles) -> Words:
    """Round once to the nearest f32."""
    return np.asarray(encode(values, _F32), np.uint32).reshape(values.shape)
