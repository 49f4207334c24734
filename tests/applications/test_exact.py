# SPDX-License-Identifier: MIT
"""Exact dot products: every dtype and format, compared with Python's fractions; and refused arguments."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError
from wmma_emu.formats import FORMATS, decode
from wmma_emu.formats.dtypes import dtype_of, from_bits
from wmma_emu.testing import exact_dot, exact_matmul

FLOATS = [name for name, fmt in FORMATS.items() if fmt.is_float]
INTEGERS = [name for name, fmt in FORMATS.items() if fmt.kind == "integer"]


def patterns(name, count, seed):
    """Random patterns of a format that are finite numbers."""
    fmt = FORMATS[name]
    bits = np.random.default_rng(seed).integers(0, fmt.mask, count * 2, np.uint64, endpoint=True).astype(fmt.storage)
    return bits[np.isfinite(decode(bits, fmt))][:count]


def value(bits, name):
    return Fraction(float(decode(np.array([bits], FORMATS[name].storage), FORMATS[name])[0]))


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_a_dot_product_of_patterns_is_the_sum_of_their_values(name):
    if FORMATS[name].bits == 4:
        x, y = (from_bits(patterns(name, 17, seed), name) for seed in (1, 2))
        got = exact_dot(x, y)
        a, b = (patterns(name, 17, seed) for seed in (1, 2))
    else:
        a, b = patterns(name, 17, 1), patterns(name, 17, 2)
        got = exact_dot(a, b, a_format=name, b_format=name)
    assert len(a) == 17
    assert got == sum(value(x, name) * value(y, name) for x, y in zip(a.tolist(), b.tolist(), strict=True))


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "e4m3", "e5m2", "e2m1", "s32", "s8", "u8", "s4", "u4"])
def test_a_dtype_says_its_format(name):
    x = from_bits(patterns(name, 9, 3), name)
    assert x.dtype == dtype_of(name)
    assert exact_dot(x, x[::-1]) == sum(
        Fraction(float(p)) * Fraction(float(q)) for p, q in zip(x, x[::-1], strict=True)
    )


def test_numbers_of_any_size_add_exactly():
    a = np.array([1e308, 1e-308, 5e-324], np.float64)
    assert exact_dot(a, a) == sum(Fraction(x) ** 2 for x in a.tolist())


def test_tf32_leaves_its_low_bits_out():
    x = np.array([1 + 2**-12], np.float32)
    assert exact_dot(x, x, a_format="tf32") == 1 + Fraction(1, 2**12)


def test_packed_elements_are_unpacked():
    assert exact_dot(np.array([0x21, 0xF3], np.uint8), np.ones(4, np.int8), a_format="s4") == 1 + 2 + 3 - 1


@pytest.mark.parametrize(
    ("c", "c_format", "want"),
    [
        (3, None, Fraction(3)), (Fraction(1, 3), None, Fraction(1, 3)), (0.1, None, Fraction(0.1)),
        (np.float32(0.5), None, Fraction(1, 2)), (np.array([[2]], np.int32), None, Fraction(2)),
        (0x3C00, "f16", Fraction(1)), (np.uint16(0xBC00), "f16", Fraction(-1)), (np.float64(0.1), None, Fraction(0.1)),
    ],
)  # fmt: skip
def test_c_is_any_number(c, c_format, want):
    nothing = np.empty(0, np.float32)
    assert exact_dot(nothing, nothing, c, c_format=c_format) == want


def test_each_element_of_a_matrix_product_is_one_dot_product():
    rng = np.random.default_rng(5)
    A, B = rng.standard_normal((2, 1, 3, 7)), rng.standard_normal((4, 7, 2)).astype(np.float32)
    C = rng.standard_normal((4, 3, 2)).astype(np.float16)
    D = exact_matmul(A, B, C)
    assert D.shape == (2, 4, 3, 2)
    for i, j, row, col in np.ndindex(D.shape):
        assert D[i, j, row, col] == exact_dot(A[i, 0, row], B[j, :, col], C[j, row, col])


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 4, 3), (2, 4, 0)])
def test_empty_matrices_have_products(shape):
    m, k, n = shape
    D = exact_matmul(np.ones((m, k)), np.ones((k, n)))
    assert D.shape == (m, n) and all(x == k for x in D.flat)


ONES = np.ones(2, np.float16)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: exact_dot(np.array([1, np.inf], np.float32), ONES),
         r"a has 1 infinity or NaN, the first at \[1\].*isfinite"),
        (lambda: exact_dot(ONES, np.array([np.nan, np.nan], ml_dtypes.bfloat16)), r"b has 2 infinities or NaN"),
        (lambda: exact_dot(ONES, ONES, float("nan")), "c is nan"),
        (lambda: exact_dot(ONES, ONES, np.float32("inf")), "c has 1 infinity"),
        (lambda: exact_dot(ONES, np.ones(3, np.float16)), "a has 2 elements and b 3"),
        (lambda: exact_dot(np.ones((2, 2)), ONES), "exact_matmul takes matrices"),
        (lambda: exact_dot(ONES.view(np.uint16), ONES), "a_format="),
        (lambda: exact_dot(np.ones(2, np.int64), ONES), "does not determine a format"),
        (lambda: exact_dot(np.ones(2, bool), ONES), r"a\.astype\(numpy\.int8\)"),
        (lambda: exact_dot([1.0, 2.0], ONES), "numpy.array"),
        (lambda: exact_dot(ONES, ONES, a_format="e4m3"), "expected e4m3"),
        (lambda: exact_dot(ONES, ONES, 1 << 16, c_format="f16"), "expected a pattern of f16"),
        (lambda: exact_dot(ONES, ONES, ONES), "expected one number"),
        (lambda: exact_dot(ONES, ONES, True), "no array|no dtype|bool"),
        (lambda: exact_matmul(ONES, ONES), "exact_dot for vectors"),
        (lambda: exact_matmul(np.ones((2, 3)), np.ones((2, 3))), "B.T would fit"),
        (lambda: exact_matmul(np.ones((2, 2, 3)), np.ones((3, 3, 2))), "do not broadcast"),
        (lambda: exact_matmul(np.ones((2, 3)), np.ones((3, 2)), np.ones((3, 2))), r"C has shape \(3, 2\)"),
        (lambda: exact_matmul(np.ones((2, 2, 3)), np.ones((3, 2)), np.ones((3, 2, 2))), "leading axes of C"),
    ],
)  # fmt: skip
def test_wrong_uses_say_what_to_do(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_a_format_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="there is no format 'f17'"):
        exact_dot(ONES, ONES, a_format="f17")


def test_block_scales_multiply_their_blocks_exactly():
    rng = np.random.default_rng(3)
    a, b = (from_bits(rng.integers(0, 16, s, np.uint8), "e2m1") for s in ((2, 5, 8), (8, 3)))
    c = rng.integers(-9, 9, (2, 5, 3)).astype(np.float32)
    of_a = rng.integers(0, 255, (2, 5, 2), np.uint8)  # any ue8m0 but NaN
    of_b = rng.integers(1, 0x7F, (4, 3), np.uint8).view(ml_dtypes.float8_e4m3fn)
    got = exact_matmul(a, b, c, scale_a=of_a.view(ml_dtypes.float8_e8m0fnu), scale_b=of_b)
    for where in np.ndindex(2, 5, 3):
        i, row, column = where
        terms = (
            Fraction(float(a[i, row, k])) * Fraction(float(b[k, column]))
            * Fraction(2) ** (int(of_a[i, row, k // 4]) - 127) * Fraction(float(of_b[k // 2, column]))
            for k in range(8)
        )  # fmt: skip
        assert got[where] == sum(terms) + Fraction(float(c[where]))
    raw = exact_matmul(a, b, c, scale_a=of_a, scale_b=np.ones((1, 3), np.uint8) * 127, scale_format="ue8m0")
    assert (raw == exact_matmul(a, b, c, scale_a=of_a, scale_format="ue8m0")).all()


def test_a_vector_takes_the_scales_of_a_matrix_with_one_line():
    a, b = np.array([1, 2, 3, 4], np.float16), np.array([1, 1, 2, 2], np.float16)
    scales = np.array([2, 0.5], np.float32)
    assert exact_dot(a, b, 1, scale_a=scales) == 6 + 7 + 1
    assert exact_dot(a, b, 1, scale_b=scales) == exact_matmul(a[None], b[:, None], scale_b=scales[:, None])[0, 0] + 1


@pytest.mark.parametrize(
    ("scales", "words"),
    [({"scale_a": np.ones((2, 3), np.float32)}, r"scale_a has shape \(2, 3\), A has \(2, 8\)"),
     ({"scale_a": np.ones(2, np.float32)}, r"scale_a has shape \(2,\)"),
     ({"scale_a": np.ones((4, 2), np.float32)}, r"scale_a has shape \(4, 2\)"),
     ({"scale_b": np.ones((2, 4), np.float32)}, r"scale_b has shape \(2, 4\), B has \(8, 3\)"),
     ({"scale_b": np.ones((0, 3), np.float32)}, r"scale_b has shape \(0, 3\)"),
     ({"scale_a": np.full((2, 2), 255, np.uint8), "scale_format": "ue8m0"}, r"scale_a has 4 infinities or NaN"),
     ({"scale_a": np.ones((2, 2), np.uint8)}, "scale_a contains integers, which could be patterns")],
    ids=["blocks", "vector", "rows", "columns", "none", "nan", "format"],
)  # fmt: skip
def test_scales_that_do_not_fit_are_refused(scales, words):
    with pytest.raises(FragmentMismatchError, match=words):
        exact_matmul(np.ones((2, 8), np.float16), np.ones((8, 3), np.float16), **scales)
