# SPDX-License-Identifier: MIT
"""The distance in units in the last place: against an enumeration of each small format, and at the limits of f64."""

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import FORMATS, decode, format_of
from wmma_emu.formats.distance import NOT_COMPARABLE, ulp_distance

SMALL = [fmt for fmt in FORMATS.values() if fmt.bits <= 8]


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_distances_of_all_pairs_are_differences_of_ranks(fmt):
    codes = np.arange(1 << fmt.bits, dtype=np.uint64).astype(fmt.storage)
    values = decode(codes, fmt)
    numbers = np.unique(values[~np.isnan(values)])  # -0 and +0 are equal
    if fmt.kind != "float":
        np.testing.assert_array_equal(np.diff(numbers), 1)
    found = ulp_distance(codes[:, None], codes[None], fmt)
    for i, x in enumerate(values):
        for j, y in enumerate(values):
            if np.isnan(x) or np.isnan(y):
                # ue4m3 ignores its top bit.
                same = i == j or (fmt.name == "ue4m3" and (i ^ j) == 0x80)
                assert int(found[i, j]) == (0 if same else NOT_COMPARABLE)
            else:
                ranks = np.searchsorted(numbers, [x, y])
                assert int(found[i, j]) == abs(int(ranks[0]) - int(ranks[1]))


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_neighbours_of_a_16_bit_format_are_one_apart(name):
    fmt = format_of(name)
    codes = np.arange(1 << 16, dtype=np.uint16)
    values = decode(codes, fmt)
    order = codes[np.argsort(values, kind="stable")][: int((~np.isnan(values)).sum())]
    apart = ulp_distance(order[1:], order[:-1], fmt)
    zeros = decode(order[1:], fmt) == decode(order[:-1], fmt)
    np.testing.assert_array_equal(apart, np.where(zeros, 0, 1))


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_the_largest_distance_is_from_infinity_to_infinity_and_does_not_overflow(name):
    fmt = format_of(name)
    ends = np.array([fmt.infinity, fmt.infinity | fmt.sign_mask], np.uint64).astype(fmt.storage)
    assert int(ulp_distance(ends[:1], ends[1:], fmt)[0]) == 2 * fmt.infinity
    assert int(ulp_distance(ends[:1], ends[1:], fmt)[0]) < NOT_COMPARABLE


def test_nan_has_distance_0_from_itself_and_is_not_comparable_to_anything_else():
    x = np.array([0x7FFF_FFFF, 0x7FFF_FFFF, 0x7FC0_0000, 0x7F80_0000], np.uint32)
    y = np.array([0x7FFF_FFFF, 0x7FC0_0000, 0xFFC0_0000, 0x7FC0_0000], np.uint32)
    assert [int(d) for d in ulp_distance(x, y, "f32")] == [0, *[NOT_COMPARABLE] * 3]


def test_bits_that_tf32_ignores_do_not_count():
    x, y = np.array([0x3F80_1FFF, 0x3F80_2000], np.uint32), np.array([0x3F80_0000], np.uint32)
    np.testing.assert_array_equal(ulp_distance(x, y, "tf32"), [0, 1])


def test_zeros_of_both_signs_are_equal():
    assert int(ulp_distance(np.array([1 << 63], np.uint64), np.array([0], np.uint64), "f64")[0]) == 0


def test_single_patterns_have_a_distance_too():
    assert int(ulp_distance(np.uint32(5), np.uint32(0xFFFF_FFFB), "s32")) == 10


@pytest.mark.parametrize("wrong", [np.zeros(2), np.zeros(2, np.int32), [1, 2], 5, None])
def test_arguments_that_are_not_arrays_of_patterns_are_rejected(wrong):
    with pytest.raises(FragmentMismatchError, match="patterns as unsigned integers"):
        ulp_distance(wrong, np.zeros(2, np.uint32), "f32")
    with pytest.raises(FragmentMismatchError, match="y holds"):
        ulp_distance(np.zeros(2, np.uint32), wrong, "f32")


def test_shapes_that_do_not_broadcast_and_unknown_formats_are_rejected():
    with pytest.raises(FragmentMismatchError, match=r"x has shape \(2,\) and y \(3,\)"):
        ulp_distance(np.zeros(2, np.uint32), np.zeros(3, np.uint32), "f32")
    with pytest.raises(UnsupportedInstructionError, match="f17"):
        ulp_distance(np.zeros(2, np.uint32), np.zeros(2, np.uint32), "f17")
