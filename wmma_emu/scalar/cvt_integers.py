# SPDX-License-Identifier: MIT
"""Conversions to and from integers of up to 64 bits, by sign and magnitude, so that intermediates do not overflow."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format, Overflow, Rounding, round_pack, unpack
from wmma_emu.formats.codec import UnpackedArray, with_specials
from wmma_emu.formats.rounding import Bits, rounds_up

_Magnitude = NDArray[np.uint64]
_Signs = NDArray[np.bool_]

_LARGEST = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def integer_from_integer(bits: Bits, source: Format, target: Format, *, saturate: bool) -> Bits:
    """Keep the low bits of an integer, extend it according to its sign, or clamp it.

    Examples
    --------
    >>> from wmma_emu.scalar.cvt_table import CVT_TYPES
    >>> u64, s8 = CVT_TYPES["u64"].element, CVT_TYPES["s8"].element
    >>> word = np.array([0xFFFF_FFFF_FFFF_FF80], np.uint64)
    >>> integer_from_integer(word, u64, s8, saturate=False), integer_from_integer(word, u64, s8, saturate=True)
    (array([128], dtype=uint8), array([127], dtype=uint8))
    """
    sign, magnitude = _split(bits, source)
    return _join(sign, _clamp(sign, magnitude, target) if saturate else magnitude, target)


def integer_from_float(bits: Bits, source: Format, target: Format, rounding: Rounding) -> Bits:
    """Round a float to an integer and clamp it; NaN becomes 0, or only the top bit is set.

    NaN sets the top bit if the source is f64 or the target has 64 bits (PTX ISA 9.0, cvt).

    Examples
    --------
    >>> from wmma_emu.scalar.cvt_table import CVT_TYPES
    >>> f16, u64 = CVT_TYPES["f16"].element, CVT_TYPES["u64"].element
    >>> [hex(x) for x in integer_from_float(np.array([0x4100, 0xBC00, 0x7E00], np.uint16), f16, u64, "RNE")]
    ['0x2', '0x0', '0x8000000000000000']
    """
    u = unpack(bits, source)
    exponent = u.exponent - source.fraction_bits
    far = u.is_infinity | ((u.exponent >= 64) & (u.significand != 0))
    magnitude = _whole(u, source, rounding).astype(np.uint64) << np.clip(exponent, 0, 63).astype(np.uint64)
    magnitude = np.where(far, _LARGEST, magnitude)
    result = _join(u.sign, _clamp(u.sign, magnitude, target), target)
    nan = 1 << (target.bits - 1) if source.name == "f64" or target.bits == 64 else 0
    return np.where(u.is_nan, target.storage.type(nan), result)


def float_from_integer(
    bits: Bits, source: Format, target: Format, rounding: Rounding, overflow: Overflow = "ieee"
) -> Bits:
    """Round an integer once to a float.

    Examples
    --------
    >>> from wmma_emu.scalar.cvt_table import CVT_TYPES
    >>> s64, f32 = CVT_TYPES["s64"].element, CVT_TYPES["f32"].element
    >>> [hex(x) for x in float_from_integer(np.array([2**63 + 1, 2**64 - 1], np.uint64), s64, f32, "RZ")]
    ['0xdeffffff', '0xbf800000']
    """
    sign, magnitude = _split(bits, source)
    # Rounding accepts significands below 2**62: the low four bits of larger ones are merged into a sticky bit.
    large = magnitude >= np.uint64(1 << 62)
    cut = np.where(large, magnitude >> np.uint64(4), magnitude).astype(np.int64)
    sticky = large & ((magnitude & np.uint64(15)) != 0)
    return round_pack(sign, cut, np.where(large, 4, 0), target, rounding, overflow, sticky)


def round_to_whole(bits: Bits, fmt: Format, rounding: Rounding) -> Bits:
    """Round a float to an integral value in the same format; zeros keep their sign, NaN becomes canonical.

    Examples
    --------
    >>> from wmma_emu.scalar.cvt_table import CVT_TYPES
    >>> [hex(x) for x in round_to_whole(np.array([0x3E00, 0xB800, 0x7C01], np.uint16), CVT_TYPES["f16"].element, "RNE")]
    ['0x4000', '0x8000', '0x7fff']
    """
    u = unpack(bits, fmt)
    exponent = np.maximum(u.exponent - fmt.fraction_bits, 0)
    word = round_pack(u.sign, _whole(u, fmt, rounding), exponent, fmt, "RZ")
    return with_specials(word, u.sign, u.is_infinity, u.is_nan, fmt)


def _whole(u: UnpackedArray, fmt: Format, rounding: Rounding) -> NDArray[np.int64]:
    """Round significands to integers; significands whose last bit is worth more than one are unchanged."""
    right = np.clip(fmt.fraction_bits - u.exponent, 0, 63)
    whole = u.significand >> right
    remainder = u.significand - (whole << right)
    return whole + rounds_up(whole, remainder, right, u.sign, rounding)


def _split(bits: Bits, fmt: Format) -> tuple[_Signs, _Magnitude]:
    """Split integers into sign and magnitude."""
    word = bits.astype(np.uint64) & np.uint64(fmt.mask)
    negative: _Signs = (word & np.uint64(fmt.sign_mask)) != 0
    return negative, np.where(negative, (~word + np.uint64(1)) & np.uint64(fmt.mask), word)


def _join(negative: _Signs, magnitude: _Magnitude, fmt: Format) -> Bits:
    """Join sign and magnitude; integers that do not fit lose their upper bits."""
    word = np.where(negative, ~magnitude + np.uint64(1), magnitude)
    return (word & np.uint64(fmt.mask)).astype(fmt.storage)


def _clamp(negative: _Signs, magnitude: _Magnitude, fmt: Format) -> _Magnitude:
    return np.minimum(magnitude, np.where(negative, np.uint64(-fmt.min_integer), np.uint64(fmt.max_integer)))
