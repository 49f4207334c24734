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
    """Draw the bit pattern of a number, as an unsigned integer; every pattern of the format can come.

    Shrinks to +0, and to 1.0 where that is not possible: towards few significant bits, exponents near 0, and plus.
    Of ue4m3, whose numbers have seven bits, the eighth is 0, as operands take it: 128 patterns.

    Parameters
    ----------
    format : Format or str
        Any format, integers and single bits among them; or the dtype that means it.
    allow_nan, allow_infinity, allow_subnormal : bool
        Whether such numbers come, payloads and signs of NaN included; of no meaning for other formats. Of tf32 none
        comes that is such in float32 either.

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
    """Draw scalars of a dtype, any of ml_dtypes too: also the ``elements`` of ``hypothesis.extra.numpy.arrays``.

    Parameters
    ----------
    dtype : dtype, Format or str
        Any type of ml_dtypes, any real numbers of NumPy (not longdouble), bool; or a format, ``"tf32"`` in float32.
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
    """Draw a row of the table of formats: f64 first, of one kind if it is named."""
    rows = [fmt for fmt in FORMATS.values() if kind is None or fmt.kind == kind]
    if not rows:
        raise InvalidArgument(f"kind={shorten(kind)} is none of 'float', 'integer', 'bit'")
    return draw(st.sampled_from(rows))


@cache
def pattern_strategy(fmt: Format, allowed: Allowed) -> st.SearchStrategy[int]:
    """`bit_patterns` of checked arguments, made once."""
    if fmt.kind == "bit":
        return st.integers(0, 1)
    if not fmt.is_float:
        mask = fmt.mask
        return st.integers(fmt.min_integer, fmt.max_integer).map(lambda value: value & mask)
    if not fmt.has_zero:
        # Powers of two, and above them NaN.
        bias = fmt.bias
        return st.integers(fmt.emin, fmt.emax + allowed.nan).map(lambda exponent: exponent + bias)
    return _floats(fmt, _places(fmt, allowed), allowed)


class _Places(NamedTuple):
    """The numbers that are drawn for exponents: those of a format, and beyond them places of what has none.

    Infinities and NaN stand above, subnormal numbers below: so all of them shrink towards 1.
    """

    lowest: int
    last_infinity: int
    highest: int


def _places(fmt: Format, allowed: Allowed) -> _Places:
    # A format of many exponents has several places of each, so that they come at times.
    several = max((fmt.emax - fmt.emin) // 16, 1)
    lowest = fmt.emin - several * allowed.subnormal
    last_infinity = fmt.emax + several * (allowed.infinity and fmt.has_infinity)
    has_nan = fmt.nan != "none" or fmt.name.endswith("fnuz")
    return _Places(lowest, last_infinity, last_infinity + several * (allowed.nan and has_nan))


@st.composite
def _floats(draw: st.DrawFn, fmt: Format, places: _Places, allowed: Allowed) -> int:
    # Every number takes the same draws, so that none of them is simpler for being shorter.
    f = fmt.fraction_bits
    is_zero = draw(integers(0, 1 if fmt.bits <= 8 else 9)) == 0
    exponent = draw(integers(places.lowest, places.highest))
    # The other way round: what shrinks are the significant bits.
    fraction = int(f"{draw(integers(0, (1 << f) - 1)):0{f}b}"[::-1], 2)
    negative = fmt.signed and draw(st.booleans())
    low = draw(integers(0, (1 << fmt.ignored_low_bits) - 1)) if fmt.ignored_low_bits and draw(st.booleans()) else 0
    top, ones, highest = (1 << fmt.exponent_bits) - 1, (1 << f) - 1, 1 << (f - 1)
    has_negative_zero = not fmt.name.endswith("fnuz")
    if is_zero:
        field = fraction = 0
        negative = negative and has_negative_zero
        # With bits below, a zero of tf32 is a subnormal number of the float32 that it travels in; an infinity a NaN.
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
    """`hypothesis.strategies.integers`, made once: a draw of an array asks for few, but again and again."""
    return st.integers(low, high)
