# SPDX-License-Identifier: MIT
"""Which power of two scales a block: the rules of UE8M0 scale factors, on integers throughout."""

from collections.abc import Callable

import numpy as np

from wmma_emu.formats import Format
from wmma_emu.formats.codec import unpack
from wmma_emu.formats.rounding import Bits, Int64s, bit_length, rounds_up
from wmma_emu.quantise.spec import BlockFormat

MAX_SCALE_EXPONENT = 127
"""UE8M0 reaches from 2**-127 to 2**127."""

_PLACES = 60
"""Magnitudes are taken apart into an integer in [2**60, 2**61), which holds any significand, and an exponent."""


def scale_exponents(amax: Bits, source: Format, row: BlockFormat, rule: str) -> Int64s:
    """Return the exponents of the scale factors of blocks, by the name of a rule.

    ``amax`` has the largest magnitude of each block: finite, non-negative patterns of ``source``. Exponents are clamped
    to [-127, 127]; -127 where ``amax`` is zero.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> from wmma_emu.quantise import block_format_of
    >>> amax, row = np.array([1.0, 1.75, 1.9375, 0], np.float32).view(np.uint32), block_format_of("mxfp8_e4m3")
    >>> [scale_exponents(amax, format_of("f32"), row, rule).tolist() for rule in ("floor", "rceil", "even")]
    [[-8, -8, -8, -127], [-8, -8, -7, -127], [-8, -8, -7, -127]]
    """
    u = unpack(amax, source)
    length = bit_length(u.significand)
    significand = u.significand << (_PLACES + 1 - length)
    exponent = u.exponent - source.fraction_bits + length - 1
    chosen = _RULES[rule](significand, exponent, row)
    chosen = np.where(u.significand == 0, -MAX_SCALE_EXPONENT, chosen)
    clamped: Int64s = np.clip(chosen, -MAX_SCALE_EXPONENT, MAX_SCALE_EXPONENT)
    return clamped


def _floor(significand: Int64s, exponent: Int64s, row: BlockFormat) -> Int64s:
    return exponent - row.max_exponent


def _ceil(significand: Int64s, exponent: Int64s, row: BlockFormat) -> Int64s:
    above: Int64s = (significand != 1 << _PLACES).astype(np.int64)
    return exponent + above - row.max_exponent


def _even(significand: Int64s, exponent: Int64s, row: BlockFormat) -> Int64s:
    shift = np.full(significand.shape, _PLACES - row.kept_bits, np.int64)
    kept = significand >> shift
    plus = np.zeros(significand.shape, np.bool_)
    kept = kept + rounds_up(kept, significand - (kept << shift), shift, plus, "RNE")
    return exponent + (kept >> (row.kept_bits + 1)) - row.max_exponent


def _rceil(significand: Int64s, exponent: Int64s, row: BlockFormat) -> Int64s:
    largest, largest_exponent = _largest(row)
    return exponent - largest_exponent + (significand > largest)


def _rne(significand: Int64s, exponent: Int64s, row: BlockFormat) -> Int64s:
    # Every format's largest element is at least 1.5 * 2**n, so that the quotient of the significands lies in
    # (1/2, 4/3]: its nearest power of two is 1/2 below 3/4, and 1 from there on.
    largest, largest_exponent = _largest(row)
    return exponent - largest_exponent - (significand < largest - (largest >> 2))


def _largest(row: BlockFormat) -> tuple[int, int]:
    """The largest element, taken apart as magnitudes are."""
    whole = int(row.max_element * 64)
    return whole << (_PLACES + 1 - whole.bit_length()), whole.bit_length() - 1 - 6


_RULES: dict[str, Callable[[Int64s, Int64s, BlockFormat], Int64s]] = {
    "floor": _floor,
    "ceil": _ceil,
    "rceil": _rceil,
    "even": _even,
    "rne": _rne,
}
