# SPDX-License-Identifier: MIT
"""The rules of the applications, one fact per test: probing, error analysis and campaigns.

Each application works on functions and instructions and knows no chip: probing infers a model, error analysis compares
with exact sums, and a campaign compares two implementations on generated inputs.
"""

from fractions import Fraction

import numpy as np

import wmma_emu as we
from wmma_emu.gpu.campaign import EmulatedBackend
from wmma_emu.testing import error_report, error_summary, examine, ulp_distance
from wmma_emu.testing.exact import exact_dot

F16 = "m16n8k16.f32.f16.f16.f32"


def test_a_probe_finds_the_model_of_the_emulator():
    ins = we.instruction("m16n8k8.f32.f16.f16.f32", arch="h100")
    report = examine(ins, like=ins)
    assert report.problems == ()
    assert report.differences(ins.model) == {}


def test_a_probe_reads_the_order_of_sums_of_a_function():
    def product(a, b, c):
        d = np.zeros(c.shape, np.float32)
        for k in range(a.shape[1]):
            d = d + a[:, k : k + 1].astype(np.float32) * b[k : k + 1].astype(np.float32)
        return d + c

    report = examine(product, like="m16n8k8.f32.f16.f16.f32")
    assert report.tree == "chain(k0..k7, c)"


def test_an_exact_sum_is_a_fraction():
    a, b = np.array([1, 2.0**-13], np.float16), np.array([1, 2.0**-13], np.float16)
    assert exact_dot(a, b) == 1 + Fraction(1, 2**26)


def test_ulps_count_representable_numbers():
    one = np.float32(1)
    assert ulp_distance(one, np.nextafter(one, np.float32(2))) == 1
    assert ulp_distance(np.float32(0), np.float32(-0.0)) == 0


def test_truncation_has_a_negative_bias_for_positive_numbers():
    rng = np.random.default_rng(0)
    A = np.abs(rng.standard_normal((8, 256))).astype(np.float16)
    assert error_summary(we.gemm(A, A.T, arch="h100"), A, A.T).bias_ulps < -1


def test_an_error_report_separates_the_kinds_of_loss():
    A = np.full((1, 17), 2.0**-13, np.float16)
    A[0, 0] = 1
    report = error_report(None, A, A.T, arch="h100")
    assert "products_cut" in str(report)
    assert report.ulps[0, 0] == -2  # 16 products of 2**-26 are lost: 2**-22, two ulps of a float32 at 1


def test_an_error_is_within_its_bound():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((8, 64)).astype(np.float16)
    report = error_report(None, A, A.T, arch="h100")
    assert report.largest_ratio() is not None
    assert max(abs(x) / y for x, y in zip(report.errors.flat, report.bounds.flat, strict=True)) <= 1


def test_a_campaign_against_the_same_model_has_no_mismatch():
    report = we.gpu.crosscheck(F16, count=2000, workers=0, backend=EmulatedBackend())
    assert report.ok
    assert report.mismatches == 0


def test_a_campaign_finds_and_shrinks_another_model():
    backend = EmulatedBackend(alter={"fraction_bits": 24})
    report = we.gpu.crosscheck(F16, count=2000, workers=0, generators=["single_bits"], backend=backend)
    assert report.mismatches > 0
    assert not report.ok
    assert "fraction_bits 24 instead of 25" in str(report)
