# SPDX-License-Identifier: MIT
"""Counts of distances, and the worst elements, compared with the same in Python's integers."""

import statistics

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.formats.distance import NOT_COMPARABLE
from wmma_emu.gemm.comparison_statistics import statistics_of, worst_of


def drawn(seed, shape, highest=63):
    rng = np.random.default_rng(seed)
    ulps = rng.integers(0, 1 << rng.integers(1, highest, shape), dtype=np.uint64)
    ulps[rng.random(shape) < 0.3] = 0
    ulps[rng.random(shape) < 0.1] = NOT_COMPARABLE
    return ulps, (ulps != 0) | (rng.random(shape) < 0.2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (2, 3, 31)], ids=str)
def test_statistics_equal_statistics_of_exact_integers(seed, shape):
    ulps, differ = drawn(seed, shape)
    found = statistics_of(ulps, differ)
    numbers = [int(x) for x in ulps.flat if 0 < x < NOT_COMPARABLE]
    assert (found.elements, found.differing, found.apart) == (ulps.size, int(differ.sum()), len(numbers))
    assert found.nan == sum(int(x) == NOT_COMPARABLE for x in ulps.flat)
    assert found.zero_signs == sum(bool(d) and x == 0 for x, d in zip(ulps.flat, differ.flat, strict=True))
    assert found.differing == found.apart + found.zero_signs + found.nan
    if not numbers:
        assert (found.largest, found.median, found.mean, found.histogram) == (None, None, None, ())
        return
    assert found.largest == max(numbers) and found.mean == sum(numbers) / len(numbers)
    assert found.median == statistics.median(numbers)
    bins = {}
    for x in numbers:
        first = 1 << (x.bit_length() - 1)
        bins[first] = bins.get(first, 0) + 1
    assert [tuple(x) for x in found.histogram] == [(x, 2 * x - 1, bins[x]) for x in sorted(bins)]


def test_sums_of_large_distances_do_not_wrap():
    ulps = np.full(9, (1 << 64) - 2, np.uint64)
    found = statistics_of(ulps, ulps != 0)
    assert found.mean == found.median == float((1 << 64) - 2) and found.largest == (1 << 64) - 2
    assert found.histogram == ((1 << 63, (1 << 64) - 1, 9),)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [0, 1, 2, 5, 34, 35, 10**6])
def test_the_worst_are_sorted_by_distance_then_by_index(seed, count):
    ulps, differ = drawn(seed, (7, 5), highest=4)
    places = [where for where in np.ndindex(ulps.shape) if differ[where]]
    expected = sorted(places, key=lambda where: (-int(ulps[where]), where))
    assert worst_of(ulps, differ, count) == expected[:count]


@pytest.mark.parametrize("count", [-1, 1.5, "5", None, np.float64(2)], ids=repr)
def test_a_count_of_another_type_or_below_0_is_refused(count):
    ulps = np.ones((2, 2), np.uint64)
    with pytest.raises(we.UnsupportedInstructionError, match="not a number of elements; pass an integer of at least 0"):
        worst_of(ulps, ulps != 0, count)


@pytest.mark.parametrize(("ulps", "differ", "text"), [
    ([0, 0], [False, False], "all 2 elements have the same bits"),
    ([1, 0], [True, False], "1 of 2 elements differ; median 1, mean 1, at most 1 ulp"),
    ([1, 4], [True, True], "2 of 2 elements differ; median 2.5, mean 2.5, at most 4 ulps"),
    ([0, NOT_COMPARABLE], [True, True], "2 of 2 elements differ; 1 in the sign of zero; 1 in NaN"),
])  # fmt: skip
def test_statistics_are_a_sentence(ulps, differ, text):
    assert str(statistics_of(np.array(ulps, np.uint64), np.array(differ))) == text
