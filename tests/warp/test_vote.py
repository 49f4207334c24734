# SPDX-License-Identifier: MIT
"""Votes, matches and reductions against one lane after another."""

import functools
import operator

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.warp.vote import match_all_sync, match_any_sync, reduce_sync, voted

ALL = 0xFFFF_FFFF
LANE = np.arange(32)
all_sync, any_sync, ballot_sync = (functools.partial(voted, mode) for mode in ("all", "any", "ballot"))


def cases(count=300):
    """Masks, sparse, dense and of one lane, and the lanes in them."""
    rng = np.random.default_rng(20261124)
    for case in range(count):
        bits = int(rng.integers(0, 2**32)) & (int(rng.integers(0, 2**32)) if case % 3 == 0 else ALL)
        mask = [bits, ALL, 1 << case % 32][case % 3] or 1
        yield rng, mask, [lane for lane in range(32) if mask >> lane & 1]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint32, np.int64])
def test_votes_count_the_lanes_in_the_mask(dtype):
    for i, (rng, mask, lanes) in enumerate(cases()):
        predicate = (rng.random(32) < (0, 0.1, 0.9, 1)[i % 4]) * rng.integers(1, 100, 32)
        predicate = predicate.astype(dtype)
        votes = [bool(predicate[lane]) for lane in lanes]
        assert all_sync(mask, predicate) == all(votes)
        assert any_sync(mask, predicate) == any(votes)
        assert ballot_sync(mask, predicate) == sum(1 << lane for lane, vote in zip(lanes, votes, strict=True) if vote)


@pytest.mark.parametrize("predicate", [True, False, 0, 5, -1, np.uint8(3), np.array(0)], ids=repr)
def test_one_predicate_counts_for_all_lanes(predicate):
    assert ballot_sync(0xF0F0, predicate) == (0xF0F0 if predicate else 0)
    assert all_sync(7, predicate) == any_sync(7, predicate) == bool(predicate)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32, np.int64, np.uint64, np.float64, np.complex64])
def test_matches_compare_bits(dtype):
    for rng, mask, lanes in cases(60):
        few = rng.integers(0, 256, (3, np.dtype(dtype).itemsize), np.uint8)
        few[2, -2:] = 0xFF  # NaN equals itself
        value = few[rng.integers(0, 3, 32)].view(dtype)[:, 0]
        codes = [value[lane].tobytes() for lane in range(32)]
        expected = [
            sum(1 << other for other in lanes if codes[other] == codes[lane]) if lane in lanes else 0
            for lane in range(32)
        ]
        result = match_any_sync(mask, value)
        assert result.dtype == np.uint32 and result.tolist() == expected
        same = len({codes[lane] for lane in lanes}) == 1
        assert match_all_sync(mask, value) == ((mask, True) if same else (0, False))


def test_the_two_zeros_do_not_match():
    zeros = np.where(LANE < 16, 0.0, -0.0)
    assert match_all_sync(ALL, zeros) == (0, False)
    assert match_all_sync(0xFFFF, zeros) == (0xFFFF, True)


REDUCTIONS = {
    "add": operator.add,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


SIGNED = [(name, np.int32) for name in ("add", "min", "max")]  # CUDA has no others


@pytest.mark.parametrize(("name", "dtype"), [*SIGNED, *((name, np.uint32) for name in REDUCTIONS)])
def test_reductions_combine_the_lanes_of_the_mask_and_wrap(name, dtype):
    for rng, mask, lanes in cases():
        value = rng.integers(0, 2**32, 32, np.uint64).astype(np.uint32).view(dtype)
        total = functools.reduce(REDUCTIONS[name], (int(value[lane]) for lane in lanes)) & ALL
        result = reduce_sync(name, mask, value)
        assert result.dtype == dtype
        expected = [total if lane in lanes else int(value[lane]) & ALL for lane in range(32)]
        assert result.view(np.uint32).tolist() == expected


@pytest.mark.parametrize("wrong", [0.5, LANE / 2, "x", None, LANE[:4], [[1], [2, 3]], np.array([None] * 32)], ids=type)
def test_a_predicate_is_an_integer_or_a_truth_value(wrong):
    for vote in (all_sync, any_sync, ballot_sync):
        with pytest.raises(FragmentMismatchError, match="a predicate is an integer or a truth value, or one for each"):
            vote(ALL, wrong)


@pytest.mark.parametrize("wrong", [LANE.astype(np.int16), LANE.astype(ml_dtypes.bfloat16), LANE.reshape(1, 32)])
def test_a_match_takes_4_or_8_bytes_a_lane(wrong):
    for match in (match_any_sync, match_all_sync):
        with pytest.raises(FragmentMismatchError, match="a match takes 32 values of 4 or 8 bytes"):
            match(ALL, wrong)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("add", LANE, "int32 or uint32, not int64 of shape (32,); pass value.astype(numpy.int32)"),
        (
            "add",
            LANE.astype(np.float32),
            "int32 or uint32, not float32 of shape (32,); it takes no floats: use shuffles",
        ),
        ("and", LANE.astype(np.int32), "uint32, not int32 of shape (32,); pass value.view(numpy.uint32)"),
        ("xor", LANE, "uint32, not int64 of shape (32,); pass value.astype(numpy.uint32)"),
    ],
)
def test_a_reduction_takes_words(name, value, text):
    with pytest.raises(FragmentMismatchError) as caught:
        reduce_sync(name, ALL, value)
    assert str(caught.value) == f"reduce_{name}_sync takes 32 values of {text}"


def test_a_reduction_that_does_not_exist_is_refused():
    with pytest.raises(
        UnsupportedInstructionError, match="there is no reduction 'mul'; the reductions are add, min, max, and"
    ):
        reduce_sync("mul", ALL, LANE.astype(np.int32))


@pytest.mark.parametrize("call", [all_sync, any_sync, ballot_sync, match_any_sync, match_all_sync])
def test_a_mask_has_32_bits(call):
    for mask in (0, -1, 2**32, True, 1.5):
        with pytest.raises(UnsupportedInstructionError, match="a mask of lanes has 32 bits"):
            call(mask, LANE)


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        (np.zeros(32, np.float32), "it takes no floats: use shuffles"),
        (np.zeros((2, 32), np.uint32), "pass one value for each lane"),
        (np.zeros(32, np.int64), r"pass value.astype\(numpy.int32\)"),
        (np.zeros(32, ">u4"), r"is byte-swapped \(>u4\)"),
        (np.ma.zeros(32, np.uint32), r"is a masked array; pass value.filled\(value\)"),
        (np.zeros(32, [("a", "u4")]), "holds numbers, not"),
    ],
)
def test_values_that_cannot_be_reduced_get_a_hint(value, fix):
    with pytest.raises(FragmentMismatchError, match=fix):
        reduce_sync("add", 0xFFFFFFFF, value)
