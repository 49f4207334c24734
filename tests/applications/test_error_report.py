# SPDX-License-Identifier: MIT
"""Error reports of whole matrices: bits, figures, kinds of loss, omitted elements, text, and wrong uses."""

import json
import warnings
from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.applications.error_analysis import KINDS
from wmma_emu.errors import UnverifiedModelWarning
from wmma_emu.testing import assert_bits_equal, error_report, error_summary, exact_matmul

E4M3 = ml_dtypes.float8_e4m3fn


def matrices(dtype, m=5, k=40, n=4, seed=0, spread=6):
    """Numbers of many exponents, exactly of the dtype."""
    rng = np.random.default_rng(seed)

    def one(*shape):
        values = rng.uniform(-2, 2, shape) * 2.0 ** rng.integers(-spread, spread, shape)
        return values.astype(np.float32).astype(dtype)

    return one(m, k), one(k, n)


def report_of(ins, dtype, c=None, spread=6, **options):
    A, B = matrices(dtype, spread=spread)
    C = None if c is None else matrices(c, 5, 4, 4, 1)[0]
    return error_report(ins, A, B, C, **options), A, B, C


CASES = {
    "f16 on Hopper": ("m16n8k16.f32.f16.f16.f32", np.float16, np.float32, "sm_90"),
    "f16 on Ampere": ("m16n8k16.f32.f16.f16.f32", np.float16, np.float32, "sm_80"),
    "f16 into f16": ("m16n8k16.f16.f16.f16.f16", np.float16, None, "sm_80"),
    "bf16": ("m16n8k16.f32.bf16.bf16.f32", ml_dtypes.bfloat16, np.float32, "sm_90"),
    "tf32": ("m16n8k8.f32.tf32.tf32.f32", np.float32, np.float32, "sm_90"),
    "FP8 as f16": ("m16n8k32.f32.e4m3.e4m3.f32", E4M3, np.float32, "sm_90"),
    "FP8 on Ada": ("m16n8k32.f32.e4m3.e4m3.f32", E4M3, np.float32, "sm_89"),
    "wgmma of FP8": ("wgmma.m64n8k32.f32.e4m3.e4m3", E4M3, np.float32, "sm_90"),
    "m8n8k4": ("mma.m8n8k4.f16.f16.f16.f16", np.float16, None, "sm_90"),
    "f64": ("m8n8k4.f64.f64.f64.f64", np.float64, np.float64, "sm_90"),
    "CUDA cores": ("fma.f32", np.float32, np.float32, "sm_90"),
}


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize("case", CASES)
def test_a_report_compares_the_bits_of_gemm_with_fractions(case):
    ins, dtype, c, arch = CASES[case]
    report, A, B, C = report_of(ins, dtype, c, arch=arch, spread=3 if dtype is E4M3 else 6)
    assert_bits_equal(report.result, we.gemm(A, B, C, instr=ins, arch=arch, engine="reference"))
    a_format, b_format = ("tf32", "tf32") if "tf32" in ins else (None, None)
    exact = exact_matmul(A, B, C, a_format=a_format, b_format=b_format)
    assert (report.exact == exact).all()
    for where in np.ndindex(exact.shape):
        error = Fraction(float(report.result[where])) - exact[where]
        assert report.errors[where] == error
        assert sum(report.contributions[kind][where] for kind in KINDS) == error
        assert abs(error) <= report.bounds[where]
    assert report.summary.count == exact.size and report.summary.max_ulps > 0
    assert 0 < report.largest_ratio()[0] <= 1
    assert report.summary == error_summary(report.result, A, B, C, a_format=a_format, b_format=b_format)


def test_a_sparse_product_counts_the_elements_that_it_keeps():
    A, B = matrices(np.float16, 16, 64, 8)
    A[:, 0::4] = A[:, 3::4] = 0
    ins = we.instruction("mma.sp.m16n8k32.f32.f16.f16.f32", arch="sm_90")
    report = error_report(ins, A, B)
    assert_bits_equal(report.result, we.gemm(A, B, instr=ins.mnemonic, arch="sm_90"))
    assert (sum(report.contributions.values()) == report.errors).all()
    assert report.largest_ratio()[0] <= 1


def test_batches_broadcast_as_in_gemm():
    A, B = matrices(np.float16, 6, 20, 3)
    A = A.reshape(2, 1, 3, 20)
    B = np.stack([B, B[::-1], -B])
    report = error_report(None, A, B)
    assert_bits_equal(report.result, we.gemm(A, B))
    where = (1, 2, 0, 1)
    alone = error_report(None, A[1, 0], B[2])
    assert report.errors[where] == alone.errors[0, 1] and report.ulps[where] == alone.ulps[0, 1]
    assert report.explain(*where).result == int(report.result.view(np.uint32)[where])


# What is lost in each way: a product in which nothing else happens.

ONE = 1.0


def lost_in(ins, a, b, c, arch, dtype=np.float16, **options):
    A, B = np.array([a], dtype), np.array([b], dtype).T
    report = error_report(ins, A, B, None if c is None else np.array([[c]], np.float32), arch=arch, **options)
    return {kind: x[0, 0] for kind, x in report.contributions.items() if x[0, 0]}


def test_bits_of_products_are_cut():
    assert lost_in("m16n8k8.f32.f16.f16.f32", [ONE, 2**-13], [ONE, 2**-13], None, "sm_90") == {
        "products_cut": -Fraction(1, 2**26)
    }


def test_bits_of_c_are_cut():
    assert lost_in("m16n8k8.f32.f16.f16.f32", [2.0**10], [2.0**10], 1 + 2.0**-20, "sm_90") == {
        "addend_cut": -Fraction(1, 2**20)
    }


def test_bits_of_a_running_sum_are_cut():
    # The second of two steps has a product that is larger than the first's sum.
    a = [1 + 2.0**-10, *[0] * 15, 2.0**10]
    assert lost_in("m16n8k16.f32.f16.f16.f32", a, a, None, "sm_90") == {
        "addend_cut": -Fraction(1, 2**9) - Fraction(1, 2**20)
    }


def test_each_step_rounds_the_sum_again():
    a = [ONE, 2.0**-12, *[0] * 14, 2.0**-12, 2.0**-12]
    lost = lost_in("m16n8k16.f32.f16.f16.f32", a, [ONE, 2.0**-12, *[0] * 14, 2.0**-12, 2.0**-12], None, "sm_90")
    assert lost == {"accumulation": -Fraction(1, 2**24)}
    # The second step's 2**-24 and 2**-24 make 2**-23, the last bit of 1.0; a third 2**-24 is rounded away at the end.
    lost = lost_in("m16n8k16.f32.f16.f16.f32", [*a, 2.0**-12], [*a, 2.0**-12], None, "sm_90")
    assert lost == {"accumulation": -Fraction(1, 2**24), "output": -Fraction(1, 2**24)}


def test_the_last_rounding_is_the_output():
    assert lost_in("m16n8k8.f32.f16.f16.f32", [ONE, 2.0**-12], [ONE, 2.0**-12], None, "sm_90") == {
        "output": -Fraction(1, 2**24)
    }


def test_k_that_is_filled_with_zeros_makes_no_later_rounding():
    # On Ampere eight products are half of an instruction; the other half adds nothing.
    assert lost_in("m16n8k16.f32.f16.f16.f32", [ONE, 2.0**-12], [ONE, 2.0**-12], None, "sm_80") == {
        "output": -Fraction(1, 2**24)
    }


def test_c_that_is_added_last_is_joined():
    # Two instructions: c is added to the first one's sum, and a product to that.
    a = [ONE, *[0] * 31, ONE]
    lost = lost_in("m16n8k32.f32.e4m3.e4m3.f32", a, a, 2.0**-24 + 2.0**-30, "sm_90", E4M3)
    assert lost == {
        "joining": Fraction(1, 2**23) - Fraction(1, 2**24) - Fraction(1, 2**30),
        "output": -Fraction(1, 2**23),
    }


def test_partial_sums_that_are_added_are_joined():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnverifiedModelWarning)
        a, b = [2.0**8, 0, 2.0**-9, 0], [2.0**8, 0, 1.125, 0]
        lost = lost_in("m16n8k32.f32.e4m3.e4m3.f32", a, b, 2.0**-7, "sm_90", E4M3, lowering="ptxas-12.4")
    exact = Fraction(9, 8) * Fraction(1, 2**9)
    assert lost == {"joining": -exact}


def test_conversions_to_a_narrower_result_are_roundings():
    lost = lost_in("wmma.mma.m16n16k16.f16.f32", [ONE, 2.0**-12], [ONE, 2.0**-12], 2.0**-12, "sm_90")
    assert sum(lost.values()) == -Fraction(1, 2**12) - Fraction(1, 2**24)
    assert "output" in lost


def test_elements_with_specials_and_overflows_are_left_out_and_counted():
    A, B = matrices(np.float16, 4, 8, 4)
    A[0, 3], A[1], B[:, 2] = np.nan, 60000, 60000
    report = error_report("m16n8k8.f16.f16.f16.f16", A, B)
    assert report.specials == 4
    finite = np.isfinite(report.result.astype(np.float64))
    finite[0] = False
    assert report.overflows == 12 - int(finite.sum())
    assert [x is None for x in report.errors.flat] == (~finite).ravel().tolist()
    assert (np.isnan(report.ulps) == ~finite).all()
    assert report.summary.count == int(finite.sum())
    assert f"omitted: 4 for infinities or NaN among the operands, {report.overflows} that overflow" in str(report)


def test_a_sum_that_a_directed_rounding_keeps_finite_overflows():
    huge = np.array([[1.5e308, 1.5e308]])
    report = error_report("m8n8k4.rz.f64.f64.f64.f64", huge, np.ones((2, 1)), arch="sm_90")
    assert np.isfinite(report.result).all()
    assert (report.overflows, report.summary.count) == (1, 0)


def test_exact_products_lose_nothing():
    report = error_report(None, np.ones((2, 16), np.float16), np.ones((16, 2), np.float16))
    assert report.worst is None and report.summary.correctly_rounded == 4
    assert "no bit was lost" in str(report)
    with pytest.raises(ValueError, match="no counted element has an error"):
        report.explain()


@pytest.mark.parametrize("shape", [(0, 16, 2), (2, 16, 0), (2, 0, 2)])
def test_empty_matrices_have_reports(shape):
    m, k, n = shape
    report = error_report(None, np.ones((m, k), np.float16), np.ones((k, n), np.float16))
    assert report.result.shape == (m, n) and report.summary.max_ulps == 0
    assert str(report) and json.dumps(report.to_dict())


def test_the_worst_element_is_named_and_explained():
    report, A, B, _ = report_of("m16n8k16.f32.f16.f16.f32", np.float16, arch="sm_90")
    worst = report.worst
    assert abs(report.ulps[worst]) == report.summary.max_ulps == np.abs(report.ulps).max()
    want = we.explain("m16n8k16.f32.f16.f16.f32", A, B, row=worst[0], col=worst[1], arch="sm_90")
    assert report.explain() == want
    text = str(report)
    assert f"worst    D{list(worst)} = {want.result:#010x}" in text
    assert f"row={worst[0]}, col={worst[1]}" in text


def test_a_report_goes_through_json():
    report, *_ = report_of("m16n8k8.f32.tf32.tf32.f32", np.float32, np.float32, arch="sm_90")
    data = json.loads(json.dumps(report.to_dict()))
    assert data["shape"] == [5, 4] and data["k"] == 40 and data["arch"] == "sm_90"
    assert data["max_ulps"] == report.summary.max_ulps
    assert data["lost"]["output"]["elements"] == sum(x != 0 for x in report.contributions["output"].flat)
    assert data["bound"].startswith("|error| <= ")


def test_figures_are_exact_sums_rounded_once():
    A, B = np.array([[1, 1]], np.float32), np.array([[1], [2.0**-24]], np.float32)
    D = np.array([[1.5]], np.float32)
    summary = error_summary(D, A, B)
    error = Fraction(1, 2) - Fraction(1, 2**24)
    assert summary.max_ulps == float(error * 2**23) == summary.mean_ulps == summary.bias_ulps
    assert summary.relative_rms == float(error / (1 + Fraction(1, 2**24)))
    assert summary.correctly_rounded == 0 and summary.worst == (0, 0)
    assert error_summary(np.array([[1.0]], np.float32), A, B).correctly_rounded == 1  # a tie, to even


def test_elements_of_a_result_that_are_not_finite_are_left_out():
    D = np.array([[1, np.inf], [np.nan, 2]], np.float32)
    summary = error_summary(D, np.eye(2, dtype=np.float32), np.array([[1, 1], [1, 2]], np.float32))
    assert (summary.count, summary.excluded, summary.max_ulps) == (2, 2, 0)


HALF = np.ones((2, 2), np.float16)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: error_report(None, HALF.astype(np.int8), HALF.astype(np.int8)), ValueError,
         "integer products are exact.*assert_bits_equal"),
        (lambda: error_report("m8n8k128.s32.b1.b1.s32.xor.popc", HALF > 0, HALF > 0, arch="sm_80"), ValueError,
         "integer products are exact|b1"),
        (lambda: error_report(None, HALF, np.ones((3, 2), np.float16)), TypeError, "K is 2 in A and 3 in B"),
        (lambda: error_report(None, HALF, HALF, np.ones((3, 2), np.float32)), TypeError, "C has shape"),
        (lambda: error_report(None, HALF, HALF, HALF), TypeError, "expected f32"),
        (lambda: error_report(None, HALF, HALF.astype(np.float32)), (TypeError, ValueError), "f32"),
        (lambda: error_report(None, HALF.astype(np.float32), HALF.astype(np.float32)), ValueError, "instr="),
        (lambda: error_report(HALF, HALF, HALF), TypeError, "The instruction is the first argument"),
        (lambda: error_report(we.instruction("m16n8k16.f32.f16.f16.f32"), HALF, HALF, arch="sm_80"), ValueError,
         "is already bound to 'sm_90'"),
        (lambda: error_report("m16n8k16.f32.f16.f16.f33", HALF, HALF), ValueError, "m16n8k16.f32.f16.f16.f32"),
        (lambda: error_report(None, [[1.0]], HALF), TypeError, "no dtype"),
        (lambda: error_report(None, HALF, HALF).in_ulps("truncation"), ValueError, "the kinds are conversion"),
        (lambda: error_report(None, HALF, HALF).explain(2, 0), IndexError, r"the element \[2, 0\] does not exist"),
        (lambda: error_report(None, HALF, HALF).explain(1), IndexError, r"the element \[1\] does not exist"),
        (lambda: error_summary(HALF.astype(np.int32), HALF, HALF), TypeError, "expected a floating-point format"),
        (lambda: error_summary(HALF.view(np.uint16), HALF, HALF), TypeError, "d_format="),
        (lambda: error_summary(HALF[:1], HALF, HALF), TypeError, r"D has shape \(1, 2\)"),
    ],
)  # fmt: skip
def test_wrong_uses_say_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_the_bias_of_what_should_be_zero_is_away_from_zero_whatever_its_sign():
    one = np.ones((1, 1), np.float32)
    for sign in (1, -1):
        assert error_summary(sign * one, 0 * one, one).bias_ulps == 2.0**149


def test_errors_beyond_float64_are_infinite_and_none_in_json():
    A = np.array([[2.0**1000, -1.0, -(2.0**1000), 2.0**-50]])
    B = np.array([[1.0], [2.0**-1000], [1.0], [0.0]])
    report = error_report("m8n8k4.rz.f64.f64.f64.f64", A, B)
    assert report.summary.max_ulps == np.inf
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["max_ulps"] is None
    summary = error_summary(np.array([[2.0**1000]]), np.array([[2.0**-500]]), np.array([[2.0**-570]]))
    assert summary.relative_rms == np.inf


def test_a_report_of_an_altered_model_claims_no_measurement():
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    report = error_report(
        ins.with_model(replace(ins.model, fraction_bits=3)), np.ones((1, 16), np.float16), np.ones((16, 1), np.float16)
    )
    assert (report.status, report.source) == ("altered", "no chip is known to compute so")
