# SPDX-License-Identifier: MIT
"""The arithmetic of one lane on Python integers: exact, then rounded once, in any format and mode.

This is the specification of `fma`, `add`, `mul` and `convert` of `wmma_emu.scalar`, which do the same for
whole arrays; tests check that the two agree.
"""

from typing import Literal

from wmma_emu.errors import OptionError
from wmma_emu.formats import Format, Overflow, Rounding
from wmma_emu.formats.reference import Unpacked, pack_infinity, pack_nan, round_pack, rounds_up, unpack
from wmma_emu.formats.spec import check_modes

NaNOutput = Literal["canonical", "propagate"]
"""The NaN that an operation produces: the format's canonical NaN; or, as in NVIDIA's f64 units (measured on an
H200), the first NaN among (b, c, a), made quiet, with its sign and payload."""


def fma(
    a: int,
    b: int,
    c: int,
    fmt: Format,
    rounding: Rounding = "RNE",
    nan: NaNOutput = "canonical",
    *,
    out: Format | None = None,
    overflow: Overflow = "ieee",
) -> int:
    """Compute ``a * b + c`` exactly and round once.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> f16 = format_of("f16")
    >>> hex(fma(0x3C01, 0x3C01, 0xBC02, f16))                # (1 + 2**-10)**2 - (1 + 2**-9) = 2**-20
    '0x10'
    """
    check_nan_output(nan)
    x, y, z = unpack(a, fmt), unpack(b, fmt), unpack(c, fmt)
    if nan == "propagate":
        for bits, number in ((b, y), (c, z), (a, x)):
            if number.kind == "nan":
                return quiet(bits, fmt)
    return _multiply_add(x, y, z, fmt, out or fmt, rounding, overflow)


def add(
    a: int, b: int, fmt: Format, rounding: Rounding = "RNE", nan: NaNOutput = "canonical",
    *, out: Format | None = None, overflow: Overflow = "ieee",
) -> int:  # fmt: skip
    """Compute ``a + b`` exactly and round once: a fused multiply-add of a, one and b.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(add(0x3C00, 0xBC00, format_of("f16"))), hex(add(0x3C00, 0xBC00, format_of("f16"), "RD"))
    ('0x0', '0x8000')
    """
    return fma(one(fmt), a, b, fmt, rounding, nan, out=out, overflow=overflow)


def mul(
    a: int, b: int, fmt: Format, rounding: Rounding = "RNE", nan: NaNOutput = "canonical",
    *, out: Format | None = None, overflow: Overflow = "ieee",
) -> int:  # fmt: skip
    """Compute ``a * b`` exactly and round once.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(mul(0x0001, 0xB800, format_of("f16"))), hex(mul(0x0001, 0xB800, format_of("f16"), "RD"))
    ('0x8000', '0x8001')
    """
    check_nan_output(nan)
    x, y = unpack(a, fmt), unpack(b, fmt)
    if nan == "propagate":
        for bits, number in ((b, y), (a, x)):
            if number.kind == "nan":
                return quiet(bits, fmt)
    # Adding a zero with the product's sign changes nothing, not even the sign of a zero product.
    zero = Unpacked("zero", x.sign ^ y.sign, 0, 0)
    return _multiply_add(x, y, zero, fmt, out or fmt, rounding, overflow)


def convert(bits: int, source: Format, target: Format, rounding: Rounding = "RNE", overflow: Overflow = "ieee") -> int:
    """Convert one pattern to another format; see `wmma_emu.scalar.convert` for the rules.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> hex(convert(0x3FC0, format_of("bf16"), format_of("s8")))           # 1.5
    '0x2'
    >>> hex(convert(0xC3800000, format_of("f32"), format_of("s8")))        # -256.0
    '0x80'
    """
    check_modes(rounding, overflow)
    if source == target and overflow != "saturate":
        return bits & source.mask
    if not source.is_float:
        value = bits & source.mask
        value -= (1 << source.bits) if value & source.sign_mask else 0
        if target.is_float:
            return round_pack(int(value < 0), abs(value), 0, target, rounding, overflow)
        return clamp(value, target) if overflow == "saturate" else value & target.mask
    number = unpack(bits, source)
    if not target.is_float:
        return _to_integer(number, source, target, rounding)
    if number.kind == "nan":
        if (source.name, target.name, rounding) == ("f32", "tf32", "RNA"):
            # Three integer instructions on every chip: only the upper bits remain, and may be an infinity.
            return bits >> target.ignored_low_bits << target.ignored_low_bits
        return pack_nan(target)
    if number.kind == "infinity":
        return pack_infinity(number.sign, target, overflow)
    exponent = number.exponent - source.fraction_bits
    return round_pack(number.sign, number.significand, exponent, target, rounding, overflow)


def quiet(bits: int, fmt: Format) -> int:
    """Set the quiet bit of a NaN; sign and payload are unchanged."""
    if fmt.nan != "ieee":
        return bits
    return bits | 1 << (fmt.fraction_bits - 1 + fmt.ignored_low_bits)


def one(fmt: Format) -> int:
    """Return the pattern of 1.0."""
    return fmt.bias << (fmt.fraction_bits + fmt.ignored_low_bits)


def clamp(value: int, target: Format) -> int:
    """Return the pattern of the format's integer that is nearest to a value."""
    return min(max(value, target.min_integer), target.max_integer) & target.mask


def check_nan_output(nan: str) -> None:
    """Raise `UnsupportedInstructionError` unless the name exists."""
    if nan not in ("canonical", "propagate"):
        raise OptionError(f"there is no NaN rule {nan!r}; the rules are canonical, propagate")


def _multiply_add(
    x: Unpacked, y: Unpacked, z: Unpacked, fmt: Format, out: Format, rounding: Rounding, overflow: Overflow
) -> int:
    kinds = {x.kind, y.kind}
    product_sign = x.sign ^ y.sign
    if "nan" in (x.kind, y.kind, z.kind) or kinds == {"zero", "infinity"}:
        return pack_nan(out)
    if "infinity" in kinds:
        opposed = z.kind == "infinity" and z.sign != product_sign
        return pack_nan(out) if opposed else pack_infinity(product_sign, out, overflow)
    if z.kind == "infinity":
        return pack_infinity(z.sign, out, overflow)
    total, low = exact_multiply_add(x, y, z, fmt)
    if total == 0:
        # Two zeros of the same sign keep it; an exact cancellation is +0, or -0 when rounding down.
        sign = product_sign if product_sign == z.sign else int(rounding == "RD")
    else:
        sign = int(total < 0)
    return round_pack(sign, abs(total), low, out, rounding, overflow)


def exact_multiply_add(x: Unpacked, y: Unpacked, z: Unpacked, fmt: Format) -> tuple[int, int]:
    """Compute ``x * y + z`` of finite numbers exactly: an integer, and the exponent of its last bit."""
    product_exponent = x.exponent + y.exponent - 2 * fmt.fraction_bits
    addend_exponent = z.exponent - fmt.fraction_bits
    low = min(product_exponent, addend_exponent)
    product = (x.significand * y.significand) << (product_exponent - low)
    addend = z.significand << (addend_exponent - low)
    return (-product if x.sign ^ y.sign else product) + (-addend if z.sign else addend), low


def _to_integer(number: Unpacked, source: Format, target: Format, rounding: Rounding) -> int:
    if number.kind == "nan":
        return 1 << (target.bits - 1) if source.name == "f64" else 0  # as PTX says
    if number.kind == "infinity":
        return clamp(-(1 << 64) if number.sign else 1 << 64, target)
    exponent = number.exponent - source.fraction_bits
    magnitude, lost_bits = number.significand << max(exponent, 0), max(-exponent, 0)
    whole = magnitude >> lost_bits
    remainder = magnitude - (whole << lost_bits)
    whole += rounds_up(whole, remainder, 1 << lost_bits >> 1, number.sign, rounding)
    return clamp(-whole if number.sign else whole, target)
