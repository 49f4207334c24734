# SPDX-License-Identifier: MIT
"""A float32 number as a sum of narrower numbers, whose products a tensor core computes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.formats import Format, Rounding, format_of, round_pack, unpack
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.codec import Bits, with_specials
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.formats.spec import check_modes

_F32 = format_of("f32")


@takes_tensors
def split_tf32(x: ArrayLike, terms: int = 3, *, rounding: Rounding = "RNE") -> tuple[NDArray[np.float32], ...]:
    """Split float32 numbers into tf32 terms: the rounded number, then the rounded remainder, and so on.

    Two terms are sufficient for 3xTF32: ``big_a big_b + big_a small_b + small_a big_b``, the small products first.
    Rounded to nearest, they differ from the number by at most one unit in the last place of float32, by two if the
    first term would overflow; three terms are exact.

    Parameters
    ----------
    x : float32 array, or anything that NumPy converts to one
    terms : int
        The number of terms, at least 1.
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
        The rounding of each term.

    Returns
    -------
    tuple of float32 arrays
        A tuple of ``terms`` arrays of the shape of x, largest first: tf32 numbers, with their low 13 bits zero, as
        `wmma_emu.gemm` takes them for a tf32 instruction.

    Raises
    ------
    FragmentMismatchError
        If the dtype is not float32.
    UnsupportedInstructionError
        If the number of terms is not an integer of at least 1.

    Notes
    -----
    Every remainder is exact: a float32 minus its rounding is a float32, too. Bits below the last place of tf32's
    subnormals, 2**-136, are lost: for numbers below 2**-113, up to 2**-137, or up to 2**-136 if terms are not rounded
    to nearest. The first term of a finite number that would round to infinity is the largest tf32 number, so that the
    sum is preserved. For infinities and NaN (0x7FFFE000), the first term is the number and the others are +0: products
    of split matrices then have NaN, infinity times zero, where products of the matrices have infinities. -0 gives -0
    and +0.

    Examples
    --------
    >>> [part.item() for part in split_tf32(np.array([1 + 2**-12 + 2**-23], np.float32))]
    [1.0, 0.000244140625, 1.1920928955078125e-07]
    """
    return _split(x, format_of("tf32"), terms, rounding)


@takes_tensors
def split_bf16(x: ArrayLike, terms: int = 3, *, rounding: Rounding = "RNE") -> tuple[NDArray[Any], ...]:
    """Split float32 numbers into bf16 terms: the rounded number, then the rounded remainder, and so on.

    Three terms are exact; two have 16 bits and a sign. Terms of A and B, counted from 0, make nine products; the six
    with ``i + j <= 2`` preserve the precision of a float32 product.

    Parameters
    ----------
    x : float32 array, or anything that NumPy converts to one
    terms : int
        The number of terms, at least 1.
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
        The rounding of each term.

    Returns
    -------
    tuple of ml_dtypes.bfloat16 arrays
        A tuple of ``terms`` arrays of the shape of x, largest first.

    Raises
    ------
    FragmentMismatchError
        If the dtype is not float32.
    UnsupportedInstructionError
        If the number of terms is not an integer of at least 1.

    Notes
    -----
    As for `split_tf32`. The last place of bf16's subnormals is 2**-133: for numbers below 2**-110, up to 2**-134 is
    lost, or up to 2**-133 if terms are not rounded to nearest.

    Examples
    --------
    >>> [part.item() for part in split_bf16(np.array([1 + 2**-9 + 2**-20], np.float32))]
    [1.0, 0.001953125, 9.5367431640625e-07]
    """
    return _split(x, format_of("bf16"), terms, rounding)


def _split(x: ArrayLike, fmt: Format, terms: int, rounding: Rounding) -> tuple[NDArray[Any], ...]:
    check_modes(rounding, "ieee")
    count = integer_of(terms)
    if count is None or count < 1:
        raise OptionError(f"terms={shorten(terms)} is not a number of terms; pass 1 or more, usually 2 or 3")
    given = as_numpy(x, "x")
    if given.dtype != np.float32:
        fix = {
            "f8": "x.astype(numpy.float32) rounds once, to nearest even",
            "f2": "x.astype(numpy.float32) is exact",
            "u4": "x.view(numpy.float32) takes the same bits",
        }.get(given.dtype.str[1:], "pass float32 numbers")
        raise ArgumentError(f"x is an array of {shorten(given.dtype, str)}, but only float32 can be split; {fix}")
    u = unpack(to_bits(given, _F32, "x"), _F32)
    special = u.is_infinity | u.is_nan
    # The remainder, in units of the number's last place: no term has lower bits, except those that are dropped.
    left = np.where(u.sign, -u.significand, u.significand)
    place = u.exponent - _F32.fraction_bits
    parts: list[Bits] = []
    for number in range(count):
        negative = left < 0 if number else u.sign
        word = round_pack(negative, np.abs(left), place, fmt, rounding, "saturate")
        if number:
            word = np.where(left == 0, np.uint64(0), word)
        part = unpack(word.astype(fmt.storage), fmt)
        left = left - _in_units(part.significand, part.exponent - fmt.fraction_bits - place, part.sign)
        parts.append(
            with_specials(word, u.sign, u.is_infinity, u.is_nan, fmt) if not number else np.where(special, 0, word)
        )
    return tuple(from_bits(bits.astype(fmt.storage).reshape(given.shape), fmt) for bits in parts)


def _in_units(significand: NDArray[np.int64], shift: NDArray[np.int64], sign: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return a term in units of the original number's last bit."""
    whole = np.where(shift >= 0, significand << np.maximum(shift, 0), significand >> np.maximum(-shift, 0))
    return np.where(sign, -whole, whole)
