# SPDX-License-Identifier: MIT
"""The power of two that scales a block: the rules for UE8M0 scale factors, in integer arithmetic."""

from collections.abc import Callable

import numpy as np

from wmma_emu.formats import Format
from wmma_emu.formats.codec import unpack
from wmma_emu.formats.rounding import Bits, Int64s, bit_length, rounds_up
from wmma_emu.quantise.spec import BlockFormat

MAX_SCALE_EXPONENT = 127
"""The largest exponent of UE8M0, which ranges from 2**-127 to 2**127."""

_PLACES = 60
"""The position of the leading bit of significands, which are integers in [2**60, 2**61)."""


def scale_exponents(amax: Bits, source: Format, fmt: BlockFormat, rule: str) -> Int64s:
    """Return the exponents of the scale factors of blocks according to a named rule.

    ``amax`` contains the largest magnitude of each block as finite, non-negative patterns of ``source``. Exponents are
    clamped to [-127, 127]; the exponent is -127 if ``amax`` is zero.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> from wmma_emu.quantise import block_format_of
    >>> amax, fmt = np.array([1.0, 1.75, 1.9375, 0], np.float32).view(np.uint32), block_format_of("mxfp8_e4m3")
    >>> [scale_exponents(amax, format_of("f32"), fmt, rule).tolist() for rule in ("floor", "rceil", "even")]
    [[-8, -8, -8, -127], [-8, -8, -7, -127], [-8, -8, -7, -127]]
    """
    u = unpack(amax, source)
    length = bit_length(u.significand)
    significand = u.significand << (_PLACES + 1 - length)
    exponent = u.exponent - source.fraction_bits + length - 1
    chosen = _RULES[rule](significand, exponent, fmt)
    chosen = np.where(u.significand == 0, -MAX_SCALE_EXPONENT, chosen)
    clamped: Int64s = np.clip(chosen, -MAX_SCALE_EXPONENT, MAX_SCALE_EXPONENT)
    return clamped


def _floor(significand: Int64s, exponent: Int64s, fmt: BlockFormat) -> Int64s:
    return exponent - fmt.max_exponent


def _ceil(significand: Int64s, exponent: Int64s, fmt: BlockFormat) -> Int64s:
    above: Int64s = (significand != 1 << _PLACES).astype(np.int64)
    return exponent + above - fmt.max_exponent


def _even(significand: Int64s, exponent: Int64s, fmt: BlockFormat) -> Int64s:
    shift = np.full(significand.shape, _PLACES - fmt.kept_bits, np.int64)
    kept = significand >> shift
    plus = np.zeros(significand.shape, np.bool_)
    kept = kept + rounds_up(kept, significand - (kept << shift), shift, plus, "RNE")
    return exponent + (kept >> (fmt.kept_bits + 1)) - fmt.max_exponent


def _rceil(significand: Int64s, exponent: Int64s, fmt: BlockFormat) -> Int64s:
    largest, largest_exponent = _largest(fmt)
    return exponent - largest_exponent + (significand > largest)


def _rne(significand: Int64s, exponent: Int64s, fmt: BlockFormat) -> Int64s:
    # Every format's largest element is at least 1.5 * 2**n, so that the quotient of the significands is in
    # (1/2, 4/3]: its nearest power of two is 1/2 below 3/4, and 1 otherwise.
    largest, largest_exponent = _largest(fmt)
    return exponent - largest_exponent - (significand < largest - (largest >> 2))


def _largest(fmt: BlockFormat) -> tuple[int, int]:
    """Return significand and exponent of the largest element."""
    whole = int(fmt.max_element * 64)
    return whole << (_PLACES + 1 - whole.bit_length()), whole.bit_length() - 1 - 6


_RULES: dict[str, Callable[[Int64s, Int64s, BlockFormat], Int64s]] = {
    "floor": _floor,
    "ceil": _ceil,
    "rceil": _rceil,
    "even": _even,
    "rne": _rne,
}
