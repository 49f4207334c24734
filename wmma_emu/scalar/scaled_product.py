# SPDX-License-Identifier: MIT
"""A product of two f32 and a power of two, rounded once: FMUL.M2, .M4, .M8, .D2, .D4 and .D8 of the chip."""

import numpy as np

from wmma_emu.scalar.rounded_single import Bits, flush, mul

POWERS = {
    0x4000_0000: "m2", 0x4080_0000: "m4", 0x4100_0000: "m8", 0x3F00_0000: "d2", 0x3E80_0000: "d4", 0x3E00_0000: "d8",
}  # fmt: skip
"""The factors of a product before rounding, as f32 patterns, and the suffix of the instruction."""

_MAGNITUDE, _ONE = np.uint32(0x7FFF_FFFF), np.uint32(0x3F80_0000)


def scaled_mul(a: Bits, b: Bits, power: int, ftz: bool = False) -> Bits:
    """Compute ``a * b * power`` and round once; the power is a pattern of `POWERS`.

    Examples
    --------
    2**127 * 2 does not fit in f32, but half of it does:

    >>> large, two = np.array([0x7F000000], np.uint32), np.array([0x40000000], np.uint32)
    >>> hex(scaled_mul(large, two, 0x3F000000)[0])
    '0x7f000000'
    """
    if ftz:
        a, b = flush(a), flush(b)
    # The power scales the smaller operand up or the larger one down: if that is not exact, the product is infinite
    # or zero anyway.
    is_larger = a & _MAGNITUDE > b & _MAGNITUDE
    small, large = np.where(is_larger, b, a), np.where(is_larger, a, b)
    factor = np.uint32(power)
    if factor > _ONE:
        small = mul(small, np.full_like(small, factor))
    else:
        large = mul(large, np.full_like(large, factor))
    return mul(small, large, "RNE", ftz)
