# SPDX-License-Identifier: MIT
"""Stochastic rounding with given random numbers of eight bits, one for each element."""

import numpy as np

from wmma_emu.formats import Format, format_of
from wmma_emu.formats.rounding import Bits
from wmma_emu.scalar import convert, fma

_F32 = format_of("f32")
_SIGN, _MAGNITUDE, _INFINITY = np.uint32(0x8000_0000), np.uint32(0x7FFF_FFFF), np.uint32(0x7F80_0000)
_RANDOM_BITS = 8


def round_stochastically(x: Bits, random_bits: Bits, fmt: Format) -> Bits:
    """Round patterns of float32 to a narrow format, up or down as random numbers decide.

    A magnitude gets ``random / 256`` of the distance to its upper neighbour, in one float32 multiply-add, and is
    truncated. Numbers that are too large become the largest of their sign; NaN becomes the largest positive number, or
    NaN.

    Notes
    -----
    For e2m1 this is `stochastic_round_fp4_e2m1` of Transformer Engine (``common/util/ptx.cuh``), which takes the same
    number of random bits as `cvt.rs.satfinite.e2m1x4.f32`. How that instruction distributes its 32 bits to its four
    elements is not in the text of the PTX manual, and is not modelled.

    Examples
    --------
    >>> x = np.full(4, 1.125, np.float32).view(np.uint32)                   # a quarter of the way from 1 to 1.5
    >>> round_stochastically(x, np.array([0, 191, 192, 255], np.uint8), format_of("e2m1")).tolist()
    [2, 2, 3, 3]
    """
    magnitude = x & _MAGNITUDE
    exponent = np.maximum((magnitude >> np.uint32(23)).astype(np.int64), fmt.emin + _F32.bias)
    step = ((exponent - fmt.fraction_bits - _RANDOM_BITS) << 23).astype(np.uint32)
    is_special = magnitude >= _INFINITY
    share = convert(random_bits.astype(np.uint8), "u8", _F32)
    moved = fma(share, np.where(is_special, 0, step).astype(np.uint32), magnitude, _F32)
    sign = np.where(magnitude > _INFINITY, 0, x & _SIGN).astype(np.uint32)
    return convert(np.where(is_special, magnitude, moved).astype(np.uint32) | sign, _F32, fmt, "RZ", "saturate")
