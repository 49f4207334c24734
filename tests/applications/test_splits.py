# SPDX-License-Identifier: MIT
"""Splits of float32: every part is the remainder, rounded once, and all parts together are the number."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.formats import FORMATS, ROUNDINGS
from wmma_emu.formats.reference import round_pack, unpack
from wmma_emu.testing import error_summary, split_bf16, split_tf32

SPLITS = {"tf32": (split_tf32, np.uint32), "bf16": (split_bf16, np.uint16)}


def numbers(seed, count=400):
    """Raw patterns that are finite, and the ends of the range."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 32, count, np.uint32)
    edges = [0, 1, 2, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F7FE000, 0x7F7FF000, 0x3F800000, 0x3F801000, 0x3F803000]
    bits = np.concatenate([bits, np.array(edges, np.uint32), np.array(edges, np.uint32) | np.uint32(1 << 31)])
    x = bits.view(np.float32)
    return x[np.isfinite(x)]


def fraction(bits, fmt):
    u = unpack(bits, fmt)
    assert u.kind in ("zero", "finite")
    return (-1) ** u.sign * u.significand * Fraction(2) ** (u.exponent - fmt.fraction_bits)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", SPLITS)
def test_every_part_is_the_remainder_rounded_once(name, rounding):
    split, word = SPLITS[name]
    fmt = FORMATS[name]
    x = numbers(1, 150)
    parts = [part.view(word) for part in split(x, 4, rounding=rounding)]
    for i, value in enumerate(x.tolist()):
        left = Fraction(value)
        for number, part in enumerate(parts):
            sign = int(left < 0) if number else int(np.signbit(x[i]))
            want = 0
            if left or not number:
                exponent = 1 - left.denominator.bit_length()
                want = round_pack(sign, abs(left.numerator), exponent, fmt, rounding, "saturate")
            assert int(part[i]) == want, (value, number)
            left -= fraction(want, fmt)


@pytest.mark.parametrize(("name", "lowest"), [("tf32", -113), ("bf16", -110)])
def test_three_parts_are_the_number(name, lowest):
    x = numbers(2, 4000)
    parts = SPLITS[name][0](x)
    sums = sum(part.astype(np.float64) for part in parts)  # exact: parts of one number lie within 53 bits
    large = np.abs(x) >= 2.0**lowest
    assert large.sum() > 1000 and (~large).sum() > 20
    assert (sums[large] == x[large]).all()
    fmt = FORMATS[name]
    half = 2.0 ** (fmt.emin - fmt.fraction_bits - 1)
    lost = np.abs(sums - x)[~large]
    assert lost.max() <= half and lost.any()


@pytest.mark.parametrize(("name", "places"), [("tf32", 23), ("bf16", 17)])
def test_two_parts_leave_little(name, places):
    x = np.random.default_rng(3).uniform(1, 2, 5000).astype(np.float32)
    left = np.abs(sum(part.astype(np.float64) for part in SPLITS[name][0](x, 2)) - x)
    assert left.max() == 2.0**-places


def test_parts_are_what_gemm_takes():
    x = numbers(4).reshape(-1, 2)
    for part in split_tf32(x):
        assert part.dtype == np.float32 and part.shape == x.shape and not (part.view(np.uint32) & 0x1FFF).any()
    for part in split_bf16(x):
        assert part.dtype == ml_dtypes.bfloat16 and part.shape == x.shape


def test_specials_are_the_first_part():
    x = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0], np.float32)
    big, *rest = (part.view(np.uint32) for part in split_tf32(x))
    assert [hex(b) for b in big] == ["0x7f800000", "0xff800000", "0x7fffe000", "0x80000000", "0x0"]
    assert not np.any(rest)
    big, *rest = (part.view(np.uint16) for part in split_bf16(x))
    assert [hex(b) for b in big] == ["0x7f80", "0xff80", "0x7fff", "0x8000", "0x0"]
    assert not np.any(rest)


def test_the_largest_number_splits_into_finite_parts():
    largest = np.array([np.finfo(np.float32).max])
    for split in (split_tf32, split_bf16):
        parts = split(largest)
        assert sum(float(part[0]) for part in parts) == float(largest[0])


def test_a_scalar_and_another_byte_order_split():
    assert [part.item() for part in split_tf32(np.float32(1.5))] == [1.5, 0, 0]
    assert split_bf16(np.array([1.5], ">f4"))[0].tolist() == [1.5]


def test_three_tf32_products_recover_what_one_loses():
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal(shape).astype(np.float32) for shape in ((8, 32), (32, 8)))
    tf32, fma = "m16n8k8.f32.tf32.tf32.f32", "fma.f32"
    (a, x), (b, y) = split_tf32(A, 2), split_tf32(B, 2)
    D = None
    for left, right in ((x, b), (a, y), (a, b)):
        D = we.gemm(left, right, D, instr=tf32)
    three = error_summary(D, A, B).relative_rms
    one = error_summary(we.gemm(a, b, instr=tf32), A, B).relative_rms
    chain = error_summary(we.gemm(A, B, instr=fma), A, B).relative_rms
    assert three < 4 * chain < one / 100


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: split_tf32(np.ones(2)), TypeError, r"x\.astype\(numpy\.float32\) rounds once"),
        (lambda: split_bf16(np.ones(2, np.float16)), TypeError, r"x\.astype\(numpy\.float32\) is exact"),
        (lambda: split_tf32(np.ones(2, np.uint32)), TypeError, r"x\.view\(numpy\.float32\)"),
        (lambda: split_tf32(np.ones(2, np.int8)), TypeError, "only float32 can be split"),
        (lambda: split_tf32([1.0]), TypeError, "no dtype"),
        (lambda: split_tf32(np.ones(2, np.float32), 0), ValueError, "not a number of terms"),
        (lambda: split_tf32(np.ones(2, np.float32), 2.0), ValueError, "not a number of terms"),
        (lambda: split_bf16(np.ones(2, np.float32), rounding="down"), ValueError, "there is no rounding 'down'"),
    ],
)
def test_wrong_uses_say_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()
