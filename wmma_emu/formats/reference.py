# SPDX-License-Identifier: MIT
"""Decoding and rounding of one number at a time, on Python integers.

This is the specification of `wmma_emu.formats.codec`, which does the same for whole arrays; tests check that the two
agree.
"""

from typing import TYPE_CHECKING, Literal, NamedTuple

from wmma_emu.formats.spec import Format, Overflow, Rounding, check_modes

if TYPE_CHECKING:
    from fractions import Fraction


class Unpacked(NamedTuple):
    """A decoded number: ``(-1)**sign * significand * 2**(exponent - fraction_bits)``.

    ``exponent`` is the exponent of the leading bit of a normal number; subnormals keep the smallest normal exponent
    and a significand with a leading 0. Numbers are not normalised.
    """

    kind: Literal["zero", "finite", "infinity", "nan"]
    sign: int
    exponent: int
    significand: int


class Rounded(NamedTuple):
    """A significand rounded to a format, with the dropped bits.

    The value is ``kept * 2**(exponent - fraction_bits)``; ``kept`` is below ``2**fraction_bits`` only for subnormal
    results. ``dropped`` is the integer of the last ``dropped_bits`` bits, which were dropped; ``up`` is whether the
    magnitude was then raised by one unit in the last place.
    """

    kept: int
    exponent: int
    dropped: int
    dropped_bits: int
    up: bool


def unpack(bits: int, fmt: Format) -> Unpacked:
    """Decode one floating-point pattern; bits outside the format are ignored.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> unpack(0x3C01, format_of("f16"))
    Unpacked(kind='finite', sign=0, exponent=0, significand=1025)
    >>> unpack(0x0001, format_of("f16"))
    Unpacked(kind='finite', sign=0, exponent=-14, significand=1)
    """
    sign = 1 if bits & fmt.sign_mask else 0
    field = bits >> fmt.ignored_low_bits
    fraction = field & ((1 << fmt.fraction_bits) - 1)
    biased = (field >> fmt.fraction_bits) & ((1 << fmt.exponent_bits) - 1)
    all_ones = biased == (1 << fmt.exponent_bits) - 1
    if all_ones and fmt.nan == "ieee":
        return Unpacked("nan" if fraction else "infinity", sign, 0, 0)
    if all_ones and fmt.nan == "all_ones" and fraction == (1 << fmt.fraction_bits) - 1:
        return Unpacked("nan", sign, 0, 0)
    if biased == 0 and fmt.has_zero:
        return Unpacked("finite" if fraction else "zero", sign, fmt.emin, fraction)
    return Unpacked("finite", sign, biased - fmt.bias, fraction | (1 << fmt.fraction_bits))


def value(bits: int, fmt: Format) -> "Fraction":
    """Return the number that a finite pattern stands for.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> value(0xC200, format_of("f16"))
    Fraction(-3, 1)
    """
    from fractions import Fraction  # imported late: rarely needed, and slow to import

    u = unpack(bits, fmt)
    return Fraction((-1) ** u.sign * u.significand) * Fraction(2) ** (u.exponent - fmt.fraction_bits)


def round_pack(
    sign: int,
    significand: int,
    exponent: int,
    fmt: Format,
    rounding: Rounding = "RNE",
    overflow: Overflow = "ieee",
) -> int:
    """Round ``(-1)**sign * significand * 2**exponent`` once to a format and return its bits.

    A significand of zero, and a value that rounds to zero, give a zero with the sign. If a format has no sign, the
    absolute value is rounded; if it has no zero, values that are too small become the smallest number.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(round_pack(0, 0b11, -1, format_of("f16")))                     # 1.5
    '0x3e00'
    >>> hex(round_pack(0, 2049, 0, format_of("f16"))), hex(round_pack(0, 2049, 0, format_of("f16"), "RU"))
    ('0x6800', '0x6801')
    """
    fmt.require_float()
    check_modes(rounding, overflow)
    sign = sign if fmt.signed else 0
    if significand == 0:
        return pack_zero(sign, fmt)
    kept, leading, *_ = round_significand(sign, significand, exponent, fmt, rounding)
    if kept == 0:
        return pack_zero(sign, fmt)
    if kept >> fmt.fraction_bits:
        field = ((leading + fmt.bias) << fmt.fraction_bits) + (kept - (1 << fmt.fraction_bits))
    else:
        field = kept
    magnitude = field << fmt.ignored_low_bits
    if magnitude > fmt.max_finite:
        return _pack_overflow(sign, fmt, rounding, overflow)
    return magnitude | (fmt.sign_mask if sign else 0)


def round_significand(sign: int, significand: int, exponent: int, fmt: Format, rounding: Rounding) -> Rounded:
    """Round a non-zero ``(-1)**sign * significand * 2**exponent`` to the significand bits of a format.

    The exponent may be of any size; the largest finite number of the format is not considered.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> round_significand(0, 0b1_0000_0000_0011, -11, format_of("f16"), "RNE")
    Rounded(kept=1025, exponent=1, dropped=3, dropped_bits=2, up=True)
    """
    leading = max(significand.bit_length() - 1 + exponent, fmt.emin)
    shift = leading - fmt.fraction_bits - exponent
    if shift <= 0:
        return Rounded(significand << -shift, leading, 0, 0, False)
    kept = significand >> shift
    dropped = significand - (kept << shift)
    up = rounds_up(kept, dropped, 1 << (shift - 1), sign, rounding)
    kept += up
    if kept >> (fmt.fraction_bits + 1):
        kept >>= 1
        leading += 1
    return Rounded(kept, leading, dropped, shift, up)


def pack_zero(sign: int, fmt: Format) -> int:
    """Return zero with its sign, or the smallest number if a format has no zero (ue8m0)."""
    return fmt.sign_mask if sign else 0


def pack_infinity(sign: int, fmt: Format, overflow: Overflow = "ieee") -> int:
    """Return infinity with its sign; NaN or the largest number if the format lacks infinity or the result saturates."""
    if overflow == "saturate":
        return fmt.max_finite | (fmt.sign_mask if sign else 0)
    if fmt.has_infinity:
        return fmt.infinity | (fmt.sign_mask if sign else 0)
    return pack_nan(fmt) if fmt.nan != "none" else fmt.max_finite | (fmt.sign_mask if sign else 0)


def pack_nan(fmt: Format) -> int:
    """Return the NaN that operations produce, or the largest positive number if the format has no NaN."""
    return fmt.canonical_nan if fmt.nan != "none" else fmt.max_finite


def rounds_up(kept: int, remainder: int, half: int, sign: int, rounding: Rounding) -> bool:
    """Return whether a magnitude truncated to ``kept``, with ``remainder`` dropped, is rounded up by one."""
    if remainder == 0:
        return False
    match rounding:
        case "RNE":
            return remainder > half or (remainder == half and kept % 2 == 1)
        case "RNA":
            return remainder >= half
        case "RZ":
            return False
        case "RD":
            return sign == 1
        case "RU":
            return sign == 0
        case "odd":
            return kept % 2 == 0


def _pack_overflow(sign: int, fmt: Format, rounding: Rounding, overflow: Overflow) -> int:
    toward_zero = rounding in ("RZ", "odd") or rounding == ("RU" if sign else "RD")
    if overflow == "saturate" or (overflow == "ieee" and toward_zero):
        return fmt.max_finite | (fmt.sign_mask if sign else 0)
    return pack_infinity(sign, fmt)
