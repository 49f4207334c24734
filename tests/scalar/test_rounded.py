# SPDX-License-Identifier: MIT
"""The fast arithmetic of f32, f64 and halves matches exact integers, in every rounding."""

import numpy as np
import pytest

from tools.ptx_scalar_inputs import inputs_of
from wmma_emu.formats import format_of
from wmma_emu.scalar import add, fma, mul, rounded_double, rounded_half, rounded_single
from wmma_emu.scalar.fused import _fma_block
from wmma_emu.scalar.rounded_half import HALVES

ROUNDINGS = ("RNE", "RZ", "RD", "RU")


def operands(kind):
    return [inputs_of(kind, i) for i in range(3)]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_f32_is_rounded_once(rounding):
    a, b, c = operands("f32")
    assert np.array_equal(rounded_single.add(a, b, rounding), add(a, b, "f32", rounding))
    assert np.array_equal(rounded_single.mul(a, b, rounding), mul(a, b, "f32", rounding))
    f32 = format_of("f32")
    on_integers = _fma_block(f32, f32, rounding, "canonical", "ieee", a, b, c)
    assert np.array_equal(rounded_single.fma(a, b, c, rounding), on_integers)


@pytest.mark.parametrize("name", HALVES)
def test_halves_are_rounded_once(name):
    a, b, c = operands(name)
    half = HALVES[name]
    assert np.array_equal(rounded_half.add(a, b, half), add(a, b, name))
    assert np.array_equal(rounded_half.mul(a, b, half), mul(a, b, name))
    assert np.array_equal(rounded_half.fma(a, b, c, half), fma(a, b, c, name))


def test_f64_is_rounded_once_to_nearest():
    a, b, _ = operands("f64")
    numbers = [x for x in (a, b)]
    finite = np.logical_and.reduce([(x << np.uint64(1)) < np.uint64(0x7FF << 53) for x in numbers])
    a, b = a[finite], b[finite]
    assert np.array_equal(rounded_double.add(a, b), add(a, b, "f64"))
    assert np.array_equal(rounded_double.mul(a, b), mul(a, b, "f64"))
    assert np.array_equal(rounded_double.sub(a, b), add(a, b ^ np.uint64(1 << 63), "f64"))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_a_product_is_flushed_if_it_is_too_small_after_rounding_with_an_unbounded_exponent(rounding):
    exponents = np.arange(2, 126, dtype=np.uint32)
    up, down = (x.reshape(-1, 1, 1) for x in (exponents, np.uint32(128) - exponents))
    a = np.broadcast_to((up << np.uint32(23)) + np.arange(6, dtype=np.uint32).reshape(6, 1), (124, 6, 6)).reshape(-1)
    b = np.broadcast_to((down << np.uint32(23)) - np.arange(6, dtype=np.uint32), (124, 6, 6)).reshape(-1)
    a = a ^ (np.arange(a.size, dtype=np.uint32) % np.uint32(2) << np.uint32(31))
    zero = np.zeros(1, np.uint32)
    expected = [is_below(int(x), int(y), rounding) for x, y in zip(a, b, strict=True)]
    assert 0 < sum(expected) < len(expected)
    for found in (rounded_single.mul(a, b, rounding, True), rounded_single.fma(a, b, zero, rounding, True)):
        assert np.array_equal(found & np.uint32(0x7FFFFFFF) == 0, expected)


def is_below(a: int, b: int, rounding: str) -> bool:
    """Return whether a product of f32, rounded to 24 bits, is smaller than 2**-126."""
    negative = bool(a >> 31)
    significands = [(x & 0x7FFFFF) | 0x800000 for x in (a, b)]
    product = significands[0] * significands[1]
    exponent = (a >> 23 & 255) + (b >> 23 & 255) - 300
    lost = product.bit_length() - 24
    whole, rest = product >> lost, product & (1 << lost) - 1
    away = {"RZ": False, "RD": negative, "RU": not negative}.get(rounding)
    if away is None:
        away = 2 * rest > 1 << lost or (2 * rest == 1 << lost and whole % 2 == 1)
    whole += away and rest > 0
    return whole.bit_length() + lost + exponent <= -126


@pytest.mark.parametrize(
    "a, b, product, flushed",
    [
        (0x1DA0, 0x21B0, 0x0400, 0x0400),  # 45 * 91 * 2**-26 = 2**-14 - 2**-26, midway between two numbers of 11 bits
        (0x9DA0, 0x21B0, 0x8400, 0x8400),
        (0x1DC0, 0x2190, 0x0400, 0x0000),  # 46 * 89 * 2**-26 = 2**-14 - 2**-25, a number of 11 bits
        (0x1DC0, 0xA190, 0x8400, 0x8000),
    ],
)
def test_the_tie_below_the_smallest_normal_f16_rounds_up_to_it_and_smaller_numbers_become_zero(a, b, product, flushed):
    x, y, zero = (np.array([bits], np.uint16) for bits in (a, b, 0x8000 if product & 0x8000 else 0))
    f16 = HALVES["f16"]
    for ftz, expected in ((False, product), (True, flushed)):
        assert rounded_half.mul(x, y, f16, ftz)[0] == expected
        assert rounded_half.fma(x, y, zero, f16, ftz)[0] == expected
