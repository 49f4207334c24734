# SPDX-License-Identifier: MIT
"""What an element is, divided by a power of two: exact, then rounded once."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format, Rounding, round_pack
from wmma_emu.formats.codec import UnpackedArray, with_specials
from wmma_emu.formats.rounding import Bits, Int64s, rounds_up
from wmma_emu.quantise.spec import BlockFormat


def round_elements(
    u: UnpackedArray, source: Format, exponents: Int64s, row: BlockFormat, rounding: Rounding, symmetric: bool
) -> Bits:
    """Round ``x / 2**exponent`` to elements, once; what is too large becomes the largest element of its sign.

    ``u`` are finite numbers of the format ``source``, with which ``exponents``, those of the scale factors, broadcast.
    Of MXINT8, ``symmetric`` says that -127 is the smallest element, and not -128.

    Notes
    -----
    A division by a power of two changes the exponent alone: there is nothing else to round.

    Examples
    --------
    >>> from wmma_emu.formats import format_of, unpack
    >>> from wmma_emu.quantise import block_format_of
    >>> f32, row = format_of("f32"), block_format_of("mxint8")
    >>> u = unpack(np.array([-2.0, 1.5, 0.0234375], np.float32).view(np.uint32), f32)
    >>> round_elements(u, f32, np.array(0), row, "RNE", False).view(np.int8)
    array([-128,   96,    2], dtype=int8)
    """
    exponent = u.exponent - source.fraction_bits - exponents - row.element_exponent
    if row.element.is_float:
        return round_pack(u.sign, u.significand, exponent, row.element, rounding, "saturate")
    lowest = row.element.min_integer + symmetric
    value = np.clip(_integers(u.sign, u.significand, exponent, rounding), lowest, row.element.max_integer)
    return (value & row.element.mask).astype(row.element.storage)


def nan_element(row: BlockFormat) -> int:
    """Return the element that NaN becomes: NaN; without one the largest number, as PTX's ``cvt`` has it; of integers 0.

    Examples
    --------
    >>> from wmma_emu.quantise import BLOCK_FORMATS
    >>> {name: hex(nan_element(BLOCK_FORMATS[name])) for name in ("mxfp8_e4m3", "mxfp4_e2m1", "mxint8")}
    {'mxfp8_e4m3': '0x7f', 'mxfp4_e2m1': '0x7', 'mxint8': '0x0'}
    """
    if not row.element.is_float:
        return 0
    yes, no = np.array([True]), np.array([False])
    return int(with_specials(np.zeros(1, row.element.storage), no, no, yes, row.element)[0])


def _integers(sign: NDArray[np.bool_], significand: Int64s, exponent: Int64s, rounding: Rounding) -> Int64s:
    """Round ``(-1)**sign * significand * 2**exponent`` to an integer; what is beyond 2**9 stays beyond it."""
    # A significand has 53 bits at most: nine places to the left fit, and more would be clamped all the same.
    left = np.clip(exponent, 0, 9)
    right = np.clip(-exponent, 0, 63)
    magnitude = significand << left
    whole = magnitude >> right
    whole = whole + rounds_up(whole, magnitude - (whole << right), right, sign, rounding)
    return np.where(sign, -whole, whole)
