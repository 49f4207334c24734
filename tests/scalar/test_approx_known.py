# SPDX-License-Identifier: MIT
"""What ptxas makes of functions of constants is a double, rounded; the chip's special cases stay as they are."""

import numpy as np
import pytest

from wmma_emu.scalar.approx_known import KNOWN_NAMES, known_approx, known_reciprocal
from wmma_emu.scalar.approx_reference import approx
from wmma_emu.scalar.approx_rounded import ROUNDED_UNITS

FUNCTIONS = {
    "rcp": (lambda x: 1 / x, 1e-30, 1e30),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30),
    "sqrt": (np.sqrt, 1e-30, 1e30),
    "ex2": (np.exp2, 1e-3, 120),
    "lg2": (np.log2, 1e-30, 1e30),
    "sin": (np.sin, 1e-4, 1e6),
    "cos": (np.cos, 1e-4, 1e6),
}
SPECIALS = [0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF]


@pytest.mark.parametrize("name", KNOWN_NAMES)
@pytest.mark.parametrize("ftz", [False, True])
def test_a_function_of_a_known_number_is_rounded_to_nearest(name, ftz):
    function, least, most = FUNCTIONS[name]
    rng = np.random.default_rng(24)
    x = np.exp(rng.uniform(np.log(least), np.log(most), 200)).astype(np.float32)
    exact = function(x.astype(np.float64)).astype(np.float32).view(np.uint32)
    assert [known_approx(name, int(word), ftz) for word in x.view(np.uint32)] == exact.tolist()


@pytest.mark.parametrize("name", KNOWN_NAMES)
@pytest.mark.parametrize("ftz", [False, True])
def test_zeros_infinities_and_nan_are_those_of_the_chip(name, ftz):
    exact = [x for x in SPECIALS if not 0 < x & 0x7FFFFFFF < 0x800000]
    assert [known_approx(name, x, ftz) for x in exact] == [approx(name, x, ftz) for x in exact]


@pytest.mark.parametrize(
    ("divisor", "kind", "ftz", "factors"),
    [
        (0x44400000, "full", False, (0x3F800000, 0x3AAAAAAB)),
        (0x7F7FFFFF, "full", True, (0x3E800000, 0x00800001)),
        (0x7F7FFFFF, "approx", True, (0x3F800000, 0)),
        (0x00000001, "approx", False, (0x4B800000, 0x7E000000)),
        (0x00000001, "approx", True, (0x3F800000, 0x7F800000)),
    ],
)
def test_a_known_divisor_becomes_one_or_two_factors(divisor, kind, ftz, factors):
    assert known_reciprocal(divisor, kind, ftz) == factors


@pytest.mark.parametrize(
    ("name", "word", "result"),
    [
        ("ex2", 0xC2FC0000, 0x00800000),  # 2**-126, the smallest normal number
        ("ex2", 0xC2FC0001, 0),
        ("rcp", 0x7E800000, 0x00800000),  # 1 / 2**126
        ("rcp", 0xFE800000, 0x80800000),
        ("rcp", 0x7E800001, 0),
        ("rcp", 0xFE800001, 0x80000000),
    ],
)
def test_the_smallest_normal_number_stays_and_what_is_smaller_is_a_zero_of_its_sign(name, word, result):
    assert ROUNDED_UNITS[name](word) == result
