# SPDX-License-Identifier: MIT
"""Numbers for the replay of an explanation: read from text, decoded and rounded without code of the package.

Values are `fractions.Fraction`; formats are this file's own table.
"""

import re
from fractions import Fraction
from typing import NamedTuple


class ReplayError(Exception):
    """The text contradicts itself, or cannot be read."""


def check(condition: bool, *what: object) -> None:
    if not condition:
        raise ReplayError(" ".join(map(str, what)))


class FloatFormat(NamedTuple):
    bits: int
    exponent_bits: int
    fraction_bits: int
    unread: int = 0
    only_nan: bool = False  # only the all-ones pattern is NaN, and infinity does not exist
    only_finite: bool = False

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def emin(self) -> int:
        return 1 - self.bias

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.unread)

    @property
    def largest(self) -> int:
        return self.infinity - (1 << self.unread)


FLOATS = {
    "f64": FloatFormat(64, 11, 52),
    "f32": FloatFormat(32, 8, 23),
    "e8m13": FloatFormat(32, 8, 13, unread=10),
    "tf32": FloatFormat(32, 8, 10, unread=13),
    "bf16": FloatFormat(16, 8, 7),
    "f16": FloatFormat(16, 5, 10),
    "e5m2": FloatFormat(8, 5, 2),
    "e4m3": FloatFormat(8, 4, 3, only_nan=True),
    "e3m2": FloatFormat(6, 3, 2, only_finite=True),
    "e2m3": FloatFormat(6, 2, 3, only_finite=True),
    "e2m1": FloatFormat(4, 2, 1, only_finite=True),
}
NAN = {"f64": 0xFFF8 << 48, "f32": 0x7FFF_FFFF, "e8m13": 0x7FFF_FFFF, "f16": 0x7FFF}
INTEGERS = {"s32": (32, True), "s8": (8, True), "u8": (8, False), "s4": (4, True), "u4": (4, False)}


class Parts(NamedTuple):
    """A decoded pattern: the value is ``(-1)**sign * significand * 2**exponent``, the significand a fraction."""

    kind: str
    sign: int
    exponent: int
    significand: Fraction

    @property
    def value(self) -> Fraction:
        return (-1) ** self.sign * self.significand * Fraction(2) ** self.exponent


def width(name: str) -> int:
    return FLOATS[name].bits if name in FLOATS else INTEGERS[name][0]


def take_apart(bits: int, name: str) -> Parts:
    fmt = FLOATS[name]
    digits = f"{bits:0{fmt.bits}b}"[: fmt.bits - fmt.unread]
    sign, field, fraction = int(digits[0]), digits[1 : 1 + fmt.exponent_bits], digits[1 + fmt.exponent_bits :]
    tail = Fraction(int(fraction, 2), 1 << fmt.fraction_bits)
    if not fmt.only_finite and "0" not in field and (not fmt.only_nan or "0" not in fraction):
        return Parts("nan" if fmt.only_nan or "1" in fraction else "infinity", sign, 0, Fraction(0))
    if "1" not in field:
        return Parts("finite" if tail else "zero", sign, fmt.emin, tail)
    return Parts("finite", sign, int(field, 2) - fmt.bias, 1 + tail)


def integer(bits: int, name: str) -> int:
    size, signed = INTEGERS[name]
    return bits - (1 << size) if signed and bits >> (size - 1) else bits


class Rounded(NamedTuple):
    bits: int
    kept: Fraction  # the kept magnitude, before the comparison with the largest number
    quantum: int  # exponent of its last place
    dropped: Fraction  # in units of the last place, before rounding
    up: bool


def round_to(value: Fraction, name: str, mode: str, infinite_overflow: bool = False) -> Rounded:
    """Round a non-zero number; its bits include its sign, even if it rounds to zero."""
    fmt, magnitude, negative = FLOATS[name], abs(value), value < 0
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    check(Fraction(2) ** exponent <= magnitude < Fraction(2) ** (exponent + 1), "the exponent of", value)
    quantum = max(exponent, fmt.emin) - fmt.fraction_bits
    places = magnitude / Fraction(2) ** quantum
    whole = places.numerator // places.denominator
    dropped = places - whole
    half = Fraction(1, 2)
    up = {
        "RZ": False,
        "RNE": dropped > half or (dropped == half and whole % 2 == 1),
        "RU": dropped > 0 and not negative,
        "RD": dropped > 0 and negative,
    }[mode]
    kept = (whole + up) * Fraction(2) ** quantum
    sign = fmt.sign_bit if negative else 0
    if whole + up == 2 << fmt.fraction_bits:
        quantum += 1
    # Patterns are consecutive: above the smallest normal number, each binade has 2**fraction_bits of them.
    steps = kept / Fraction(2) ** quantum
    check(steps.denominator == 1, "the last place of", kept)
    code = steps.numerator + (quantum + fmt.fraction_bits - fmt.emin) * (1 << fmt.fraction_bits)
    code <<= fmt.unread
    if code > fmt.largest:
        toward_zero = mode == "RZ" or (mode == "RU" and negative) or (mode == "RD" and not negative)
        code = fmt.largest if toward_zero and not infinite_overflow else fmt.infinity
    return Rounded(sign | code, kept, quantum, dropped, up)


def convert(bits: int, source: str, target: str) -> int:
    parts = take_apart(bits, source)
    sign = FLOATS[target].sign_bit if parts.sign else 0
    if parts.kind == "nan":
        return NAN[target]
    if parts.kind == "infinity":
        return sign | FLOATS[target].infinity
    return sign if parts.kind == "zero" else round_to(parts.value, target, "RNE").bits


def expanded(digits: str) -> str:
    """Expand abbreviated runs: ``0(37)`` is 37 zeros."""
    return re.sub(r"(.)\((\d+)\)", lambda run: run[1] * int(run[2]), digits)


EXACT = r"[+-]0x[0-9a-f]+(?:\.[0-9a-f()]+)?p[+-]\d+"


def read_exact(text: str) -> Fraction:
    """Write a number like ``%a``, normalised, without trailing zeros."""
    found = re.fullmatch(r"([+-])0x([01])(?:\.([0-9a-f()]+))?p([+-]\d+)", text)
    check(found is not None, "not an exact number:", text)
    sign, whole, fraction, exponent = found.groups()
    fraction = expanded(fraction or "")
    if whole == "0":
        check(not fraction and exponent == "+0", "not the zero:", text)
        return Fraction(0)
    check(not fraction.endswith("0"), "trailing zeros:", text)
    value = Fraction(int(whole + fraction, 16), 16 ** len(fraction)) * Fraction(2) ** int(exponent)
    return -value if sign == "-" else value


def check_shown(text: str, bits: int, name: str) -> None:
    """Write the exact value of a pattern, including signed zeros, or its name."""
    parts = take_apart(bits, name)
    if parts.kind == "nan":
        check(text == "NaN", text)
    elif parts.kind == "infinity":
        check(text == ("-infinity" if parts.sign else "+infinity"), text)
    else:
        check(text[0] == "+-"[parts.sign] and read_exact(text) == parts.value, text, "is not", hex(bits))


def read_pattern(text: str, name: str) -> int:
    """Write a pattern with all of its digits."""
    check(re.fullmatch(rf"0x[0-9a-f]{{{-(-width(name) // 4)}}}", text) is not None, "not a pattern of", name, text)
    return int(text, 16)


def fixed_point(text: str) -> tuple[Fraction, int]:
    """Read binary digits with a point; return the value and the number of fraction digits."""
    check(re.fullmatch(r"[01]+\.[01]*", text) is not None, "not binary:", text)
    whole, tail = text.split(".")
    return Fraction(int(whole + tail, 2), 1 << len(tail)), len(tail)


def multiply(x: Parts, y: Parts) -> Parts:
    """Return the exact product; significands below 2 give one below 4, not normalised."""
    sign, kinds = x.sign ^ y.sign, {x.kind, y.kind}
    if "nan" in kinds or kinds == {"infinity", "zero"}:
        return Parts("nan", sign, 0, Fraction(0))
    if "infinity" in kinds:
        return Parts("infinity", sign, 0, Fraction(0))
    kind = "zero" if "zero" in kinds else "finite"
    return Parts(kind, sign, x.exponent + y.exponent, x.significand * y.significand)
