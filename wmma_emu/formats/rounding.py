# SPDX-License-Identifier: MIT
"""Rounding of whole arrays: exact values are rounded once to bit patterns, in integer arithmetic."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.spec import Format, Overflow, Rounding, check_modes

Bits = NDArray[np.unsignedinteger[Any]]
Int64s = NDArray[np.int64]


def round_pack(
    sign: NDArray[np.bool_],
    significand: Int64s,
    exponent: Int64s,
    fmt: Format,
    rounding: Rounding = "RNE",
    overflow: Overflow = "ieee",
    sticky: NDArray[np.bool_] | None = None,
) -> Bits:
    """Round ``(-1)**sign * significand * 2**exponent`` once to a format and return the bits.

    Parameters
    ----------
    sign : bool array
    significand : int64 array
        Non-negative numbers below 2**62.
    exponent : int64 array
        The exponent of the significand's last bit.
    fmt : Format
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
    overflow : {"ieee", "infinity", "saturate"}
    sticky : bool array, optional
        Whether the exact value is strictly between this significand and the next one. Such a significand must have at
        least two more bits than the format keeps.

    Returns
    -------
    unsigned integer array of ``fmt.storage``

    Notes
    -----
    A value that rounds to zero keeps its sign. If a format has no sign, the absolute value is rounded; if it has no
    zero, values that are too small become the smallest number; if overflow gives a NaN, it is the canonical NaN. For
    ue8m0 this is the conversion that ``cuda_fp8.h`` of CUDA 13.5 documents, and RNE rounds a midpoint up, because the
    only significand of ue8m0 is odd.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> f16 = format_of("f16")
    >>> [hex(b) for b in round_pack(np.array([False, True]), np.array([2049, 2051]), np.array([0, 0]), f16)]
    ['0x6800', '0xe802']
    """
    fmt.require_float()
    check_modes(rounding, overflow)
    sign, significand, exponent = np.broadcast_arrays(sign, significand, exponent)
    if not fmt.signed:
        sign = np.zeros(sign.shape, np.bool_)
    leading = np.maximum(bit_length(significand) - 1 + exponent, fmt.emin)
    shift = leading - fmt.fraction_bits - exponent
    right = np.clip(shift, 0, 63)
    left = np.clip(-shift, 0, 63)
    whole = significand >> right
    kept = whole << left
    if rounding != "RZ":
        remainder = significand - (whole << right)
        kept = kept + rounds_up(kept, remainder, right, sign, rounding, sticky)
    carry = kept >> (fmt.fraction_bits + 1)
    kept = kept >> carry
    leading = leading + carry
    magnitude = _assemble(kept, leading, fmt)
    too_large = magnitude > fmt.max_finite
    if too_large.any():
        magnitude = np.where(too_large, _overflow_magnitude(sign, fmt, rounding, overflow), magnitude)
        if fmt.nan == "all_ones":
            sign = sign & (magnitude != fmt.canonical_nan)
    word = magnitude.view(np.uint64)
    if fmt.signed:
        word = word | (sign.astype(np.uint64) << np.uint64(fmt.sign_mask.bit_length() - 1))
    return word.astype(fmt.storage)


def rounds_up(
    kept: Int64s,
    remainder: Int64s,
    shift: Int64s,
    sign: NDArray[np.bool_],
    rounding: Rounding,
    sticky: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return which magnitudes, truncated to ``kept`` with ``shift`` bits ``remainder`` dropped, are rounded up by one.

    Examples
    --------
    >>> kept, remainder, plus = np.array([2, 3, 2]), np.array([4, 4, 5]), np.zeros(3, bool)
    >>> rounds_up(kept, remainder, np.full(3, 3), plus, "RNE")
    array([False,  True,  True])
    """
    inexact = remainder != 0
    if sticky is not None:
        inexact = inexact | sticky
    odd: NDArray[np.bool_] = (kept & 1).astype(np.bool_)
    directed = {"RZ": np.False_, "RD": sign, "RU": ~sign, "odd": ~odd}
    if rounding in directed:
        always: NDArray[np.bool_] = inexact & directed[rounding]
        return always
    # With a shift of 0 nothing is lost and `half` exceeds the remainder; a 62-bit significand shifted by 63 is below
    # half as a whole.
    half = np.int64(1) << np.maximum(shift - 1, 0)
    tie_goes_up = odd if sticky is None else odd | sticky
    if rounding == "RNA":
        tie_goes_up = np.ones(kept.shape, np.bool_)
    up: NDArray[np.bool_] = (remainder > half) | ((remainder == half) & tie_goes_up)
    return up


def bit_length(x: Int64s) -> Int64s:
    """Count the bits of non-negative integers below 2**63, exactly.

    Examples
    --------
    >>> bit_length(np.array([0, 1, 255, 256, 2**62]))
    array([ 0,  1,  8,  9, 63])
    """
    # With the bit after the leading one cleared, no rounding to float64 can carry into the next exponent.
    exponent = (x & ~(x >> 1)).astype(np.float64).view(np.int64) >> 52
    length: Int64s = np.maximum(exponent - 1022, 0)
    return length


def _assemble(kept: Int64s, leading: Int64s, fmt: Format) -> Int64s:
    """Return the exponent and fraction fields of a rounded significand; above ``max_finite`` if it is too large."""
    # The leading bit of a normal significand adds one to the exponent field; a subnormal has none to add.
    leading = np.where(kept == 0, fmt.emin, np.minimum(leading, fmt.emax + 1))
    field = ((leading + (fmt.bias - 1)) << fmt.fraction_bits) + kept
    if not fmt.has_zero:
        field = np.maximum(field, 0)
    return field << fmt.ignored_low_bits


def _overflow_magnitude(sign: NDArray[np.bool_], fmt: Format, rounding: Rounding, overflow: Overflow) -> Int64s:
    infinity = fmt.max_finite if fmt.nan == "none" else fmt.canonical_nan
    if fmt.has_infinity:
        infinity = fmt.infinity
    if overflow == "saturate" or (overflow == "ieee" and rounding in ("RZ", "odd")):
        return np.full(sign.shape, fmt.max_finite, np.int64)
    if overflow == "ieee" and rounding in ("RD", "RU"):
        toward_zero = sign == (rounding == "RU")
        return np.where(toward_zero, fmt.max_finite, infinity).astype(np.int64)
    return np.full(sign.shape, infinity, np.int64)
