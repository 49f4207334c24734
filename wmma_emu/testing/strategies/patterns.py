# SPDX-License-Identifier: MIT
"""Single numbers: every bit pattern of a format, as an integer or as a scalar of its dtype."""

from functools import cache
from typing import Any, Literal, NamedTuple

import hypothesis.strategies as st
import numpy as np
from hypothesis.errors import InvalidArgument

from wmma_emu.errors import shorten
from wmma_emu.formats import FORMATS, Format
from wmma_emu.testing.patterns import from_bits
from wmma_emu.testing.strategies.checks import Allowed
from wmma_emu.testing.strategies.format_names import format_named


@st.composite
def bit_patterns(
    draw: st.DrawFn,
    format: Format | str,
    *,
    allow_nan: bool = True,
    allow_infinity: bool = True,
    allow_subnormal: bool = True,
) -> int:
    """Draw the bit pattern of a number, as an unsigned integer; every pattern of the format can occur.

    It shrinks to +0, or else to 1.0: towards few significant bits, exponents near 0, and a positive sign. ue4m3 has
    seven bits; the eighth bit is 0, as operands require: 128 patterns.

    Parameters
    ----------
    format : Format or str
        Any format, including integers and single bits; or its dtype.
    allow_nan, allow_infinity, allow_subnormal : bool
        Whether these numbers occur, with payloads and signs of NaN; ignored for other formats. For tf32, this also
        applies to the float32 that stores the number.

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate, Phase.shrink])
    >>> from wmma_emu.testing.strategies import bit_patterns
    >>> [hex(find(bit_patterns("f16"), lambda bits: bits & 0x7FFF > low, settings=anew)) for low in (-1, 0, 0x3FFF)]
    ['0x0', '0x3c00', '0x4000']
    """
    return draw(pattern_strategy(format_named(format), Allowed(allow_nan, allow_infinity, allow_subnormal).checked()))


@st.composite
def from_dtype(
    draw: st.DrawFn,
    dtype: Any,
    *,
    allow_nan: bool = True,
    allow_infinity: bool = True,
    allow_subnormal: bool = True,
) -> Any:
    """Draw scalars of a dtype, including those of ml_dtypes.

    Usable as ``elements`` of ``hypothesis.extra.numpy.arrays``.

    Parameters
    ----------
    dtype : dtype, Format or str
        Any type of ml_dtypes, any real type of NumPy (not longdouble), bool; or a format, ``"tf32"`` in float32.
    allow_nan, allow_infinity, allow_subnormal : bool

    Examples
    --------
    >>> import ml_dtypes
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import from_dtype
    >>> find(from_dtype(ml_dtypes.float8_e4m3fn), lambda x: True, settings=anew)
    0
    """
    fmt = format_named(dtype)
    allowed = Allowed(allow_nan, allow_infinity, allow_subnormal).checked()
    return from_bits(np.array([draw(pattern_strategy(fmt, allowed))], fmt.storage), fmt)[0]


@st.composite
def formats(draw: st.DrawFn, *, kind: Literal["float", "integer", "bit"] | None = None) -> Format:
    """Draw an entry of the table of formats: f64 first, of one kind if it is named."""
    rows = [fmt for fmt in FORMATS.values() if kind is None or fmt.kind == kind]
    if not rows:
        raise InvalidArgument(f"kind={shorten(kind)} is not 'float', 'integer' or 'bit'")
    return draw(st.sampled_from(rows))


@cache
def pattern_strategy(fmt: Format, allowed: Allowed) -> st.SearchStrategy[int]:
    """Return the strategy of `bit_patterns` for checked arguments, made once."""
    if fmt.kind == "bit":
        return st.integers(0, 1)
    if not fmt.is_float:
        mask = fmt.mask
        return st.integers(fmt.min_integer, fmt.max_integer).map(lambda value: value & mask)
    if not fmt.has_zero:
        # Powers of two, and NaN above them.
        bias = fmt.bias
        return st.integers(fmt.emin, fmt.emax + allowed.nan).map(lambda exponent: exponent + bias)
    return _floats(fmt, _places(fmt, allowed), allowed)


class _Places(NamedTuple):
    """The numbers that are drawn for exponents: those of a format, and codes for specials.

    Infinities and NaN are above the exponents, subnormal numbers below, so that all of them shrink towards 1.
    """

    lowest: int
    last_infinity: int
    highest: int


def _places(fmt: Format, allowed: Allowed) -> _Places:
    # A format with many exponents has several codes for each special, so that specials occur often enough.
    several = max((fmt.emax - fmt.emin) // 16, 1)
    lowest = fmt.emin - several * allowed.subnormal
    last_infinity = fmt.emax + several * (allowed.infinity and fmt.has_infinity)
    has_nan = fmt.nan != "none" or fmt.name.endswith("fnuz")
    return _Places(lowest, last_infinity, last_infinity + several * (allowed.nan and has_nan))


@st.composite
def _floats(draw: st.DrawFn, fmt: Format, places: _Places, allowed: Allowed) -> int:
    # Every number takes the same draws, because Hypothesis would consider one with fewer draws simpler.
    f = fmt.fraction_bits
    is_zero = draw(integers(0, 1 if fmt.bits <= 8 else 9)) == 0
    exponent = draw(integers(places.lowest, places.highest))
    # Reversed, so that the significant bits shrink.
    fraction = int(f"{draw(integers(0, (1 << f) - 1)):0{f}b}"[::-1], 2)
    negative = fmt.signed and draw(st.booleans())
    low = draw(integers(0, (1 << fmt.ignored_low_bits) - 1)) if fmt.ignored_low_bits and draw(st.booleans()) else 0
    top, ones, highest = (1 << fmt.exponent_bits) - 1, (1 << f) - 1, 1 << (f - 1)
    has_negative_zero = not fmt.name.endswith("fnuz")
    if is_zero:
        field = fraction = 0
        negative = negative and has_negative_zero
        # With lower bits, a zero of tf32 is a subnormal of the float32 that stores it, and an infinity is a NaN.
        low = low if allowed.subnormal else 0
    elif exponent < fmt.emin:
        field, fraction = 0, fraction or highest
    elif exponent > places.last_infinity:
        if not has_negative_zero:
            return fmt.sign_mask
        field, fraction = top, (fraction or highest) if fmt.nan == "ieee" else ones
    elif exponent > fmt.emax:
        field, fraction, low = top, 0, low if allowed.nan else 0
    else:
        field = exponent + fmt.bias
        if fmt.nan == "all_ones" and (field, fraction) == (top, ones):
            fraction -= 1
    return ((((field << f) | fraction) << fmt.ignored_low_bits) | low) | (fmt.sign_mask if negative else 0)


@cache
def integers(low: int, high: int) -> st.SearchStrategy[int]:
    """Return `hypothesis.strategies.integers`, made once per range: arrays draw from few ranges, but often."""
    return st.integers(low, high)
