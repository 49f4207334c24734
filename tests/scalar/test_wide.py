# SPDX-License-Identifier: MIT
"""128-bit integers against Python integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmma_emu.scalar import wide

pytestmark = pytest.mark.property
MASK = (1 << 64) - 1
INTEGERS = st.integers(0, 2**126 - 1) | st.integers(0, 126).map(lambda n: (1 << n) - 1) | st.integers(0, 2**64)


def limbs(numbers):
    return np.array([n >> 64 for n in numbers], np.uint64), np.array([n & MASK for n in numbers], np.uint64)


def joined(pair):
    return [(high << 64) | low for high, low in zip(pair[0].tolist(), pair[1].tolist(), strict=True)]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**53 - 1), st.integers(0, 2**53 - 1)), min_size=1))
def test_products(pairs):
    x, y = (np.array(column, np.uint64) for column in zip(*pairs, strict=True))
    assert joined(wide.multiply(x, y)) == [p * q for p, q in pairs]


@settings(deadline=None)
@given(st.lists(st.tuples(INTEGERS, st.integers(0, 127)), min_size=1))
def test_shifts_and_lengths(rows):
    numbers, places = zip(*rows, strict=True)
    shift = np.array(places)
    assert wide.length(limbs(numbers)).tolist() == [n.bit_length() for n in numbers]
    left = [(n << s) & ((1 << 128) - 1) for n, s in rows]
    assert joined(wide.shift_left(limbs(numbers), shift)) == left
    right = [n >> s | (n & ((1 << s) - 1) != 0) for n, s in rows]
    assert joined(wide.shift_right_with_sticky(limbs(numbers), shift)) == right


@settings(deadline=None)
@given(st.lists(st.tuples(INTEGERS, INTEGERS, st.booleans()), min_size=1))
def test_signed_sums(rows):
    x, y, opposed = zip(*rows, strict=True)
    total, negative = wide.add_signed(limbs(x), limbs(y), np.array(opposed))
    exact = [p - q if minus else p + q for p, q, minus in rows]
    assert joined(total) == [abs(t) for t in exact]
    assert negative.tolist() == [t < 0 for t in exact]
