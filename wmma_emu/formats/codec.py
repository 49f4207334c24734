# SPDX-License-Identifier: MIT
"""Decoding and encoding of whole arrays, in integer arithmetic: bit patterns to fields, values to bit patterns.

The specification, which handles one number at a time, is `wmma_emu.formats.reference`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.formats.arrays import is_masked, is_numpy
from wmma_emu.formats.memory_limit import require_memory
from wmma_emu.formats.rounding import Bits, Int64s, round_pack
from wmma_emu.formats.spec import Format, Overflow, Rounding
from wmma_emu.formats.table import format_of

__all__ = ["Bits", "Int64s", "UnpackedArray", "decode", "encode", "round_pack", "unpack", "with_specials"]

_WIDE = 8
"""The size in bytes of each integer that an element is decoded into."""

_NUMPY_FLOATS = {np.float64: format_of("f64"), np.float32: format_of("f32"), np.float16: format_of("f16")}


class UnpackedArray(NamedTuple):
    """Decoded numbers: ``(-1)**sign * significand * 2**(exponent - fraction_bits)`` where finite.

    ``significand`` is zero for zeros and specials; subnormals keep the smallest normal exponent.
    """

    sign: NDArray[np.bool_]
    exponent: Int64s
    significand: Int64s
    is_infinity: NDArray[np.bool_]
    is_nan: NDArray[np.bool_]


def unpack(bits: Bits, fmt: Format) -> UnpackedArray:
    """Decode an array of floating-point patterns into sign, exponent and significand.

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
    fmt.require_float()
    _require_patterns(bits, fmt)
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


def decode(bits: Bits, fmt: Format | str) -> NDArray[np.float64]:
    """Return the values of floating-point or integer patterns as float64, exactly.

    Every format of the table fits in float64. NaN becomes a NaN without its payload.

    Examples
    --------
    >>> decode(np.array([0x7E, 0x01, 0xFF], np.uint8), "e4m3")
    array([4.480000e+02, 1.953125e-03,          nan])
    """
    fmt = format_of(fmt)
    _require_patterns(bits, fmt)
    if not fmt.is_float:
        word = bits.astype(np.int64) & fmt.mask
        if fmt.signed:
            word = np.where(word & fmt.sign_mask, word - (1 << fmt.bits), word)
        return word.astype(np.float64)
    if fmt.name == "f64":
        return bits.astype(np.uint64).view(np.float64)
    u = unpack(bits, fmt)
    magnitude = np.ldexp(u.significand.astype(np.float64), (u.exponent - fmt.fraction_bits).astype(np.int32))
    magnitude = np.where(u.is_infinity, np.inf, np.where(u.is_nan, np.nan, magnitude))
    return np.where(u.sign, -magnitude, magnitude)


def _require_patterns(bits: Any, fmt: Format) -> None:
    """Reject arrays that are not unsigned: a float or a signed integer would be read as a different number."""
    dtype = getattr(bits, "dtype", None)
    if not is_numpy(bits) or dtype is None or dtype.kind != "u":
        given = type(bits).__name__ if dtype is None else f"an array of {shorten(dtype, str)}"
        raise ArgumentError(
            f"{fmt} patterns are unsigned integers of NumPy, such as {fmt.storage}, not {given}; "
            "wmma_emu.formats.dtypes.to_bits converts other arrays"
        )
    require_memory(bits.shape, _WIDE, "an array of patterns")


def _as_floats(values: ArrayLike) -> NDArray[Any]:
    try:
        given = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"the values are not an array: {shorten(error, str)}") from None
    if is_masked(values):
        raise ArgumentError("a masked array has elements without a value; pass values.filled(...)")
    require_memory(given.shape, _WIDE, "an array of values")
    return given


def encode(
    values: ArrayLike,
    fmt: Format | str,
    rounding: Rounding = "RNE",
    overflow: Overflow = "ieee",
) -> Bits:
    """Round float64 values once to a floating-point format and return the bits.

    The casts of ml_dtypes go through float32 and round twice; this function does not. NaN becomes the canonical NaN, or
    the largest positive number if the format has no NaN.

    Parameters
    ----------
    values : array_like of float64, float32 or float16
        Other dtypes, such as integers, raise: converting them to float64 might already round.
    fmt : Format or str
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
    overflow : {"ieee", "infinity", "saturate"}
        ``"saturate"`` is ``.satfinite``: infinities also become the largest finite number of their sign.

    Raises
    ------
    FragmentMismatchError
        If the values are not NumPy floating-point numbers.

    Examples
    --------
    >>> hex(encode(np.array([1 + 2**-8 + 2**-40]), "bf16")[0])
    '0x3f81'
    """
    fmt = format_of(fmt)
    given = _as_floats(values)
    source = _NUMPY_FLOATS.get(given.dtype.type)
    if source is None:
        raise ArgumentError(
            f"encode takes float64, float32 or float16 values, not {shorten(given.dtype, str)}; "
            "pass values.astype(numpy.float64) if that is exact, or use wmma_emu.scalar.convert on bits"
        )
    # Work on patterns, not through float64: the processor may be set to treat subnormal float32 numbers as zero.
    native = given.astype(given.dtype.newbyteorder("="), copy=False)
    u = unpack(native.view(source.storage), source)
    word = round_pack(u.sign, u.significand, u.exponent - source.fraction_bits, fmt, rounding, overflow)
    return with_specials(word, u.sign, u.is_infinity, u.is_nan, fmt, overflow)


def with_specials(
    word: Bits,
    sign: NDArray[np.bool_],
    is_infinity: NDArray[np.bool_],
    is_nan: NDArray[np.bool_],
    fmt: Format,
    overflow: Overflow = "ieee",
) -> Bits:
    """Replace finite patterns by infinities and NaNs; a format without them uses its largest number.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> yes, no = np.array([True, False]), np.array([False, True])
    >>> with_specials(np.zeros(2, np.uint8), yes, yes, no, format_of("e5m2"))
    array([252, 127], dtype=uint8)
    """
    if is_infinity.any():
        word = np.where(is_infinity, _infinity_bits(sign, fmt, overflow), word)
    if is_nan.any():
        word = np.where(is_nan, np.uint64(fmt.canonical_nan if fmt.nan != "none" else fmt.max_finite), word)
    return word.astype(fmt.storage, copy=False)


def _infinity_bits(sign: NDArray[np.bool_], fmt: Format, overflow: Overflow) -> Bits:
    if overflow == "saturate" or (not fmt.has_infinity and fmt.nan == "none"):
        magnitude = fmt.max_finite
    elif fmt.has_infinity:
        magnitude = fmt.infinity
    else:
        return np.full(sign.shape, fmt.canonical_nan, np.uint64)
    return np.where(sign, np.uint64(magnitude | fmt.sign_mask), np.uint64(magnitude))
