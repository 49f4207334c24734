# SPDX-License-Identifier: MIT
"""Conversions between all formats."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.second_path import INTEGERS, MODES, NARROW, ROWS, RULES, round_array, round_fraction, special, value
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import FORMATS, decode, format_of
from wmma_emu.scalar import convert, reference

NARROW_SOURCES = [name for name in FORMATS if FORMATS[name].bits <= 16]


def to_integer(values, mode):
    """Round float64 values to integers, on floats; NaN is unchanged."""
    magnitude, sign = np.abs(values), np.signbit(values)
    down = np.floor(magnitude)
    inexact = down != magnitude
    rounded = {
        "RNE": np.rint(magnitude),
        "RNA": np.where(magnitude < 2**40, np.floor(magnitude + 0.5), magnitude),
        "RZ": down,
        "RD": down + (inexact & sign),
        "RU": down + (inexact & ~sign),
        "odd": down + (inexact & (np.fmod(down, 2) == 0)),
    }[mode]
    return np.where(sign, -rounded, rounded)


def expected(values, source, target, mode, rule):
    """Convert independently, for sources of at most 16 bits whose values are given as float64."""
    is_nan, is_infinite = np.isnan(values), np.isinf(values)
    if target in INTEGERS:
        bits, signed = INTEGERS[target]
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        if source in INTEGERS and rule != "saturate":
            return values.astype(np.int64) & ((1 << bits) - 1)
        with np.errstate(invalid="ignore"):
            whole = to_integer(np.where(is_nan, 0, values), mode)
        return np.clip(whole, low, high).astype(np.int64) & ((1 << bits) - 1)
    if target in ("f64", "f32", "tf32"):  # all values are exact in these formats
        with np.errstate(invalid="ignore"):
            got = values.view(np.uint64) if target == "f64" else values.astype(np.float32).view(np.uint32)
        got = got.astype(np.uint64)
    else:
        got = round_array(np.where(is_nan | is_infinite, 0, values), target, mode, rule)
    for kind, sign, where in (("nan", 0, is_nan), ("inf", 0, is_infinite & (values > 0)),
                              ("inf", 1, is_infinite & (values < 0))):  # fmt: skip
        got[where] = special(kind, sign if ROWS[target].signed else 0, ROWS[target], rule)
    return got


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.exhaustive
@pytest.mark.parametrize("source", NARROW_SOURCES)
def test_every_pattern_converts_to_every_format_according_to_its_value(source):
    fmt = format_of(source)
    bits = np.arange(1 << fmt.bits, dtype=fmt.storage)
    values = decode(bits, fmt)
    for target in FORMATS:
        for mode in MODES if fmt.bits < 16 or target in INTEGERS or target in NARROW else ("RNE",):
            for rule in RULES:
                got = convert(bits, source, target, mode, rule)
                assert got.dtype == format_of(target).storage
                want = bits if source == target and rule != "saturate" else expected(values, source, target, mode, rule)
                wrong = got.astype(np.int64) != want.astype(np.int64)
                assert not wrong.any(), (target, mode, rule, bits[wrong][:3], got[wrong][:3])


@pytest.mark.parametrize("source", FORMATS)
def test_arrays_agree_with_the_reference(source):
    fmt = format_of(source)
    rng = np.random.default_rng(8)
    bits = rng.integers(0, fmt.mask, 40, np.uint64, endpoint=True).astype(fmt.storage)
    if source in ("f32", "tf32", "f64"):  # half of them in the range of integers and narrow formats
        exponent = rng.integers(fmt.bias - 20, fmt.bias + 36, 20).astype(np.uint64)
        exponent <<= np.uint64(fmt.fraction_bits + fmt.ignored_low_bits)
        keep = fmt.sign_mask | ((1 << (fmt.fraction_bits + fmt.ignored_low_bits)) - 1)
        bits[::2] = (bits[::2] & fmt.storage.type(keep)) | exponent.astype(fmt.storage)
        bits[:4] = [fmt.infinity, fmt.infinity | fmt.sign_mask, fmt.canonical_nan, fmt.max_finite]
    for target in map(format_of, FORMATS):
        for mode in MODES:
            for rule in RULES:
                want = [reference.convert(b, fmt, target, mode, rule) for b in bits.tolist()]
                assert convert(bits, fmt, target, mode, rule).tolist() == want, (target.name, mode, rule)


@pytest.mark.property
@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(["f64", "f32", "tf32"]),
    st.sampled_from(sorted(ROWS)),
    st.sampled_from(MODES),
    st.sampled_from(RULES),
    st.lists(st.tuples(st.integers(0, 1), st.integers(-160, 140), st.integers(0, 2**52 - 1)), min_size=1, max_size=8),
)
def test_wide_floats_round_to_floats_as_the_fraction_does(source, target, mode, rule, numbers):
    row = ROWS[source]
    width = row.m + row.low
    bits = [
        s * row.sign_bit | min(max(e + row.bias, 0), (1 << row.e) - 2) << width | f >> (52 - width)
        for s, e, f in numbers
    ]
    got = convert(np.array(bits, format_of(source).storage), source, target, mode, rule).tolist()
    for word, converted in zip(bits, got, strict=True):
        sign, size = value(word, row)
        if source == target and rule != "saturate":
            assert converted == word
        else:
            assert converted == round_fraction(sign, size, ROWS[target], mode, rule)


@pytest.mark.property
@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(["f64", "f32", "s32"]),
    st.sampled_from(sorted(INTEGERS)),
    st.sampled_from(MODES),
    st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 40), st.integers(0, 2**52 - 1)), min_size=1, max_size=8),
)
def test_wide_sources_become_integers_as_the_fraction_does(source, target, mode, numbers):
    bits, signed = INTEGERS[target]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if source == "s32":
        words = [(f & 0xFFFFFFFF) >> (e % 32) for _, e, f in numbers]
        exact = [Fraction(w - (w >> 31 << 32)) for w in words]
    else:
        row = ROWS[source]
        words = [s * row.sign_bit | (e + row.bias) << row.m | f >> (52 - row.m) for s, e, f in numbers]
        exact = [(-1) ** sign * size for sign, size in (value(w, row) for w in words)]
    got = convert(np.array(words, format_of(source).storage), source, target, mode, "saturate").tolist()
    for x, converted in zip(exact, got, strict=True):
        floor = abs(x).numerator // abs(x).denominator
        tie = (abs(x) - floor > Fraction(1, 2)) - (abs(x) - floor < Fraction(1, 2))
        up = {"RNE": tie > 0 or (tie == 0 and floor % 2), "RNA": tie >= 0, "RZ": 0, "RD": x < 0, "RU": x > 0,
              "odd": floor % 2 == 0}[mode]  # fmt: skip
        whole = floor + int(bool(up) and abs(x) != floor)
        assert converted == min(max(-whole if x < 0 else whole, low), high) & ((1 << bits) - 1)


@pytest.mark.parametrize(
    ("source", "target", "mode", "rule", "given", "bits"),
    [
        ("f32", "s32", "RNE", "ieee", 0x7FC00000, 0),  # NaN
        ("f64", "s32", "RNE", "ieee", 0x7FF8000000000000, 0x80000000),  # PTX: different from f64
        ("f64", "u8", "RNE", "ieee", 0x7FF8000000000000, 0x80),
        ("f32", "s32", "RZ", "ieee", 0x4F000000, 0x7FFFFFFF),  # 2**31 is clamped
        ("f32", "s32", "RZ", "ieee", 0xFF800000, 0x80000000),
        ("f32", "u8", "RZ", "ieee", 0xBF800000, 0),
        ("f64", "s32", "RNE", "ieee", 0x41DFFFFFFFDFFFFF, 0x7FFFFFFF),
        ("bf16", "s32", "RZ", "ieee", 0x4E80, 0x40000000),  # 2**30 has 23 zeros below its 8 bits
        ("s32", "f32", "RNE", "ieee", 0x01000001, 0x4B800000),
        ("s32", "f32", "RU", "ieee", 0x01000001, 0x4B800001),
        ("s32", "f16", "RNE", "saturate", 0x80000000, 0xFBFF),
        ("s32", "s8", "RNE", "ieee", 0x00000180, 0x80),  # cvt keeps the low bits
        ("s32", "s8", "RNE", "saturate", 0x00000180, 0x7F),  # cvt.sat
        ("s32", "u8", "RNE", "saturate", 0xFFFFFFFF, 0),
        ("u8", "ue8m0", "RZ", "ieee", 200, 0x7F + 7),
        ("s8", "u4", "RNE", "ieee", 0xFF, 0xF),
        ("f16", "f32", "RNE", "ieee", 0xFE01, 0x7FFFFFFF),
        ("f32", "e2m1", "RNE", "saturate", 0xFFC00000, 0x7),
        ("f32", "e4m3", "RNE", "saturate", 0xFF800000, 0xFE),
        ("f32", "e5m2", "RNE", "saturate", 0x7F800000, 0x7B),
        ("f32", "ue8m0", "RU", "saturate", 0xC0400000, 0x81),  # cvt.rp.satfinite.ue8m0x2.f32 of -3
        ("f32", "tf32", "RNA", "ieee", 0x3F801000, 0x3F802000),  # cvt.rna.tf32.f32
        ("tf32", "tf32", "RNE", "ieee", 0x3F801FFF, 0x3F801FFF),
        ("tf32", "f32", "RNE", "ieee", 0x3F801FFF, 0x3F800000),
        ("f64", "f64", "RNE", "ieee", 0x7FF0000000000001, 0x7FF0000000000001),
        ("f32", "f32", "RNE", "saturate", 0xFF800000, 0xFF7FFFFF),
    ],
)
def test_one_pattern_converts_to_known_bits(source, target, mode, rule, given, bits):
    source, target = format_of(source), format_of(target)
    assert hex(reference.convert(given, source, target, mode, rule)) == hex(bits)
    got = convert(np.array(given, source.storage), source, target, mode, rule)
    assert got.shape == () and hex(int(got)) == hex(bits)


def test_the_result_is_never_the_input_array():
    bits = np.array([1, 2], np.uint16)
    convert(bits, "f16", "f16")[:] = 0
    assert bits.tolist() == [1, 2]


def test_arguments_that_are_not_arrays_of_patterns_are_rejected():
    with pytest.raises(FragmentMismatchError, match=r"convert takes f32 patterns as unsigned .* not float32"):
        convert(np.zeros(2, np.float32), "f32", "f16")
    with pytest.raises(FragmentMismatchError, match="not list"):
        convert([1, 2], "f32", "f16")
    with pytest.raises(UnsupportedInstructionError, match="no rounding 'rz'"):
        convert(np.zeros(2, np.uint32), "f32", "f16", "rz")
    with pytest.raises(UnsupportedInstructionError, match="there is no format 'half'"):
        convert(np.zeros(2, np.uint32), "f32", "half")
