# SPDX-License-Identifier: MIT
"""The approximate functions of a Hopper GPU, one number at a time, on Python integers.

This is the specification of `wmma_emu.scalar.approx` and `wmma_emu.scalar.approx_div`, which do the same for whole
arrays; tests check that they agree. Operands and results are patterns.
"""

from collections.abc import Callable, Mapping

from wmma_emu.formats import format_of
from wmma_emu.scalar.approx_reference_units import UNITS
from wmma_emu.scalar.reference import add, convert, fma, mul

_F16, _F32, _F64 = (format_of(x) for x in ("f16", "f32", "f64"))
_NAN, _INFINITY, _SIGN, _ONE = 0x7FFF_FFFF, 0x7F80_0000, 0x8000_0000, 0x3F80_0000
_TURNS_A_RADIAN = 0x3E22_F983


def approx(
    name: str, bits: int, ftz: bool = False, format: str = "f32", *, units: Mapping[str, Callable[[int], int]] = UNITS
) -> int:
    """Compute one result of an approximate instruction; for f32 ``units`` may replace the chip's units.

    Examples
    --------
    >>> hex(approx("ex2", 0x3F000000, ftz=True)), hex(approx("tanh", 0x3800, format="f16"))
    ('0x3fb504f3', '0x3764')
    """
    match format:
        case "f16":
            return convert(UNITS[name](convert(bits, _F16, _F32)), _F32, _F16, "RZ", "infinity")
        case "bf16":
            return UNITS[name](bits << 16) >> 16
        case "f64":
            return _double(name, bits, ftz)
    if name in ("sin", "cos"):
        return UNITS[name](mul(bits, _TURNS_A_RADIAN, _F32, "RZ"))
    magnitude = bits & _NAN
    if ftz or name == "tanh" or magnitude > _INFINITY:
        return units[name](bits)
    return _keep_subnormal(name, units[name], bits)


def _keep_subnormal(name: str, unit: Callable[[int], int], x: int) -> int:
    """Compute an instruction without ``.ftz`` as ptxas compiles it: scale, compute, scale back."""
    magnitude = x & _NAN
    if name == "ex2":
        if x <= 0xC2FC_0000:  # negative and at least -126
            return unit(x)
        half = unit(_times(x, -1))
        return mul(half, half, _F32)
    if name == "rcp" and magnitude > 0x7E80_0000:
        return _times(unit(_times(x, -2)), -2)
    if magnitude >= 0x0080_0000:
        return unit(x)
    result = unit(_times(x, 24))
    if name == "lg2":
        return add(result, 0xC1C0_0000, _F32)
    return _times(result, {"rcp": 24, "rsqrt": 12, "sqrt": -12}[name])


def approx_div(a: int, b: int, kind: str = "full", ftz: bool = False) -> int:
    """Compute one result of ``div.approx`` or ``div.full``.

    Examples
    --------
    >>> hex(approx_div(0x3F800000, 0x40400000))                                          # 1 / 3
    '0x3eaaaaab'
    """
    factor, scaled = scaled_divisor(b, kind, ftz)
    a = a if factor == _ONE else multiply(a, factor, ftz)
    return multiply(a, UNITS["rcp"](scaled), ftz)


def scaled_divisor(b: int, kind: str, ftz: bool) -> tuple[int, int]:
    """Return the factor by which a division first multiplies both operands, and the scaled divisor."""
    power = 0
    if kind == "full" and 0x7E80_0000 < b & _NAN <= _INFINITY:
        power = -2
    elif not ftz and b & _NAN < 0x0080_0000:
        power = 24
    return power + 127 << 23, multiply(b, power + 127 << 23, ftz) if power else b


def _times(x: int, power: int) -> int:
    """Multiply by 2**power, rounded to nearest."""
    return mul(x, power + 127 << 23, _F32)


def _flush(x: int) -> int:
    return x & _SIGN if x & _NAN < 0x0080_0000 else x


def multiply(a: int, b: int, ftz: bool) -> int:
    """Multiply; ``ftz`` flushes subnormal operands, and products that are subnormal after rounding to 24 bits."""
    if not ftz:
        return mul(a, b, _F32)
    less, more = sorted((_flush(a), _flush(b)), key=lambda x: x & _NAN)
    # Scaled by 2**64, the product is rounded to 24 bits as if the exponent were unbounded.
    larger = mul(_times(less, 64), more, _F32)
    result = mul(less, more, _F32)
    return result if larger & _NAN >= (64 + 1) << 23 else result & _SIGN


def _double(name: str, bits: int, ftz: bool) -> int:
    """Compute a function of f64: the units read the upper word and look up its fraction in the tables of f32."""
    sign, magnitude = bits & 1 << 63, bits & (1 << 63) - 1
    if name == "rsqrt" and not ftz:
        return _rsqrt_f64(bits, sign, magnitude)
    word = magnitude >> 32
    if word > 0x7FF0_0000:
        return _NAN << 32
    exponent = (word >> 20) - 1023
    if exponent == -1023:
        return sign | 0x7FF << 52
    if name == "rsqrt" and sign:
        return _NAN << 32
    if exponent == 1024:
        return sign
    single = UNITS[name](_ONE + ((word & 0xF_FFFF) << 3) + ((exponent % 2 << 23) if name == "rsqrt" else 0))
    scaled = exponent // 2 if name == "rsqrt" else exponent
    upper = (single >> 3) + (1023 - 127 - scaled << 20)
    return sign | (upper << 32 if upper >= 0x0010_0000 else 0)


def _rsqrt_f64(x: int, sign: int, magnitude: int) -> int:
    infinity = 0x7FF << 52
    if magnitude == 0:
        return sign | infinity
    if magnitude > infinity:
        return x | 1 << 51
    if sign:
        return 0xFFF8 << 48
    if magnitude == infinity:
        return 0
    if magnitude < 1 << 52:
        scaled = mul(x, 1023 + 54 << 52, _F64)
        return mul(_third_order(scaled), 1023 + 27 << 52, _F64)
    return _third_order(x)


def _third_order(x: int) -> int:
    """Return y + y e (1/2 + 3/8 e), where e = 1 - x y**2 and y is the approximation."""
    y = _double("rsqrt", x, True)
    e = fma(x, mul(y, y, _F64) ^ 1 << 63, 0x3FF << 52, _F64)
    factor = fma(e, 0x3FD8 << 48, 0x3FE0 << 48, _F64)
    return fma(factor, mul(y, e, _F64), y, _F64)
