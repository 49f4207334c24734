# SPDX-License-Identifier: MIT
"""Minimum, maximum, absolute value, negation, copied signs and classification, on bits of any binary format."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format

Bits = NDArray[np.unsignedinteger[Any]]

SIGN_TESTS = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
"""The tests of `testp`."""


def is_nan(bits: Bits, fmt: Format) -> NDArray[np.bool_]:
    """Return which patterns are NaN."""
    unsigned = bits.dtype.type
    return bits & unsigned(fmt.sign_mask - 1) > unsigned(fmt.infinity)


def extremum(a: Bits, b: Bits, fmt: Format, *, largest: bool, propagates: bool = False, xorsign: bool = False) -> Bits:
    """Return the smaller or the larger of two numbers: -0 is below +0, and a number takes precedence over a NaN.

    With ``propagates``, a NaN takes precedence (``.NaN``). A resulting NaN is canonical, but in f64 it is the second
    one, made quiet. With ``xorsign`` magnitudes are compared, and the result has the exclusive or of both signs
    (``.xorsign.abs``).

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> a, b = np.array([0x80000000, 0x7FC00000], np.uint32), np.array([0, 0x3F800000], np.uint32)
    >>> [hex(x) for x in extremum(a, b, format_of("f32"), largest=False)]
    ['0x80000000', '0x3f800000']
    """
    unsigned = a.dtype.type
    sign_mask, magnitude = unsigned(fmt.sign_mask), unsigned(fmt.sign_mask - 1)
    sign = (a ^ b) & sign_mask
    if xorsign:
        a, b = a & magnitude, b & magnitude
        result = np.maximum(a, b) if largest else np.minimum(a, b)
    else:
        result = _from_order((np.maximum if largest else np.minimum)(_order(a), _order(b)))
    a_nan, b_nan = is_nan(a, fmt), is_nan(b, fmt)
    if a_nan.any() or b_nan.any():
        result = np.where(a_nan, b, np.where(b_nan, a, result))
    if xorsign:
        result = result | sign
    if a_nan.any() or b_nan.any():
        lost = (a_nan | b_nan) if propagates else (a_nan & b_nan)
        nan = _quiet(b, fmt) if fmt.name == "f64" else unsigned(fmt.canonical_nan)
        result = np.where(lost, nan, result)
    return result


def _order(bits: Bits) -> NDArray[Any]:
    """Return signed integers in the order of the numbers; the function is its own inverse."""
    word = bits.view(f"i{bits.dtype.itemsize}")
    width = bits.dtype.itemsize * 8
    result: Bits = word ^ (word >> (width - 1) & ((1 << (width - 1)) - 1))
    return result


def _from_order(word: NDArray[Any]) -> Bits:
    return _order(word.view(f"u{word.dtype.itemsize}")).view(f"u{word.dtype.itemsize}")


def absolute(bits: Bits, fmt: Format) -> Bits:
    """Clear the sign; a NaN becomes canonical, but in f64 it is made quiet and keeps its sign.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(absolute(np.array([0xBC00], np.uint16), format_of("f16"))[0])
    '0x3c00'
    """
    return _beside_nan(bits & bits.dtype.type(fmt.sign_mask - 1), bits, fmt)


def negate(bits: Bits, fmt: Format) -> Bits:
    """Invert the sign; a NaN becomes canonical, but in f64 it is made quiet and keeps its sign.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(negate(np.array([0xBC00], np.uint16), format_of("f16"))[0])
    '0x3c00'
    """
    return _beside_nan(bits ^ bits.dtype.type(fmt.sign_mask), bits, fmt)


def _beside_nan(result: Bits, bits: Bits, fmt: Format) -> Bits:
    nan = is_nan(bits, fmt)
    if not nan.any():
        return result
    return np.where(nan, _quiet(bits, fmt) if fmt.name == "f64" else bits.dtype.type(fmt.canonical_nan), result)


def _quiet(bits: Bits, fmt: Format) -> Bits:
    return bits | bits.dtype.type(1 << (fmt.fraction_bits - 1))


def copysign(a: Bits, b: Bits, fmt: Format) -> Bits:
    """Return b with the sign of a.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> minus_zero, one = np.array([0x80000000], np.uint32), np.array([0x3F800000], np.uint32)
    >>> hex(copysign(minus_zero, one, format_of("f32"))[0])
    '0xbf800000'
    """
    unsigned = a.dtype.type
    return (a & unsigned(fmt.sign_mask)) | (b & unsigned(fmt.sign_mask - 1))


def testp(bits: Bits, fmt: Format, test: str) -> NDArray[np.bool_]:
    """Test the kind of number of each pattern; zero is normal (NVIDIA H200, 2026-11-21).

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> testp(np.array([1, 0, 0x7F800000], np.uint32), format_of("f32"), "subnormal")
    array([ True, False, False])
    """
    unsigned = bits.dtype.type
    size = bits & unsigned(fmt.sign_mask - 1)
    infinity, smallest = unsigned(fmt.infinity), unsigned(1 << fmt.fraction_bits)
    found: NDArray[np.bool_]
    match test:
        case "finite":
            found = size < infinity
        case "infinite":
            found = size == infinity
        case "number":
            found = size <= infinity
        case "notanumber":
            found = size > infinity
        case "normal":
            found = ((size >= smallest) & (size < infinity)) | (size == 0)
        case _:
            found = (size > 0) & (size < smallest)
    return found


testp.__test__ = False  # type: ignore[attr-defined]
