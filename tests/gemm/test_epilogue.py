# SPDX-License-Identifier: MIT
"""The epilogue: alpha, beta, bias, D's format; which operations, in which order and format."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.formats import format_of
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.scalar import reference as scalar

F16, F32, F64, BF16 = (format_of(x) for x in ("f16", "f32", "f64", "bf16"))


def normal(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(dtype)


def raw(x):
    return x.view(f"u{x.dtype.itemsize}")


def pattern(value, fmt):
    return int(np.array(value, dtype_of(fmt)).view(fmt.storage))


def expected(accumulators, fmt, result, alpha=None, beta=None, C=None, bias=None):
    """The documented operations, one element after another; all inputs in the epilogue's format."""
    d = np.empty(accumulators.shape, result.storage)
    for i, j in np.ndindex(d.shape):
        x = int(raw(accumulators)[i, j])
        if C is not None:
            scaled = scalar.mul(pattern(beta, fmt), int(raw(C)[i, j]), fmt)
            x = scalar.fma(pattern(1 if alpha is None else alpha, fmt), x, scaled, fmt)
        elif alpha is not None:
            x = scalar.mul(pattern(alpha, fmt), x, fmt)
        if bias is not None:
            x = scalar.add(x, int(raw(bias)[j]), fmt)
        d[i, j] = scalar.convert(x, fmt, result)
    return d


@pytest.mark.parametrize("out", ["f32", "f16", "bf16", "e4m3"])
@pytest.mark.parametrize(
    ("alpha", "beta", "with_bias"),
    [
        (0.3, None, False),
        (None, 0.7, False),
        (0.3, 0.7, False),
        (0.3, 1.0, True),
        (None, None, True),
        (-1.5, -0.1, True),
    ],
)
def test_f32_accumulators_are_scaled_and_added_to_in_float32(out, alpha, beta, with_bias):
    A, B = normal((9, 70), np.float16, 1), normal((70, 7), np.float16, 2)
    C = None if beta is None else normal((9, 7), np.float32, 3)
    bias = normal(7, np.float32, 4) if with_bias else None
    D = we.gemm(A, B, C, alpha=alpha, beta=beta, bias=bias, out_dtype=dtype_of(out))
    np.testing.assert_array_equal(raw(D), expected(we.gemm(A, B), F32, format_of(out), alpha, beta, C, bias))


def test_f16_accumulators_are_scaled_in_float32_and_rounded_to_f16():
    A, B, C = normal((9, 70), np.float16, 1), normal((70, 7), np.float16, 2), normal((9, 7), np.float16, 3)
    instr = "m16n8k16.f16.f16.f16.f16"
    D = we.gemm(A, B, C, instr=instr, alpha=0.3, beta=0.7)
    accumulators = we.gemm(A, B, instr=instr).astype(np.float32)
    np.testing.assert_array_equal(raw(D), expected(accumulators, F32, F16, 0.3, 0.7, C.astype(np.float32)))


def test_float64_is_scaled_in_float64():
    rng = np.random.default_rng(0)
    A, B, C = rng.standard_normal((5, 20)), rng.standard_normal((20, 6)), rng.standard_normal((5, 6))
    D = we.gemm(A, B, C, alpha=0.3, beta=0.7, bias=C[0])
    np.testing.assert_array_equal(raw(D), expected(we.gemm(A, B), F64, F64, 0.3, 0.7, C, C[0]))


def test_c_of_the_epilogue_may_be_narrower_and_raw_bits_are_of_d():
    A, B, C = normal((9, 70), np.float16, 1), normal((70, 7), np.float16, 2), normal((9, 7), ml_dtypes.bfloat16, 3)
    D = we.gemm(A, B, C, beta=0.7, out_dtype=ml_dtypes.bfloat16)
    np.testing.assert_array_equal(raw(D), expected(we.gemm(A, B), F32, BF16, 1, 0.7, C.astype(np.float32)))
    again = we.gemm(A, B, raw(C), beta=0.7, out_dtype=ml_dtypes.bfloat16)
    np.testing.assert_array_equal(raw(again), raw(D))


def test_with_beta_the_accumulators_start_from_zero():
    A = np.array([[2.0**-12, 1]], np.float16)
    C = np.array([[-1]], np.float32)
    # One and 2**-24 do not fit a float32: together with C they do.
    assert we.gemm(A, A.T, C)[0, 0] == 2.0**-24
    assert we.gemm(A, A.T, C, beta=1)[0, 0] == 0


def test_a_beta_of_zero_reads_no_c():
    A = np.ones((2, 16), np.float16)
    C = np.full((2, 2), np.nan, np.float32)
    for beta in (0, -0.0, np.float32(0)):
        np.testing.assert_array_equal(we.gemm(A, A.T, C, beta=beta), np.full((2, 2), 16, np.float32))
    assert np.isnan(we.gemm(A, A.T, C, beta=1e-40)).all()


@pytest.mark.parametrize("number", [1, 1.0, np.float64(1), np.int8(1), Fraction(1)], ids=lambda x: type(x).__name__)
def test_scaling_by_one_changes_no_bit(number):
    A, B = normal((9, 70), np.float16, 1), normal((70, 7), np.float16, 2)
    np.testing.assert_array_equal(raw(we.gemm(A, B, alpha=number)), raw(we.gemm(A, B)))


def test_numbers_are_rounded_to_float32_once():
    A = np.ones((1, 1), np.float16)
    assert we.gemm(A, A, alpha=1 + 2.0**-24)[0, 0] == 1
    assert we.gemm(A, A, alpha=1 + 2.0**-24 + 2.0**-40)[0, 0] == np.float32(1 + 2.0**-23)
    assert np.isinf(we.gemm(A, A, alpha=1e300)[0, 0]) and we.gemm(A, A, alpha=-(10**400))[0, 0] == -np.inf


def test_integers_stay_integers_modulo_2_to_the_32():
    rng = np.random.default_rng(0)
    A, B = rng.integers(-128, 128, (5, 64), np.int8), rng.integers(-128, 128, (64, 3), np.int8)
    C, bias = rng.integers(-(2**31), 2**31, (5, 3)).astype(np.int32), rng.integers(-9, 9, 3).astype(np.int32)
    exact = 70000 * (A.astype(int) @ B.astype(int)) - 3 * C.astype(int) + bias
    D = we.gemm(A, B, C, alpha=70000, beta=-3, bias=bias)
    np.testing.assert_array_equal(D, exact.astype(np.uint32).view(np.int32))


def test_integers_into_floats_are_rounded_to_float32_before_they_are_scaled():
    A, B = np.full((1, 4096), 127, np.int8), np.full((4096, 1), 127, np.int8)
    B[0] = 126
    total = 127 * 127 * 4095 + 127 * 126
    assert int(np.float32(total)) != total
    D = we.gemm(A, B, alpha=0.5, out_dtype=np.float32)
    assert D[0, 0] == np.float32(total) * np.float32(0.5)
    D = we.gemm(A, B, np.ones((1, 1), np.float16), alpha=0.1, beta=1, out_dtype=np.float32)
    one = pattern(1, F32)
    assert int(raw(D)[0, 0]) == scalar.fma(pattern(0.1, F32), pattern(total, F32), one, F32)


def test_a_fractional_alpha_is_refused_if_d_is_an_integer():
    A = np.ones((1, 32), np.int8)
    with pytest.raises(we.UnsupportedInstructionError, match=r"alpha=0\.5 is not an integer, but D is s32.*name a fl"):
        we.gemm(A, A.T, alpha=0.5)


def test_an_epilogue_takes_batches_and_broadcasts():
    A, B, C = normal((3, 1, 5, 40), np.float16), normal((2, 40, 6), np.float16, 1), normal((2, 5, 6), np.float16, 2)
    bias = normal(6, np.float32, 3)
    D = we.gemm(A, B, C, alpha=0.3, beta=0.7, bias=bias)
    assert D.shape == (3, 2, 5, 6)
    for i, j in np.ndindex(3, 2):
        np.testing.assert_array_equal(D[i, j], we.gemm(A[i, 0], B[j], C[j], alpha=0.3, beta=0.7, bias=bias))


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"beta": 1.0}, we.UnsupportedInstructionError, r"beta=1\.0 was given without C"),
        ({"alpha": "2"}, we.UnsupportedInstructionError, "alpha='2' is not a number"),
        ({"alpha": np.ones(3)}, we.UnsupportedInstructionError, "is not a number; pass one Python or NumPy number"),
        ({"alpha": True}, we.UnsupportedInstructionError, "alpha=True is not a number"),
        (
            {"alpha": np.timedelta64(1, "s")},
            we.UnsupportedInstructionError,
            r"alpha=np\.timedelta64\(1,'s'\) is not a num",
        ),
        ({"bias": np.ones(3, np.float32)}, we.FragmentMismatchError, r"bias has shape \(3,\).*\(2,\)"),
        ({"bias": np.ones((2, 1), np.float32)}, we.FragmentMismatchError, r"bias has shape \(2, 1\).*\(2,\)"),
        ({"bias": np.ones(2)}, we.FragmentMismatchError, "bias is an array of float64; the epilogue computes in f32"),
        ({"C": np.ones((2, 2)), "beta": 1}, we.FragmentMismatchError, "C is an array of float64"),
        ({"C": np.ones((2, 3), np.float32), "beta": 1}, we.FragmentMismatchError, r"C has shape \(2, 3\)"),
        ({"C": [[1, 2], [3, 4]], "beta": 1}, we.FragmentMismatchError, "C is a Python list"),
    ],
    ids=lambda x: str(x)[:40] if isinstance(x, dict) else "",
)
def test_options_that_make_no_sense_are_refused(keywords, error, message):
    A = np.ones((2, 16), np.float16)
    with pytest.raises(error, match=message):
        we.gemm(A, A.T, **keywords)
