# SPDX-License-Identifier: MIT
"""Decoding and encoding of every code, against two independent implementations."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.second_path import (
    MODES,
    NARROW,
    ROWS,
    RULES,
    interesting_values,
    round_array,
    round_fraction,
    special,
    value,
)
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import FORMATS, decode, encode, format_of, reference, round_pack, unpack

pytest.importorskip("gfloat")
import gfloat
import gfloat.formats as gf

GFLOAT = {
    "f16": gf.format_info_binary16,
    "bf16": gf.format_info_bfloat16,
    "e5m2": gf.format_info_ocp_e5m2,
    "e4m3": gf.format_info_ocp_e4m3,
    "e3m2": gf.format_info_ocp_e3m2,
    "e2m3": gf.format_info_ocp_e2m3,
    "e2m1": gf.format_info_ocp_e2m1,
    "ue8m0": gf.format_info_ocp_e8m0,
}
GFLOAT_MODES = {
    "RNE": gfloat.RoundMode.TiesToEven,
    "RZ": gfloat.RoundMode.TowardZero,
    "RD": gfloat.RoundMode.TowardNegative,
    "RU": gfloat.RoundMode.TowardPositive,
    "RNA": gfloat.RoundMode.TiesToAway,
}
ML_DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
}


def all_codes(name):
    fmt = format_of(name)
    return np.arange(1 << fmt.bits, dtype=fmt.storage)


def bits_of(values):
    """Return float64 patterns with all NaNs replaced by one."""
    return np.where(np.isnan(values), np.uint64(0x7FF8 << 48), np.asarray(values, np.float64).view(np.uint64))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NARROW)
def test_every_code_decodes_to_the_fraction_given_by_its_fields(name):
    kinds = {"nan": np.nan, "inf": np.inf}
    want = []
    for code in all_codes(name):
        sign, size = value(int(code), ROWS[name])
        size = kinds.get(size, size) if isinstance(size, str) else float(size)
        want.append(-size if sign else size)
    assert np.array_equal(bits_of(decode(all_codes(name), format_of(name))), bits_of(np.array(want)))


@pytest.mark.exhaustive
@pytest.mark.oracle
@pytest.mark.parametrize("name", GFLOAT)
def test_every_code_decodes_as_in_gfloat(name):
    codes = all_codes(name)
    want = gfloat.decode_ndarray(GFLOAT[name], codes.astype(np.int64))
    assert np.array_equal(bits_of(decode(codes, format_of(name))), bits_of(want))


@pytest.mark.exhaustive
@pytest.mark.oracle
@pytest.mark.parametrize("name", ML_DTYPES)
def test_every_code_decodes_as_in_ml_dtypes(name):
    codes = all_codes(name)
    with np.errstate(invalid="ignore"):  # its signalling NaNs
        want = codes.view(ML_DTYPES[name]).astype(np.float64)
    assert np.array_equal(bits_of(decode(codes, format_of(name))), bits_of(want))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in FORMATS if not FORMATS[name].is_float and name != "s32"])
def test_every_integer_code_decodes_to_its_value(name):
    fmt = format_of(name)
    want = [c - (1 << fmt.bits) if fmt.signed and c >> (fmt.bits - 1) else c for c in range(1 << fmt.bits)]
    assert decode(all_codes(name), fmt).tolist() == want


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NARROW)
def test_arrays_are_unpacked_like_numbers_in_the_reference(name):
    fmt = format_of(name)
    u = unpack(all_codes(name), fmt)
    for code in range(1 << fmt.bits):
        one = reference.unpack(code, fmt)
        assert one.sign == u.sign[code] and one.significand == u.significand[code]
        assert (one.kind == "nan", one.kind == "infinity") == (u.is_nan[code], u.is_infinity[code])
        assert one.kind in ("nan", "infinity") or one.exponent == u.exponent[code]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NARROW)
def test_every_value_midpoint_and_neighbour_encodes_as_in_the_table(name):
    values = interesting_values(name)
    for mode in MODES:
        for rule in RULES:
            want = round_array(values, name, mode, rule)
            got = encode(values, format_of(name), mode, rule).astype(np.uint64)
            assert np.array_equal(got, want), (mode, rule, values[got != want][:3])


@pytest.mark.exhaustive
@pytest.mark.oracle
@pytest.mark.parametrize("name", GFLOAT)
def test_every_value_midpoint_and_neighbour_encodes_as_in_gfloat(name):
    info, fmt = GFLOAT[name], format_of(name)
    values = interesting_values(name)
    if name == "ue8m0":  # gfloat gives zero and negative numbers other codes, and rounds ties to even exponents
        values = values[values >= info.smallest]
    for mode, theirs in GFLOAT_MODES.items():
        for saturate in (False, True):
            v = values
            if name == "ue8m0" and mode == "RNE":
                v = v[np.frexp(v)[0] != 0.75]
            if not (saturate or info.num_nans or fmt.has_infinity):
                v = v[np.abs(v) <= info.max]
            rounded = gfloat.round_ndarray(info, v, theirs, sat=saturate)
            want = gfloat.encode_ndarray(info, rounded)
            got = encode(v, fmt, mode, "saturate" if saturate else "ieee").astype(np.uint64)
            is_nan = np.isnan(rounded)
            assert np.array_equal(got[~is_nan], want[~is_nan]), (mode, saturate)
            assert (got[is_nan] == fmt.canonical_nan).all()


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", NARROW)
def test_the_reference_and_both_independent_paths_round_alike(name):
    fmt, row = format_of(name), ROWS[name]
    values = interesting_values(name)
    if len(values) > 600:
        values = np.random.default_rng(7).choice(values, 600, replace=False)
    for mode in MODES:
        for rule in RULES:
            got = encode(values, fmt, mode, rule).tolist()
            for x, bits in zip(values.tolist(), got, strict=True):
                size, sign = Fraction(abs(x)), int(np.signbit(x))
                exponent = 1 - size.denominator.bit_length()
                assert reference.round_pack(sign, size.numerator, exponent, fmt, mode, rule) == bits
                assert round_fraction(sign, size, row, mode, rule) == bits


@pytest.mark.thorough
@pytest.mark.property
@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(sorted(ROWS)),
    st.sampled_from(MODES),
    st.sampled_from(RULES),
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 2**62 - 1) | st.integers(0, 2**12), st.integers(-1150, 1050)),
        min_size=1,
        max_size=8,
    ),
)
def test_any_significand_and_exponent_round_as_the_fraction_does(name, mode, rule, numbers):
    fmt = format_of(name)
    if name not in ("f64",):  # limit the exponents to the range of the format
        numbers = [(s, m, e % 420 - 260) for s, m, e in numbers]
    sign, significand, exponent = (np.array(column) for column in zip(*numbers, strict=True))
    got = round_pack(sign, significand.astype(np.int64), exponent.astype(np.int64), fmt, mode, rule).tolist()
    for (s, m, e), bits in zip(numbers, got, strict=True):
        assert bits == round_fraction(int(s), m * Fraction(2) ** e, ROWS[name], mode, rule)
        assert bits == reference.round_pack(int(s), m, e, fmt, mode, rule)


@pytest.mark.parametrize("mode", MODES)
def test_a_sticky_bit_represents_a_value_between_two_significands(mode):
    fmt = format_of("e5m2")
    significand = np.arange(1 << 7, 1 << 8)
    for exponent in (-3, -20, -24, 8, 9):
        got = round_pack(np.zeros(128, bool), significand, np.full(128, exponent), fmt, mode, sticky=np.ones(128, bool))
        exact = round_pack(np.zeros(128, bool), 2 * significand + 1, np.full(128, exponent - 1), fmt, mode)
        assert np.array_equal(got, exact)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("rule", RULES)
def test_infinities_and_nan_become_their_replacements(name, rule):
    got = encode(np.array([np.inf, -np.inf, np.nan, -np.nan]), format_of(name), "RZ", rule).tolist()
    kinds = (("inf", 0), ("inf", 1), ("nan", 0), ("nan", 1))
    assert got == [special(kind, sign if ROWS[name].signed else 0, ROWS[name], rule) for kind, sign in kinds]


@pytest.mark.parametrize(
    ("name", "given", "mode", "rule", "bits"),
    [
        ("bf16", 1 + 2**-8 + 2**-40, "RNE", "ieee", 0x3F81),  # ml_dtypes' cast through float32 gives 0x3f80
        ("e4m3", 464.0, "RNE", "ieee", 0x7E),  # the midpoint beyond 448 is a tie, and 448 is the even one
        ("e4m3", 464.1, "RNE", "ieee", 0x7F),
        ("e4m3", -1000.0, "RNE", "ieee", 0x7F),  # NaN has no sign
        ("e4m3", -1000.0, "RNE", "saturate", 0xFE),
        ("e4m3", 1000.0, "RZ", "ieee", 0x7E),
        ("e4m3", 1000.0, "RZ", "infinity", 0x7F),
        ("e2m1", np.nan, "RNE", "saturate", 0x7),  # PTX: NaN becomes positive MAX_NORM
        ("e2m1", -np.inf, "RNE", "saturate", 0xF),
        ("ue8m0", -3.0, "RZ", "ieee", 0x80),  # the sign is dropped
        ("ue8m0", -3.0, "RU", "ieee", 0x81),
        ("ue8m0", 3.0, "RNE", "ieee", 0x81),  # a midpoint goes up
        ("ue8m0", 0.0, "RZ", "ieee", 0x00),  # clipped to 2**-127
        ("ue8m0", 2.0**-140, "RU", "ieee", 0x00),
        ("ue8m0", 2.0**-126 * 0.75, "RNE", "ieee", 0x01),
        ("ue8m0", np.inf, "RU", "saturate", 0xFE),
        ("ue8m0", np.inf, "RU", "ieee", 0xFF),
        ("ue8m0", 2.0**128, "RZ", "infinity", 0xFF),
        ("f32", 2.0**-150, "RNE", "ieee", 0x0),
        ("f32", -(2.0**-150), "RNA", "ieee", 0x80000001),
        ("tf32", 1 + 2**-11, "RNA", "ieee", 0x3F802000),
        ("f16", 65520.0, "RNE", "ieee", 0x7C00),
        ("f16", 65536.0, "RZ", "infinity", 0x7C00),
        ("f16", 65519.99, "RNE", "ieee", 0x7BFF),
    ],
)
def test_one_value_encodes_to_known_bits(name, given, mode, rule, bits):
    assert hex(int(encode(np.float64(given), format_of(name), mode, rule))) == hex(bits)


def test_tf32_ignores_its_low_bits():
    words = np.array([0x3F801FFF, 0x7F801FFF, 0x7F802000], np.uint32)
    assert decode(words, format_of("tf32")).tolist()[:2] == [1.0, np.inf]
    assert unpack(words, format_of("tf32")).is_nan.tolist() == [False, False, True]


def test_ue4m3_ignores_the_top_bit():
    codes = np.arange(128, dtype=np.uint8)
    high = decode(codes | np.uint8(0x80), format_of("ue4m3"))
    assert np.array_equal(bits_of(decode(codes, format_of("ue4m3"))), bits_of(high))


def test_f64_decodes_and_encodes_bit_for_bit():
    bits = np.random.default_rng(3).integers(0, 0x7FF0000000000000, 5000, np.uint64)
    assert np.array_equal(decode(bits, format_of("f64")).view(np.uint64), bits)
    assert np.array_equal(encode(decode(bits, format_of("f64")), format_of("f64")), bits)


def test_shape_strides_and_byte_order_do_not_matter():
    values = np.random.default_rng(4).standard_normal((6, 8))
    want = encode(values, format_of("bf16"))
    assert np.array_equal(encode(values.astype(">f8"), format_of("bf16")), want)
    assert np.array_equal(encode(values[::2, ::-1], format_of("bf16")), want[::2, ::-1])
    assert np.array_equal(encode(values.T, format_of("bf16")), want.T)
    assert encode(np.float32(1), format_of("f16")).shape == () == decode(np.uint16(1), format_of("f16")).shape
    assert encode(np.zeros((0, 3)), format_of("f16")).shape == (0, 3)


@pytest.mark.parametrize("values", [np.arange(3), [1, 2], np.array([1.0], np.complex128), np.array(["1"]), None])
def test_encode_rejects_values_that_are_not_floats(values):
    with pytest.raises(FragmentMismatchError, match="encode takes float64"):
        encode(values, format_of("f16"))


def test_unknown_names_are_rejected():
    one = np.ones(1)
    with pytest.raises(UnsupportedInstructionError, match="no rounding 'RN'; the roundings are RNE"):
        encode(one, format_of("f16"), "RN")
    with pytest.raises(UnsupportedInstructionError, match="no overflow rule 'satfinite'; the rules are ieee"):
        encode(one, format_of("f16"), overflow="satfinite")
    with pytest.raises(UnsupportedInstructionError, match=r"s8 is not a floating-point format; .*convert"):
        encode(one, format_of("s8"))
    text = r"there is no format 'fp16'; did you mean 'f16'\? The formats are f64"
    with pytest.raises(UnsupportedInstructionError, match=text):
        format_of("fp16")
    for name in (np.array(["RNE", "RZ"]), ["RNE"], None):
        with pytest.raises(UnsupportedInstructionError, match="the roundings are RNE"):
            encode(one, format_of("f16"), name)
        with pytest.raises(UnsupportedInstructionError, match="the rules are ieee"):
            encode(one, format_of("f16"), overflow=name)
        with pytest.raises(UnsupportedInstructionError, match="the formats are f64"):
            format_of(name)


def test_the_table_agrees_with_the_second_path():
    for name, row in ROWS.items():
        fmt = format_of(name)
        assert fmt.max_finite == row.max_code << row.low and fmt.sign_mask == row.sign_bit
        assert fmt.canonical_nan == row.nan and fmt.source and fmt.status


@pytest.mark.parametrize("read", [decode, unpack])
@pytest.mark.parametrize("given", [[1], None, 1, "1", np.ones(2), np.array([-1], np.int16), np.array([True])])
def test_only_unsigned_arrays_are_accepted_as_patterns(read, given):
    with pytest.raises(FragmentMismatchError, match="f16 patterns are unsigned integers of NumPy, such as uint16, not"):
        read(given, format_of("f16"))


@pytest.mark.parametrize("given", [[[1.0], [1.0, 2.0]], np.ma.array([1.0], mask=True), None, "1", [1 + 2j]])
def test_only_arrays_of_floats_are_encoded(given):
    with pytest.raises(FragmentMismatchError):
        encode(given, format_of("f16"))
