# SPDX-License-Identifier: MIT
"""The chip's conversion instructions, for whole arrays, between any two formats."""

import numpy as np

from wmma_emu.errors import ArgumentError
from wmma_emu.formats import Format, Overflow, Rounding, format_of, round_pack, unpack
from wmma_emu.formats.codec import with_specials
from wmma_emu.formats.rounding import Bits
from wmma_emu.formats.spec import check_modes
from wmma_emu.scalar.cvt_integers import float_from_integer, integer_from_float, integer_from_integer


def convert(
    bits: Bits,
    source: Format | str,
    target: Format | str,
    rounding: Rounding = "RNE",
    overflow: Overflow = "ieee",
) -> Bits:
    """Convert patterns of one format to another, rounding once, as PTX's ``cvt`` does.

    Parameters
    ----------
    bits : unsigned integer array
        Patterns of the source format.
    source, target : Format or str
        Any two formats, including integers and b1 (an unsigned integer of one bit).
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
        For integer targets these are ``.rni``, ``.rzi``, ``.rmi``, ``.rpi`` and two modes that PTX lacks.
    overflow : {"ieee", "infinity", "saturate"}
        For float targets ``"saturate"`` is ``.satfinite``. Between integers ``"saturate"`` is ``.sat``; the others keep
        the low bits. From a float to an integer the value is always clamped.

    Returns
    -------
    unsigned integer array of ``target.storage``

    Notes
    -----
    The rules follow PTX ISA 9.1 (``cvt``). A float beyond an integer's range is clamped to it. As an integer, NaN
    becomes 0, but from f64 the pattern with only the top bit set. NaN becomes the largest number in e2m1, e2m3 and
    e3m2, which have no NaN, and the canonical NaN in other formats. With ``.satfinite`` numbers that are too large
    become the largest number of their sign. The conversion to ue8m0 takes the absolute value, rounds it to a power of
    two, and clamps it at 2**-127 (``cuda_fp8.h`` of CUDA 13.5). PTX has no conversion to e4m3 without ``.satfinite``;
    ``cuda_fp8.h`` overflows to NaN, and so does this function. In tf32, NaN becomes 0x7FFFE000, but RNA
    (``cvt.rna.tf32.f32``) only clears its low 13 bits, and gives an infinity if no other fraction bit was set (NVIDIA
    H200, 2026-11-21). Between equal formats all bits are unchanged, including NaN.

    Examples
    --------
    >>> convert(np.array([0x7F800000, 0xC3E80000], np.uint32), "f32", "e4m3", overflow="saturate")
    array([126, 254], dtype=uint8)
    >>> convert(np.array([0x3FC0, 0x4020, 0xC320], np.uint16), "bf16", "s8").view(np.int8)
    array([   2,    2, -128], dtype=int8)
    """
    source, target = format_of(source), format_of(target)
    check_modes(rounding, overflow)
    if getattr(getattr(bits, "dtype", None), "kind", "") != "u":
        given = getattr(bits, "dtype", type(bits).__name__)
        raise ArgumentError(
            f"convert takes {source} patterns as unsigned integers of {source.storage}, not {given}; "
            "wmma_emu.formats.dtypes.to_bits converts other arrays"
        )
    if source == target and overflow != "saturate":
        mask = source.storage.type(source.mask)
        same: Bits = (bits.astype(source.storage) & mask)[...]
        return same
    word = np.atleast_1d(bits)
    match source.is_float, target.is_float:
        case True, True:
            result = _from_float(word, source, target, rounding, overflow)
        case True, False:
            result = integer_from_float(word, source, target, rounding)
        case False, True:
            result = float_from_integer(word, source, target, rounding, overflow)
        case _:
            result = integer_from_integer(word, source, target, saturate=overflow == "saturate")
    return result.reshape(bits.shape)


def convert_scaled(
    bits: Bits, scales: Bits, source: Format, target: Format, rounding: Rounding, overflow: Overflow
) -> Bits:
    """Multiply floats by ue8m0 scales and convert the products, rounding once; a scale that is NaN gives NaN.

    Examples
    --------
    >>> one, scales = np.array([0x38, 0x38], np.uint8), np.array([128, 255], np.uint8)
    >>> [hex(x) for x in convert_scaled(one, scales, format_of("e4m3"), format_of("bf16"), "RNE", "ieee")]
    ['0x4000', '0x7fff']
    """
    u, scale = unpack(bits, source), unpack(scales, format_of("ue8m0"))
    exponent = u.exponent - source.fraction_bits + np.where(scale.is_nan, 0, scale.exponent)
    word = round_pack(u.sign, u.significand, exponent, target, rounding, overflow)
    is_nan = u.is_nan | scale.is_nan
    return with_specials(word, u.sign, u.is_infinity & ~is_nan, is_nan, target, overflow)


def _from_float(bits: Bits, source: Format, target: Format, rounding: Rounding, overflow: Overflow) -> Bits:
    u = unpack(bits, source)
    word = round_pack(u.sign, u.significand, u.exponent - source.fraction_bits, target, rounding, overflow)
    word = with_specials(word, u.sign, u.is_infinity, u.is_nan, target, overflow)
    if (source.name, target.name, rounding) == ("f32", "tf32", "RNA"):
        # Three integer instructions on every chip: a NaN loses its low bits, which may be its whole payload.
        low = target.storage.type(target.ignored_low_bits)
        word = np.where(u.is_nan, bits >> low << low, word)
    return word
