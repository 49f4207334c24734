# SPDX-License-Identifier: MIT
"""Whole arrays at once: bit patterns taken apart, and values rounded to bit patterns, on integers throughout.

The specification, one number at a time, is `wmma_emu.formats.reference`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.spec import Format, Overflow, Rounding

__all__ = ["Bits", "Int64s", "UnpackedArray", "decode", "encode", "round_pack", "unpack"]

Bits = NDArray[np.unsignedinteger[Any]]
Int64s = NDArray[np.int64]


class UnpackedArray(NamedTuple):
    """Numbers taken apart: ``(-1)**sign * significand * 2**(exponent - fraction_bits)`` where finite.

    ``significand`` is zero for zeros and specials; subnormals keep the smallest normal exponent.
    """

    sign: NDArray[np.bool_]
    exponent: Int64s
    significand: Int64s
    is_infinity: NDArray[np.bool_]
    is_nan: NDArray[np.bool_]


def unpack(bits: Bits, fmt: Format) -> UnpackedArray:
    """Take an array of floating-point patterns apart.

    Parameters
    ----------
    bits : unsigned integer array, any shape
        Patterns of the format.
    fmt : Format

    Returns
    -------
    UnpackedArray
        Five arrays of the same shape.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> u = unpack(np.array([0x3C01, 0x8001, 0x7C00], np.uint16), format_of("f16"))
    >>> u.significand, u.exponent[:2], u.is_infinity
    (array([1025,    1,    0]), array([  0, -14]), array([False, False,  True]))
    """
    word = bits.astype(np.uint64)
    sign = (word & np.uint64(fmt.sign_mask)) != 0
    field = (word >> np.uint64(fmt.ignored_low_bits)).view(np.int64)
    fraction = field & ((1 << fmt.fraction_bits) - 1)
    biased = (field >> fmt.fraction_bits) & ((1 << fmt.exponent_bits) - 1)
    all_ones = biased == (1 << fmt.exponent_bits) - 1
    none = np.zeros(word.shape, np.bool_)
    is_infinity, is_nan = none, none
    if fmt.nan == "ieee":
        is_nan = all_ones & (fraction != 0)
        is_infinity = all_ones & (fraction == 0)
    elif fmt.nan == "all_ones":
        is_nan = all_ones & (fraction == (1 << fmt.fraction_bits) - 1)
    significand = fraction | (1 << fmt.fraction_bits)
    exponent = biased - fmt.bias
    if fmt.has_zero:
        low = biased == 0
        significand = np.where(low, fraction, significand)
        exponent = np.where(low, fmt.emin, exponent)
    significand = np.where(is_nan | is_infinity, 0, significand)
    return UnpackedArray(sign, exponent, significand, is_infinity, is_nan)


def round_pack(
    sign: NDArray[np.bool_],
    significand: Int64s,
    exponent: Int64s,
    fmt: Format,
    rounding: Rounding = "RNE",
    overflow: Overflow = "ieee",
    sticky: NDArray[np.bool_] | None = None,
) -> Bits:
    """Round ``(-1)**sign * significand * 2**exponent`` to a format, once, and return the bits.

    Parameters
    ----------
    sign : bool array
    significand : int64 array
        Not negative, below 2**62.
    exponent : int64 array
        Of the significand's last bit.
    fmt : Format
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
    overflow : {"ieee", "infinity", "saturate"}
    sticky : bool array, optional
        Where true, the exact value lies strictly between this significand and the next one; the significand
        must then have at least two bits more than the format keeps.

    Returns
    -------
    unsigned integer array of ``fmt.storage``

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> f16 = format_of("f16")
    >>> [hex(b) for b in round_pack(np.array([False, True]), np.array([2049, 2051]), np.array([0, 0]), f16)]
    ['0x6800', '0xe802']
    """
    sign, significand, exponent = np.broadcast_arrays(sign, significand, exponent)
    leading = np.maximum(_bit_length(significand) - 1 + exponent, fmt.emin)
    shift = leading - fmt.fraction_bits - exponent
    right = np.clip(shift, 0, 63)
    left = np.clip(-shift, 0, 63)
    kept = (significand >> right) << left
    remainder = significand - ((significand >> right) << right)
    kept = kept + _rounds_up(kept, remainder, right, sign, rounding, sticky)
    carry = (kept >> (fmt.fraction_bits + 1)) != 0
    kept = np.where(carry, kept >> 1, kept)
    leading = leading + carry
    normal = (kept >> fmt.fraction_bits) != 0
    hidden = np.int64(1 << fmt.fraction_bits)
    # The field overflows int64 for no format: f64 at leading = 2047 is below 2**63.
    in_range = leading <= fmt.emax + 1
    field = np.where(normal, ((np.where(in_range, leading, 0) + fmt.bias) << fmt.fraction_bits) + (kept - hidden), kept)
    magnitude = field << fmt.ignored_low_bits
    too_large = ((magnitude > fmt.max_finite) | (normal & ~in_range)) & (significand != 0)
    magnitude = np.where(significand == 0, 0, magnitude)
    if too_large.any():
        magnitude = np.where(too_large, _overflow_magnitude(sign, fmt, rounding, overflow), magnitude)
    word = magnitude.view(np.uint64)
    keeps_sign = sign if fmt.nan != "all_ones" else sign & ~(too_large & (magnitude == fmt.canonical_nan))
    word = np.where(keeps_sign, word | np.uint64(fmt.sign_mask), word)
    return word.astype(fmt.storage)


def decode(bits: Bits, fmt: Format) -> NDArray[np.float64]:
    """Return the values of floating-point or integer patterns as float64, exactly.

    Every format of the table fits float64. NaN comes out as NaN without its payload.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> decode(np.array([0x7E, 0x01, 0xFF], np.uint8), format_of("e4m3"))
    array([4.480000e+02, 1.953125e-03,          nan])
    """
    if not fmt.is_float:
        word = bits.astype(np.int64) & fmt.mask
        if fmt.signed:
            word = np.where(word & fmt.sign_mask, word - (1 << fmt.bits), word)
        return word.astype(np.float64)
    if fmt.name == "f64":
        return np.ascontiguousarray(bits.astype(np.uint64)).view(np.float64)
    u = unpack(bits, fmt)
    magnitude = np.ldexp(u.significand.astype(np.float64), (u.exponent - fmt.fraction_bits).astype(np.int32))
    magnitude = np.where(u.is_infinity, np.inf, np.where(u.is_nan, np.nan, magnitude))
    return np.where(u.sign, -magnitude, magnitude)


def encode(
    values: NDArray[np.float64],
    fmt: Format,
    rounding: Rounding = "RNE",
    overflow: Overflow = "ieee",
) -> Bits:
    """Round float64 values to a floating-point format, once, and return the bits.

    ml_dtypes' own casts go through float32 and round twice; this does not. NaN becomes the canonical NaN.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(encode(np.array([1 + 2**-8 + 2**-40]), format_of("bf16"))[0])
    '0x3f81'
    """
    f64 = _F64
    u = unpack(np.ascontiguousarray(values, np.float64).view(np.uint64), f64)
    word = round_pack(u.sign, u.significand, u.exponent - f64.fraction_bits, fmt, rounding, overflow)
    if u.is_infinity.any() or u.is_nan.any():
        word = np.where(u.is_infinity, _infinity_bits(u.sign, fmt, overflow), word)
        word = np.where(u.is_nan, fmt.canonical_nan if fmt.nan != "none" else fmt.max_finite, word)
    return word.astype(fmt.storage)


_F64 = Format(
    "f64", "float", 64, True, exponent_bits=11, fraction_bits=52, bias=1023, has_infinity=True, nan="ieee"
)


def _bit_length(x: Int64s) -> Int64s:
    """Bits of a non-negative integer below 2**63, exactly: float64's exponent of each 32-bit half."""
    high = x >> 32
    _, high_length = np.frexp(high.astype(np.float64))
    _, low_length = np.frexp((x & 0xFFFF_FFFF).astype(np.float64))
    return np.where(high != 0, high_length + 32, low_length).astype(np.int64)


def _rounds_up(
    kept: Int64s,
    remainder: Int64s,
    shift: Int64s,
    sign: NDArray[np.bool_],
    rounding: Rounding,
    sticky: NDArray[np.bool_] | None,
) -> NDArray[np.bool_]:
    below = np.zeros(kept.shape, np.bool_) if sticky is None else sticky
    inexact = (remainder != 0) | below
    # A significand of at most 62 bits shifted by 63 is wholly below one half.
    half = np.where(shift > 0, np.int64(1) << np.maximum(shift - 1, 0), 0)
    match rounding:
        case "RNE":
            tie = (remainder == half) & ~below
            return inexact & ((remainder > half) | ((remainder == half) & below) | (tie & (kept % 2 == 1)))
        case "RNA":
            return inexact & (remainder >= half) & (shift > 0)
        case "RZ":
            return np.zeros(kept.shape, np.bool_)
        case "RD":
            return inexact & sign
        case "RU":
            return inexact & ~sign
        case "odd":
            return inexact & (kept % 2 == 0)
    raise ValueError(f"there is no rounding {rounding!r}; the roundings are RNE, RZ, RD, RU, RNA, odd")


def _overflow_magnitude(sign: NDArray[np.bool_], fmt: Format, rounding: Rounding, overflow: Overflow) -> Int64s:
    infinity = fmt.infinity if fmt.has_infinity else fmt.canonical_nan if fmt.nan != "none" else fmt.max_finite
    if overflow == "saturate" or (overflow == "ieee" and rounding in ("RZ", "odd")):
        return np.full(sign.shape, fmt.max_finite, np.int64)
    if overflow == "ieee" and rounding in ("RD", "RU"):
        toward_zero = sign == (rounding == "RU")
        return np.where(toward_zero, fmt.max_finite, infinity).astype(np.int64)
    return np.full(sign.shape, infinity, np.int64)


def _infinity_bits(sign: NDArray[np.bool_], fmt: Format, overflow: Overflow) -> Bits:
    if overflow == "saturate" or (not fmt.has_infinity and fmt.nan == "none"):
        magnitude = fmt.max_finite
    elif fmt.has_infinity:
        magnitude = fmt.infinity
    else:
        return np.full(sign.shape, fmt.canonical_nan, np.uint64)
    return np.where(sign, np.uint64(magnitude | fmt.sign_mask), np.uint64(magnitude))
