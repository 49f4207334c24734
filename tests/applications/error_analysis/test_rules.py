# SPDX-License-Identifier: MIT
"""The rules of error analysis, one fact each: exact sums, distances, lost bits by cause, bounds, splits."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.applications.error_analysis import KINDS, MEANINGS, error_report, error_summary, split_bf16, split_tf32
from wmma_emu.applications.error_analysis.exact import exact_dot, exact_matmul

F16 = "m16n8k8.f32.f16.f16.f32"
ULP = Fraction(1, 2**23)  # of a float32 from 1 to 2


def lost(instruction, a, b, c=None, dtype=np.float16, arch="sm_90"):
    """Return the bits that each cause loses in the only element of a product."""
    A, B = np.array([a], dtype), np.array([b], dtype).T
    C = None if c is None else np.array([[c]], np.float32)
    found = error_report(instruction, A, B, C, arch=arch).contributions
    return {kind: x[0, 0] for kind, x in found.items() if x[0, 0]}


def test_an_exact_sum_is_a_fraction_of_any_size():
    huge = np.array([2.0**127, 2.0**-126], np.float32)
    assert exact_dot(huge, huge) == Fraction(2) ** 254 + Fraction(2) ** -252


def test_an_exact_product_has_one_fraction_for_each_element():
    A = np.array([[1, 2.0**-13]], np.float16)
    assert exact_matmul(A, A.T)[0, 0] == 1 + Fraction(1, 2**26)


def test_an_error_is_the_result_less_the_exact_sum():
    report = error_report(F16, np.array([[1, 2.0**-13]], np.float16), np.array([[1], [2.0**-13]], np.float16))
    assert report.errors[0, 0] == -Fraction(1, 2**26)


def test_bits_of_products_below_the_fraction_bits_are_cut():
    assert lost(F16, [1, 2**-13], [1, 2**-13]) == {"products_cut": -Fraction(1, 2**26)}


def test_bits_of_c_below_the_fraction_bits_are_cut():
    assert lost(F16, [2.0**10], [2.0**10], 1 + 2.0**-20) == {"addend_cut": -Fraction(1, 2**20)}


def test_the_last_rounding_is_the_output_and_every_earlier_one_the_accumulation():
    a = [1, 2.0**-12]
    assert lost(F16, a, a) == {"output": -Fraction(1, 2**24)}
    a = [1, 2.0**-12, *[0] * 14, 2.0**-12, 2.0**-12]
    assert lost("m16n8k16.f32.f16.f16.f32", a, a) == {"accumulation": -Fraction(1, 2**24)}


def test_a_c_that_is_added_last_is_joined():
    # Two instructions: c is added to the sum of the first one, rounded to nearest, and a product of 1 to that.
    a = [1, *[0] * 31, 1]
    assert lost("m16n8k32.f32.e4m3.e4m3.f32", a, a, 2.0**-24 + 2.0**-30, ml_dtypes.float8_e4m3fn) == {
        "joining": ULP - Fraction(1, 2**24) - Fraction(1, 2**30), "output": -ULP,
    }  # fmt: skip


def test_the_causes_add_up_to_the_error():
    a = [1, 2.0**-12, 2.0**-13]
    found = lost(F16, a, a)
    assert found == {"products_cut": -Fraction(1, 2**26), "output": -Fraction(1, 2**24)}
    A = np.array([a], np.float16)
    assert sum(found.values()) == error_report(F16, A, A.T, arch="sm_90").errors[0, 0]


def test_every_cause_has_a_meaning():
    assert list(MEANINGS) == list(KINDS)
    assert all(MEANINGS.values())


def test_no_error_exceeds_its_bound_and_the_bound_is_not_far_above():
    A = np.full((1, 17), 2.0**-13, np.float16)
    A[0, 0] = 1
    report = error_report(None, A, A.T, arch="h100")
    assert abs(report.errors[0, 0]) == 2 * ULP < report.bounds[0, 0] < 11 * ULP


def test_a_summary_counts_in_units_of_the_last_place_of_the_exact_value():
    A, B = np.array([[1, 1]], np.float32), np.array([[1], [2.0**-24]], np.float32)
    summary = error_summary(np.array([[1 + 2.0**-22]], np.float32), A, B)
    assert summary.max_ulps == summary.bias_ulps == 1.5  # the result is 1 + 2 ulps, the exact sum 1 + half an ulp
    assert error_summary(np.array([[1.0]], np.float32), A, B).correctly_rounded == 1


def test_elements_that_are_not_finite_are_left_out_and_counted():
    D = np.array([[1, np.inf], [np.nan, 2]], np.float32)
    summary = error_summary(D, np.eye(2, dtype=np.float32), np.array([[1, 1], [1, 2]], np.float32))
    assert (summary.count, summary.excluded, summary.max_ulps) == (2, 2, 0)


def test_a_split_is_the_number_rounded_and_then_its_remainder():
    x = np.array([1 + 2.0**-10 + 2.0**-20], np.float32)
    assert [float(part[0]) for part in split_tf32(x)] == [1 + 2.0**-10, 2.0**-20, 0.0]
    assert [float(part[0]) for part in split_bf16(x)] == [1.0, 2.0**-10, 2.0**-20]


def test_infinities_and_nan_are_the_first_part_of_a_split():
    first, second, third = (x.view(np.uint32) for x in split_tf32(np.array([np.inf, -0.0], np.float32)))
    assert [hex(x) for x in first] == ["0x7f800000", "0x80000000"]
    assert not second.any() and not third.any()


def test_only_float32_can_be_split():
    with pytest.raises(TypeError, match=r"x\.astype\(numpy\.float32\) rounds once"):
        split_tf32(np.ones(2))
