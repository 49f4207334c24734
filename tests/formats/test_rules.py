# SPDX-License-Identifier: MIT
"""Facts about the formats, one at a time, with bits from IEEE 754, OCP, the PTX manual and an H200."""

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError
from wmma_emu.formats import NOT_COMPARABLE, decode, encode, format_of, ulp_distance
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.packing import pack_words, unpack_words

INFINITY = float("inf")


def value(pattern: int, fmt: str) -> float:
    return float(decode(np.array([pattern], format_of(fmt).storage), fmt)[0])


def bits(number: float, fmt: str, *modes: str) -> int:
    return int(encode(np.array([number]), fmt, *modes)[0])


@pytest.mark.parametrize(("fmt", "one", "smallest", "largest", "greatest_number"), [
    ("f32", 0x3F80_0000, 2.0**-149, 0x7F7F_FFFF, (2 - 2.0**-23) * 2.0**127),
    ("bf16", 0x3F80, 2.0**-133, 0x7F7F, (2 - 2.0**-7) * 2.0**127),
    ("f16", 0x3C00, 2.0**-24, 0x7BFF, 65504.0),
    ("e5m2", 0x3C, 2.0**-16, 0x7B, 57344.0),
    ("e4m3", 0x38, 2.0**-9, 0x7E, 448.0),
    ("e3m2", 0x0C, 0.0625, 0x1F, 28.0),
    ("e2m3", 0x08, 0.125, 0x1F, 7.5),
    ("e2m1", 0x02, 0.5, 0x07, 6.0),
])  # fmt: skip
def test_a_float_format_has_its_one_its_smallest_and_its_largest_number(fmt, one, smallest, largest, greatest_number):
    assert (value(one, fmt), value(1, fmt), value(largest, fmt)) == (1.0, smallest, greatest_number)


def test_the_eight_magnitudes_of_e2m1():
    assert [value(code, "e2m1") for code in range(8)] == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def test_e4m3_has_two_nans_and_no_infinity():
    assert np.isnan([value(0x7F, "e4m3"), value(0xFF, "e4m3")]).all() and value(0xFE, "e4m3") == -448.0


def test_e5m2_has_an_infinity_below_its_nans():
    assert value(0x7C, "e5m2") == INFINITY and np.isnan(value(0x7D, "e5m2"))


def test_ue8m0_is_a_power_of_two_or_nan_and_has_no_zero():
    assert (value(0x00, "ue8m0"), value(0x7F, "ue8m0"), value(0xFE, "ue8m0")) == (2.0**-127, 1.0, 2.0**127)
    assert np.isnan(value(0xFF, "ue8m0"))


def test_ue4m3_ignores_the_top_bit_of_its_byte():
    assert value(0x40, "ue4m3") == value(0xC0, "ue4m3") == 2.0


def test_tf32_ignores_the_low_13_bits_and_a_nan_may_become_an_infinity():
    assert value(0x3F80_1FFF, "tf32") == 1.0 and value(0x3F80_2000, "tf32") == 1 + 2.0**-10
    assert value(0x7F80_0001, "tf32") == INFINITY and np.isnan(value(0x7FC0_0000, "tf32"))


def test_integers_are_two_s_complement():
    assert [value(x, "s4") for x in (0x7, 0x8, 0xF)] == [7, -8, -1]
    assert [value(x, "u4") for x in (0x7, 0x8, 0xF)] == [7, 8, 15]


@pytest.mark.parametrize(("rounding", "plus", "minus"), [
    ("RNE", 0x6800, 0xE800), ("RNA", 0x6801, 0xE801), ("RZ", 0x6800, 0xE800),
    ("RD", 0x6800, 0xE801), ("RU", 0x6801, 0xE800), ("odd", 0x6801, 0xE801),
])  # fmt: skip
def test_the_tie_2049_between_two_f16_numbers_in_every_rounding(rounding, plus, minus):
    assert (bits(2049.0, "f16", rounding), bits(-2049.0, "f16", rounding)) == (plus, minus)


def test_a_value_is_rounded_once_and_not_through_float32():
    assert bits(1 + 2.0**-8 + 2.0**-40, "bf16") == 0x3F81


def test_overflow_follows_ieee_or_is_infinity_or_saturates():
    assert bits(65520.0, "f16") == 0x7C00 and bits(65519.0, "f16") == 0x7BFF
    assert bits(1e9, "f16", "RZ") == 0x7BFF and bits(1e9, "f16", "RZ", "infinity") == 0x7C00
    assert bits(1e9, "f16", "RNE", "saturate") == bits(INFINITY, "f16", "RNE", "saturate") == 0x7BFF


def test_overflow_of_e4m3_is_nan_unless_it_saturates():
    assert bits(464.0, "e4m3") == 0x7E and bits(465.0, "e4m3") == 0x7F
    assert bits(465.0, "e4m3", "RNE", "saturate") == 0x7E and bits(-INFINITY, "e4m3", "RNE", "saturate") == 0xFE


@pytest.mark.parametrize(("fmt", "nan"), [
    ("f64", 0xFFF8_0000_0000_0000), ("f32", 0x7FFF_FFFF), ("tf32", 0x7FFF_E000), ("f16", 0x7FFF), ("bf16", 0x7FFF),
    ("e4m3", 0x7F), ("ue8m0", 0xFF), ("e3m2", 0x1F), ("e2m3", 0x1F), ("e2m1", 0x7),
])  # fmt: skip
def test_nan_becomes_the_canonical_nan_or_the_largest_number(fmt, nan):
    assert bits(float("nan"), fmt) == nan


def test_the_distance_counts_representable_numbers_and_both_zeros_are_equal():
    x, y = np.array([0x3C00, 0x8000, 0x8001, 0x7BFF], np.uint16), np.array([0x3C02, 0x0000, 0x0001, 0x7C00], np.uint16)
    assert ulp_distance(x, y, "f16").tolist() == [2, 0, 2, 1]
    assert ulp_distance(np.array([0x7E00], np.uint16), y[:1], "f16")[0] == NOT_COMPARABLE


def test_the_first_element_of_a_register_is_in_the_lowest_bits():
    assert pack_words(np.array([0x3C00, 0x4000], np.uint16), format_of("f16")).tolist() == [0x4000_3C00]
    assert unpack_words(np.array([0x7654_3210], np.uint32), format_of("u4")).tolist() == list(range(8))


def test_a_six_bit_element_occupies_a_byte_of_a_register():
    assert pack_words(np.array([1, 2, 3, 4], np.uint8), format_of("e3m2")).tolist() == [0x0403_0201]


def test_arrays_are_read_as_bits_and_never_converted():
    assert to_bits(np.array([1.5], np.float32), "f32").tolist() == [0x3FC0_0000]
    assert from_bits(np.array([0x0F], np.uint8), "s4")[0] == -1
    with pytest.raises(FragmentMismatchError, match="A is an array of float64; expected f16"):
        to_bits(np.array([1.5]), "f16")
