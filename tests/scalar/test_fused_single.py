# SPDX-License-Identifier: MIT
"""The float64 path of the float32 multiply-add equals the integer path, if operands cancel, tie and nearly tie."""

import numpy as np
import pytest

from wmma_emu.formats import format_of
from wmma_emu.scalar import fma
from wmma_emu.scalar.fused import _fma_block

F32 = format_of("f32")


def near_one(rng, count):
    """Return numbers with exponents between -50 and 50; a third of the significands are short."""
    exponent = rng.integers(100, 150, count, np.uint32)
    fraction = rng.integers(0, 1 << 23, count, np.uint32)
    fraction = np.where(rng.random(count) < 0.3, fraction & 0x7FF000, fraction).astype(np.uint32)
    return rng.integers(0, 2, count, np.uint32) << 31 | exponent << 23 | fraction


def raw(rng, count):
    return rng.integers(0, 1 << 32, count, np.uint64).astype(np.uint32)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("draw", [near_one, raw])
@pytest.mark.parametrize("cancels", [False, True])
def test_the_fast_path_equals_the_integer_path(draw, cancels):
    rng = np.random.default_rng(20261121)
    count = 1 << 17
    a, b, c = draw(rng, count), draw(rng, count), draw(rng, count)
    if cancels:
        product = a.view(np.float32).astype(np.float64) * b.view(np.float32)
        c = (-product).astype(np.float32).view(np.uint32) ^ rng.integers(0, 2, count, np.uint32)
    expected = _fma_block(F32, F32, "RNE", "canonical", "ieee", a, b, c)
    np.testing.assert_array_equal(fma(a, b, c, F32), expected)
