# SPDX-License-Identifier: MIT
"""An independent definition of the formats: fractions and tables of values, without the package's code."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

MODES = ("RNE", "RZ", "RD", "RU", "RNA", "odd")
RULES = ("ieee", "infinity", "saturate")


@dataclass(frozen=True)
class PlainFormat:
    """A format: exponent bits, fraction bits, bias, meaning of the top exponent, sign, ignored bits, canonical NaN."""

    name: str
    e: int
    m: int
    bias: int
    top: str = "ieee"
    signed: bool = True
    low: int = 0
    nan: int = -1

    @property
    def max_code(self):
        """Return the code of the largest finite magnitude, without the ignored low bits."""
        codes = 1 << (self.e + self.m)
        return {"ieee": codes - (1 << self.m), "one_nan": codes - 1, "finite": codes}[self.top] - 1

    @property
    def sign_bit(self):
        return 1 << (self.e + self.m + self.low) if self.signed else 0


ROWS = {
    row.name: row
    for row in (
        PlainFormat("f64", 11, 52, 1023, nan=0xFFF8000000000000),
        PlainFormat("f32", 8, 23, 127, nan=0x7FFFFFFF),
        PlainFormat("tf32", 8, 10, 127, low=13, nan=0x7FFFE000),
        PlainFormat("bf16", 8, 7, 127, nan=0x7FFF),
        PlainFormat("f16", 5, 10, 15, nan=0x7FFF),
        PlainFormat("e4m3", 4, 3, 7, "one_nan", nan=0x7F),
        PlainFormat("e5m2", 5, 2, 15, nan=0x7F),
        PlainFormat("e3m2", 3, 2, 3, "finite"),
        PlainFormat("e2m3", 2, 3, 1, "finite"),
        PlainFormat("e2m1", 2, 1, 1, "finite"),
        PlainFormat("ue8m0", 8, 0, 127, "one_nan", signed=False, nan=0xFF),
        PlainFormat("ue4m3", 4, 3, 7, "one_nan", signed=False, nan=0x7F),
    )
}
NARROW = [name for name in ROWS if name not in ("f64", "f32", "tf32")]
INTEGERS = {"s32": (32, True), "s8": (8, True), "u8": (8, False), "s4": (4, True), "u4": (4, False), "b1": (1, False)}


def magnitude(code, row):
    """Return the value of a magnitude code; above ``max_code`` as if the exponent were unbounded."""
    biased, fraction = code >> row.m, code & ((1 << row.m) - 1)
    if row.name == "ue8m0":
        return Fraction(2) ** (code - row.bias)
    if biased == 0:
        return Fraction(fraction) * Fraction(2) ** (1 - row.bias - row.m)
    return Fraction(fraction + (1 << row.m)) * Fraction(2) ** (biased - row.bias - row.m)


def value(bits, row):
    """Return the value of a pattern: (sign, Fraction), or (sign, "nan"), (sign, "inf")."""
    sign = int(bool(bits & row.sign_bit))
    code = (bits >> row.low) & ((1 << (row.e + row.m)) - 1)
    if code <= row.max_code:
        return sign, magnitude(code, row)
    return sign, "inf" if row.top == "ieee" and code == row.max_code + 1 else "nan"


def special(kind, sign, row, overflow="ieee"):
    """Return the pattern of an infinity or NaN, or its replacement in the format."""
    largest = row.max_code << row.low | (row.sign_bit if sign else 0)
    if kind == "nan":
        return row.nan if row.top != "finite" else row.max_code << row.low
    if overflow == "saturate" or row.top == "finite":
        return largest
    return (row.max_code + 1) << row.low | (row.sign_bit if sign else 0) if row.top == "ieee" else row.nan


def goes_up(mode, sign, comparison, odd):
    """Return whether the value is rounded to the upper neighbour; ``comparison`` compares it with the midpoint."""
    return {
        "RZ": False,
        "RD": bool(sign),
        "RU": not sign,
        "odd": not odd,
        "RNE": comparison > 0 or (comparison == 0 and odd),
        "RNA": comparison >= 0,
    }[mode]


def round_fraction(sign, exact, row, mode="RNE", overflow="ieee"):
    """Round a non-negative Fraction by bisection over the magnitude codes."""
    sign = sign if row.signed else 0
    low, high = 0, row.max_code + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if magnitude(middle, row) <= exact else (low, middle)
    below, above = magnitude(low, row), magnitude(high, row)
    code = low
    if exact >= above:
        code = high
    elif exact > below:
        distance = 2 * exact - below - above
        odd = low % 2 == 1 or row.name == "ue8m0"
        code += goes_up(mode, sign, (distance > 0) - (distance < 0), odd)
    if code > row.max_code:
        toward_zero = mode in ("RZ", "odd") or mode == ("RU" if sign else "RD")
        if overflow == "saturate" or (overflow == "ieee" and toward_zero):
            return row.max_code << row.low | (row.sign_bit if sign else 0)
        return special("inf", sign, row)
    return code << row.low | (row.sign_bit if sign else 0)


@cache
def table(name):
    """Return the float64 values of all magnitude codes up to the one after the largest."""
    row = ROWS[name]
    return np.array([float(magnitude(code, row)) for code in range(row.max_code + 2)])


def round_array(values, name, mode, overflow):
    """Round finite float64 values by bisection in the table, like `round_fraction`."""
    row, t = ROWS[name], table(name)
    size = np.abs(values)
    sign = np.signbit(values) & row.signed
    low = np.clip(np.searchsorted(t, size, side="right") - 1, 0, row.max_code)
    middle = (t[low] + t[low + 1]) / 2  # exact: the formats have at most 11 bits, float64 has 53
    odd = (low % 2 == 1) | (name == "ue8m0")
    inexact = (size != t[low]) & (size > t[0])
    up = {
        "RZ": size >= t[-1],
        "RD": sign | (size >= t[-1]),
        "RU": ~sign | (size >= t[-1]),
        "odd": ~odd | (size >= t[-1]),
        "RNE": (size > middle) | ((size == middle) & odd),
        "RNA": size >= middle,
    }[mode]
    code = low + (inexact & up)
    bits = (code.astype(np.uint64) << np.uint64(row.low)) | np.where(sign, np.uint64(row.sign_bit), np.uint64(0))
    for s in (0, 1):
        toward_zero = mode in ("RZ", "odd") or mode == ("RU" if s else "RD")
        limit = row.max_code << row.low | (row.sign_bit if s else 0)
        keeps = overflow == "saturate" or (overflow == "ieee" and toward_zero)
        bits[(code > row.max_code) & (sign == s)] = limit if keeps else special("inf", s, row)
    return bits


def interesting_values(name):
    """Return the values of a format, their midpoints, and the adjacent float64 numbers of each, with both signs."""
    t = table(name)
    points = np.concatenate([t, (t[:-1] + t[1:]) / 2, t[-1:] * 1.5, t[-1:] * 2, t[-1:] * 2**20])
    if name == "ue8m0":
        points = np.concatenate([points, [0.0, 2.0**-128, 1.5 * 2.0**-128, 2.0**-1074]])
    sides = np.concatenate([points, np.nextafter(points, np.inf), np.abs(np.nextafter(points, -np.inf))])
    return np.concatenate([sides, -sides])
