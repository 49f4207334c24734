# SPDX-License-Identifier: MIT
"""Elements divided by a power of two, exactly, then rounded once."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format, Rounding, round_pack
from wmma_emu.formats.codec import UnpackedArray, with_specials
from wmma_emu.formats.rounding import Bits, Int64s, rounds_up
from wmma_emu.quantise.spec import BlockFormat


def round_elements(
    u: UnpackedArray, source: Format, exponents: Int64s, fmt: BlockFormat, rounding: Rounding, symmetric: bool
) -> Bits:
    """Round ``x / 2**exponent`` once to elements; numbers that are too large become the largest element of their sign.

    ``u`` contains finite numbers of the format ``source``, which broadcast with the ``exponents`` of the scale factors.
    For MXINT8, ``symmetric`` makes -127 the smallest element instead of -128.

    Notes
    -----
    Division by a power of two changes only the exponent, so no other rounding occurs.

    Examples
    --------
    >>> from wmma_emu.formats import format_of, unpack
    >>> from wmma_emu.quantise import block_format_of
    >>> f32, fmt = format_of("f32"), block_format_of("mxint8")
    >>> u = unpack(np.array([-2.0, 1.5, 0.0234375], np.float32).view(np.uint32), f32)
    >>> round_elements(u, f32, np.array(0), fmt, "RNE", False).view(np.int8)
    array([-128,   96,    2], dtype=int8)
    """
    exponent = u.exponent - source.fraction_bits - exponents - fmt.element_exponent
    if fmt.element.is_float:
        return round_pack(u.sign, u.significand, exponent, fmt.element, rounding, "saturate")
    lowest = fmt.element.min_integer + symmetric
    value = np.clip(_integers(u.sign, u.significand, exponent, rounding), lowest, fmt.element.max_integer)
    return (value & fmt.element.mask).astype(fmt.element.storage)


def nan_element(fmt: BlockFormat) -> int:
    """Return the element for NaN: NaN, 0 for integers, otherwise the largest number, as in PTX's ``cvt``.

    Examples
    --------
    >>> from wmma_emu.quantise import BLOCK_FORMATS
    >>> {name: hex(nan_element(BLOCK_FORMATS[name])) for name in ("mxfp8_e4m3", "mxfp4_e2m1", "mxint8")}
    {'mxfp8_e4m3': '0x7f', 'mxfp4_e2m1': '0x7', 'mxint8': '0x0'}
    """
    if not fmt.element.is_float:
        return 0
    yes, no = np.array([True]), np.array([False])
    return int(with_specials(np.zeros(1, fmt.element.storage), no, no, yes, fmt.element)[0])


def _integers(sign: NDArray[np.bool_], significand: Int64s, exponent: Int64s, rounding: Rounding) -> Int64s:
    """Round ``(-1)**sign * significand * 2**exponent`` to an integer; numbers beyond 2**9 remain beyond it."""
    # A significand has at most 53 bits: a left shift by nine fits, and larger results would be clamped anyway.
    left = np.clip(exponent, 0, 9)
    right = np.clip(-exponent, 0, 63)
    magnitude = significand << left
    whole = magnitude >> right
    whole = whole + rounds_up(whole, magnitude - (whole << right), right, sign, rounding)
    return np.where(sign, -whole, whole)
