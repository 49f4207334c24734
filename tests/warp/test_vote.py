# SPDX-License-Identifier: MIT
"""Votes, matches and reductions against loops over the lanes."""

from functools import reduce

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.warp import vote

FULL = 0xFFFF_FFFF


def cases(count=60):
    """Masks, few and many of their bits set, with a generator for the values."""
    rng = np.random.default_rng(11)
    for mask in (1, 1 << 31, FULL, 0xFFFF, *(int(x) for x in rng.integers(1, 2**32, count))):
        yield mask, [x for x in range(32) if mask >> x & 1], rng


def test_all_any_and_ballot_ask_the_lanes_of_the_mask_alone():
    for mask, lanes, rng in cases():
        for density in (0, 0.05, 0.5, 0.95, 1):
            p = rng.random(32) < density
            assert vote.all_sync(mask, p) is all(bool(p[x]) for x in lanes)
            assert vote.any_sync(mask, p) is any(bool(p[x]) for x in lanes)
            assert vote.ballot_sync(mask, p) == sum(1 << x for x in lanes if p[x])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
def test_a_predicate_is_whatever_is_not_zero(dtype):
    values = np.where(np.arange(32) % 3 == 0, 0, np.arange(32) - 16).astype(dtype)
    assert vote.ballot_sync(FULL, values) == sum(1 << x for x in range(32) if values[x] != 0)


@pytest.mark.parametrize("predicate, bits", [(True, FULL), (False, 0), (7, FULL), (np.int32(0), 0)])
def test_one_predicate_counts_for_all_lanes(predicate, bits):
    assert vote.ballot_sync(FULL, predicate) == bits
    assert vote.ballot_sync(0xF0, predicate) == bits & 0xF0


@pytest.mark.parametrize("predicate", [0.5, "x", None, np.zeros(32), np.arange(31), np.ones((1, 32), bool),
                                       np.array([None] * 32), [[1], [2, 3]]])  # fmt: skip
@pytest.mark.parametrize("function", [vote.all_sync, vote.any_sync, vote.ballot_sync])
def test_what_is_no_predicate_is_refused(function, predicate):
    with pytest.raises(FragmentMismatchError, match="a predicate is an integer or a truth value"):
        function(FULL, predicate)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64])
def test_match_any_names_the_lanes_that_hold_the_same_bits(dtype):
    for mask, lanes, rng in cases(20):
        values = rng.integers(0, 4, 32).astype(dtype)
        got = vote.match_any_sync(mask, values)
        assert got.dtype == np.uint32
        for lane in range(32):
            same = sum(1 << x for x in lanes if values[x] == values[lane])
            assert got[lane] == (same if lane in lanes else 0)


def test_match_compares_bits_so_that_nan_matches_itself_and_the_zeros_differ():
    values = np.array([0.0, -0.0, np.nan, np.nan] * 8, np.float32)
    assert [hex(x) for x in vote.match_any_sync(FULL, values)[:4]] == [
        "0x11111111", "0x22222222", "0xcccccccc", "0xcccccccc",
    ]  # fmt: skip


def test_match_all_gives_the_mask_or_nothing():
    for mask, lanes, rng in cases():
        values = rng.integers(0, 2 if len(lanes) < 4 else 1000, 32).astype(np.uint32)
        same = len({int(values[x]) for x in lanes}) == 1
        assert vote.match_all_sync(mask, values) == ((mask, True) if same else (0, False))
        assert vote.match_all_sync(mask, np.full(32, 7, np.int64)) == (mask, True)


@pytest.mark.parametrize("value", [np.zeros(32, np.float16), np.zeros((2, 32), np.int32), np.array(["a"] * 32), 3])
@pytest.mark.parametrize("function", [vote.match_any_sync, vote.match_all_sync])
def test_what_cannot_be_matched_is_refused(function, value):
    with pytest.raises(FragmentMismatchError):
        function(FULL, value)


SCALAR = {
    "add": lambda x, y: x + y,
    "min": min,
    "max": max,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}


@pytest.mark.parametrize("operation", SCALAR)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_reductions_combine_the_lanes_of_the_mask_and_wrap(operation, dtype):
    if dtype == np.int32 and operation in ("and", "or", "xor"):
        pytest.skip("CUDA has these for unsigned words alone")
    for mask, lanes, rng in cases():
        values = rng.integers(0, 2**32, 32, np.uint32).view(dtype)
        got = vote.reduce_sync(operation, mask, values)
        expected = reduce(SCALAR[operation], [int(values[x]) for x in lanes]) & FULL
        assert got.dtype == dtype
        assert {int(x) & FULL for x in got[lanes]} == {expected}
        outside = [x for x in range(32) if x not in lanes]
        np.testing.assert_array_equal(got[outside], values[outside])


@pytest.mark.parametrize("operation, dtype", [
    ("add", np.int64), ("min", np.float32), ("max", np.int16), ("and", np.int32), ("xor", np.uint64),
])  # fmt: skip
def test_reductions_take_words_of_32_bits(operation, dtype):
    with pytest.raises(FragmentMismatchError, match=f"reduce_{operation}_sync takes 32 values of"):
        vote.reduce_sync(operation, FULL, np.zeros(32, dtype))


def test_what_is_no_reduction_is_refused():
    with pytest.raises(UnsupportedInstructionError, match="there is add, min, max, and, or, xor"):
        vote.reduce_sync("mul", FULL, np.zeros(32, np.uint32))


@pytest.mark.parametrize("function", [vote.all_sync, vote.any_sync, vote.ballot_sync, vote.match_any_sync,
                                      vote.match_all_sync, lambda m, v: vote.reduce_sync("add", m, v)])  # fmt: skip
@pytest.mark.parametrize("mask", [0, -1, 2**32, 1.5, None])
def test_what_is_no_mask_is_refused(function, mask):
    with pytest.raises(UnsupportedInstructionError, match="a mask of lanes has 32 bits"):
        function(mask, np.arange(32, dtype=np.uint32))
