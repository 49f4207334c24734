# SPDX-License-Identifier: MIT
"""The rules of the tools for tests, one fact each: patterns, distances, comparisons bit for bit, lazy imports."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import NOT_COMPARABLE
from wmma_emu.testing import assert_bits_equal, bits, from_bits, ulp_distance


def message(actual, expected, format=None):
    with pytest.raises(AssertionError) as caught:
        assert_bits_equal(actual, expected, format)
    return str(caught.value)


def test_bits_are_the_patterns_of_values_unchanged():
    assert bits(np.array([1, -0.0, np.inf], np.float16)).tolist() == [0x3C00, 0x8000, 0x7C00]
    assert bits(np.array([0x7FC01234], np.uint32).view(np.float32)).tolist() == [0x7FC01234]
    assert bits(np.array([-1], np.int8)).tolist() == [0xFF]


def test_elements_of_less_than_a_byte_take_one_byte_each():
    found = bits(np.array([1, -6], ml_dtypes.float4_e2m1fn))
    assert (found.dtype, found.tolist()) == (np.uint8, [0x2, 0xF])


def test_from_bits_makes_values_and_keeps_shapes():
    assert from_bits(0x3C00, "f16").shape == ()
    made = from_bits([[0x3F80, 0x8000]], "bf16")
    assert made.dtype == ml_dtypes.bfloat16 and made.tolist() == [[1.0, 0.0]] and np.signbit(made[0, 1])


@pytest.mark.parametrize("given", [[-1], [0x10000], [1.5], "12", None, [[1], [2, 3]]], ids=str)
def test_anything_but_a_pattern_of_the_format_is_refused(given):
    with pytest.raises(FragmentMismatchError):
        from_bits(given, "f16")


def test_a_format_that_does_not_exist_is_refused_with_a_list_of_those_that_do():
    with pytest.raises(UnsupportedInstructionError, match="f16"):
        bits(np.zeros(2, np.float16), "f17")


def test_a_distance_counts_the_numbers_from_one_to_the_other():
    one = np.array([0x3F800000], np.uint32).view(np.float32)
    assert ulp_distance(one, np.array([0x3F800003], np.uint32).view(np.float32)) == [3]
    # The smallest numbers of both signs are two steps apart, with the one zero between them.
    smallest = np.array([0x0001, 0x8001], np.uint16).view(np.float16)
    assert ulp_distance(smallest[:1], smallest[1:]) == [2]


def test_nan_is_beyond_every_distance_and_infinity_one_step_from_the_largest_number():
    x = np.array([np.nan, np.inf, np.nan, -0.0], np.float16)
    y = np.array([1, 65504, np.nan, 0], np.float16)
    assert ulp_distance(x, y).tolist() == [NOT_COMPARABLE, 1, 0, 0]


def test_the_distance_of_integers_is_their_difference():
    assert ulp_distance(np.array([-128, 5], np.int8), np.array([127, 7], np.int8)).tolist() == [255, 2]


def test_equal_bits_pass():
    nan = np.array([0x7FC00000, 0xFFC01234], np.uint32).view(np.float32)
    assert_bits_equal(nan, nan.copy())
    assert_bits_equal(np.float32(1), np.array(1, np.float32))


def test_signs_of_zeros_and_payloads_of_nan_count():
    found = message(np.float32([-0.0, 1]), np.float32([0, np.nan]))
    assert "0x80000000  -0.0" in found
    assert found.endswith("ulps: 0 (sign of zero): 1 | NaN: 1")
    nan = np.array([0x7FC00000, 0x7FC01234], np.uint32).view(np.float32)
    assert message(nan[:1], nan[1:]).endswith("ulps: NaN, other bits: 1")


def test_a_message_counts_the_differences_and_shows_bits_values_and_distances():
    assert message(np.float16([1, 2, 3]), np.float16([1, 2, 4])).splitlines() == [
        "1 of 3 elements differ (33.3 %): f16, shape (3,)",
        "",
        "  index  actual       expected     ulps",
        "  [2]    0x4200  3.0  0x4400  4.0  512",
        "",
        "ulps: 512-1023: 1",
    ]


def test_nothing_is_broadcast_or_converted():
    assert "nothing is broadcast" in message(np.zeros((4, 1), np.float32), np.zeros((4, 4), np.float32))
    assert "float32" in message(np.zeros(2, np.float32), np.zeros(2, np.float64))


def test_a_format_compares_patterns_with_values():
    patterns, values = np.array([0x3F80], np.uint16), np.array([1], ml_dtypes.bfloat16)
    assert_bits_equal(patterns, values, "bf16")
    assert "if actual contains bit patterns, pass format='bf16'" in message(patterns, values)


def test_bits_that_a_format_does_not_read_differ_at_distance_0():
    x, y = np.array([0x3F800001], np.uint32), np.array([0x3F800000], np.uint32)
    assert "bits that tf32 does not read" in message(x, y, "tf32")
    assert ulp_distance(x, y, "tf32").tolist() == [0]


@pytest.mark.parametrize("given", [[1.0, 2.0], "text", None, np.zeros(2, complex)], ids=str)
def test_an_object_without_bits_is_refused_and_is_not_a_failed_comparison(given):
    with pytest.raises(FragmentMismatchError):
        assert_bits_equal(given, np.zeros(2, np.float32))


def test_importing_the_tools_does_not_import_hypothesis():
    code = "import sys, wmma_emu.testing; print('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
