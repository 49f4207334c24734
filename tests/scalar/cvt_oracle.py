# SPDX-License-Identifier: MIT
"""An independent ``cvt``: on fractions for one number, and on float64 for all patterns of 16 bits.

The package provides only the form to compute. Clamping precedes rounding.
"""

from fractions import Fraction

import numpy as np

from tests.formats.second_path import ROWS, round_array, round_fraction, special, value

MODES = {"": "RNE", "rn": "RNE", "rz": "RZ", "rm": "RD", "rp": "RU", "rna": "RNA"}
MODES |= {f"{x}i": MODES[x] for x in ("rn", "rz", "rm", "rp")}
SMALLEST = Fraction(1, 1 << 126)
"""The smallest normal f32."""


def parts(name):
    """Return element, count and slot bits of a type such as ``"e2m1x2"``."""
    element, _, count = name.partition("x")
    if element in ROWS:
        row = ROWS[element]
        bits = 1 + row.e + row.m + row.low if row.signed else 8
        return element, int(count or 1), 4 if bits == 4 else next(w for w in (8, 16, 32, 64) if w >= bits)
    return element, 1, int(element[1:])


def split(word, name):
    """Return the elements of a register, lowest first."""
    _, count, slot = parts(name)
    return [int(word) >> (i * slot) & ((1 << slot) - 1) for i in range(count)]


def limits(name):
    bits = int(name[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def nan_integer(source, target):
    return 1 << (int(target[1:]) - 1) if source == "f64" or target in ("s64", "u64") else 0


def whole(size, mode, sign):
    """Round a non-negative fraction to an integer."""
    floor = size.numerator // size.denominator
    rest = 2 * (size - floor)
    up = {"RNE": rest > 1 or (rest == 1 and floor % 2), "RZ": False, "RD": sign, "RU": not sign}[mode]
    return floor + int(bool(up) and rest != 0)


FRACTIONS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def moved_nan(word, source, target, canonical_first):
    """Return a NaN as sign, ones, the quiet bit, and the upper payload bits, truncated or padded with zeros."""
    digits = f"{0x7FFFFFFF if canonical_first else word:0{WIDTHS[source]}b}"
    payload = digits[-FRACTIONS[source] + 1 :].ljust(52, "0")[: FRACTIONS[target] - 1]
    return int(digits[0] + "1" * (WIDTHS[target] - 1 - FRACTIONS[target]) + "1" + payload, 2)


def convert_one(word, form):
    """Convert one element with fractions."""
    source, target = parts(form.source)[0], parts(form.target)[0]
    words, mode = form.modifiers, MODES[form.rounding]
    if source in ROWS:
        sign, size = value(word, ROWS[source])
    else:
        low, _ = limits(source)
        number = word - (1 << int(source[1:])) if low and word >> (int(source[1:]) - 1) else word
        sign, size = int(number < 0), Fraction(abs(number))
    special_number = isinstance(size, str)
    if "ftz" in words and source == "f32" and target != "f16" and not special_number and size < SMALLEST:
        size = Fraction(0)
    if target not in ROWS:
        low, high = limits(target)
        mask = (1 << int(target[1:])) - 1
        if size == "nan":
            return nan_integer(source, target)
        if size == "inf":
            return (low if sign else high) & mask
        rounded = whole(size, mode, sign)
        number = -rounded if sign else rounded
        return (min(max(number, low), high) if source in ROWS or "sat" in words else number) & mask
    row = ROWS[target]
    overflow = "saturate" if "satfinite" in words else "ieee"
    if form.nan == "kept" and size == "nan":
        return word << (32 - 16) if (source, target) == ("bf16", "f32") else word
    if form.nan == "moved" and size == "nan" and "sat" not in words:
        return moved_nan(word, source, target, "ftz" in words and source == "f32")
    if form.nan == "cut" and size in ("nan", "inf"):
        return (word & ~0x1FFF) - (0x2000 if overflow == "saturate" else 0)
    if "sat" in words:
        sign, size = (0, Fraction(0)) if size == "nan" or sign else (0, Fraction(1) if size == "inf" else min(size, 1))
    if "relu" in words and sign and size != "nan":
        sign, size = 0, Fraction(0)
    if isinstance(size, str):
        return special(size, sign, row, overflow)
    if form.rounding.endswith("i"):
        size = Fraction(whole(size, mode, sign))
    if "ftz" in words and target == "f32" and whole(size / SMALLEST * (1 << 24), mode, sign) < 1 << 24:
        size = Fraction(0)
    return round_fraction(sign, size, row, mode, overflow)


def convert_word(a, form, b=None):
    """Convert a whole register with fractions; a goes to the upper half if there are two sources."""
    elements = [b, a] if b is not None else split(a, form.source)
    slot = parts(form.target)[2]
    return sum(convert_one(x, form) << (i * slot) for i, x in enumerate(elements))


def values_of(bits, name):
    """Return patterns of at most 16 bits as float64."""
    if name not in ROWS:
        size, number = int(name[1:]), bits.astype(np.int64)
        return (number - (number >> (size - 1) << size if name[0] == "s" else 0)).astype(np.float64)
    numbers = [value(x, ROWS[name]) for x in range(1 << (8 * bits.itemsize))]
    table = [float(x) if isinstance(x, str) else x.numerator / x.denominator for _, x in numbers]
    return np.array([-x if s else x for (s, _), x in zip(numbers, table, strict=True)])[bits]


def to_whole(values, mode):
    with np.errstate(invalid="ignore"):
        return {"RNE": np.rint, "RZ": np.trunc, "RD": np.floor, "RU": np.ceil}[mode](values)


def convert_all(bits, values, form):
    """Convert all elements of at most 16 bits, given with their values as float64."""
    source, target = parts(form.source)[0], parts(form.target)[0]
    words, mode = form.modifiers, MODES[form.rounding]
    is_nan = np.isnan(values)
    if target not in ROWS:
        low, high = limits(target)
        mask = (1 << int(target[1:])) - 1
        rounded = to_whole(values, mode)
        if source in ROWS or "sat" in words:
            inside = (rounded >= low) & (rounded < high)  # a bound that is not a float64 was rounded up
            result = np.where(rounded < 0, np.uint64(low & mask), np.uint64(high))
        else:
            inside, result = np.ones(bits.shape, bool), np.zeros(bits.shape, np.uint64)
        result[inside] = rounded[inside & ~is_nan].astype(np.int64 if low or source[0] == "s" else np.uint64).view(
            np.uint64
        ) & np.uint64(mask)
        result[is_nan] = nan_integer(source, target)
        return result
    if "sat" in words:
        values, is_nan = np.where(is_nan | np.signbit(values), 0.0, np.minimum(values, 1.0)), np.zeros(bits.shape, bool)
    if "relu" in words:
        values = np.where(np.signbit(values) & ~is_nan, 0.0, values)
    if form.rounding.endswith("i"):
        values, mode = to_whole(values, mode), "RNE"
    if "ftz" in words:
        values = np.where(np.abs(values) < float(SMALLEST), np.copysign(0.0, values), values)
    infinite = np.isinf(values)
    if target == "f64":
        result = values.view(np.uint64).copy()
    elif target == "f32":
        with np.errstate(invalid="ignore"):
            result = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    else:
        rule = "saturate" if "satfinite" in words else "ieee"
        result = round_array(np.where(is_nan | infinite, 0, values), target, mode, rule).astype(np.uint64)
        for sign in (0, 1):
            result[infinite & (np.signbit(values) == sign)] = special("inf", sign, ROWS[target], rule)
    moved = bits.astype(np.uint64) << np.uint64(16 if (source, target) == ("bf16", "f32") else 0)
    if form.nan == "moved":
        result[is_nan] = [moved_nan(int(x), source, target, False) for x in bits[is_nan]]
        return result
    result[is_nan] = moved[is_nan] if form.nan == "kept" else special("nan", 0, ROWS[target])
    return result
