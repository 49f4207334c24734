# SPDX-License-Identifier: MIT
"""Shuffles against the pseudo-code of PTX, lane by lane."""

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import DivergenceError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.warp.shuffle import shfl_down_sync, shfl_sync, shfl_up_sync, shfl_xor_sync

FULL = 0xFFFF_FFFF
WIDTHS = (1, 2, 4, 8, 16, 32)
OPERANDS = (*range(32), 32, 33, 63, 64, 1000, 2**31 - 1, -1, -2, -31, -32, -33, -(2**31))

# mode, function, clamp: c is (32 - width) << 8 | clamp (CUDA C++; PTX ISA, shfl.sync)
MODES = [
    pytest.param("idx", shfl_sync, 0x1F, id="idx"),
    pytest.param("up", shfl_up_sync, 0x00, id="up"),
    pytest.param("down", shfl_down_sync, 0x1F, id="down"),
    pytest.param("bfly", shfl_xor_sync, 0x1F, id="xor"),
]


def source_lane(mode, lane, b, c):
    """The lane that is read, by the pseudo-code of shfl.sync."""
    bval, cval, segmask = b & 31, c & 31, c >> 8 & 31
    max_lane = (lane & segmask) | (cval & ~segmask & 31)
    min_lane = lane & segmask
    if mode == "up":
        j = lane - bval
        valid = j >= max_lane
    elif mode == "down":
        j = lane + bval
        valid = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        valid = j <= max_lane
    else:
        j = min_lane | (bval & ~segmask & 31)
        valid = j <= max_lane
    return j if valid else lane


def sources(mode, operands, clamp, width):
    c = (32 - width) << 8 | clamp
    return np.array([source_lane(mode, lane, int(b), c) for lane, b in enumerate(operands)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode, shuffle, clamp", MODES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_lane_reads_the_lane_of_the_ptx_pseudo_code(mode, shuffle, clamp, width):
    for operand in OPERANDS:
        got = shuffle(FULL, np.arange(100, 132), operand, width)
        np.testing.assert_array_equal(got - 100, sources(mode, [operand] * 32, clamp, width), err_msg=str(operand))


@pytest.mark.parametrize("mode, shuffle, clamp", MODES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_lane_may_name_a_lane_of_its_own(mode, shuffle, clamp, width):
    rng = np.random.default_rng(width)
    for dtype in (np.int32, np.uint32, np.int64, np.uint8):
        operands = rng.integers(0, 256, 32).astype(dtype)
        got = shuffle(FULL, np.arange(32), operands, width)
        np.testing.assert_array_equal(got, sources(mode, operands, clamp, width))


def test_xor_reads_an_earlier_segment_and_not_a_later_one():
    assert shfl_xor_sync(FULL, np.arange(32), 8, width=8)[:16].tolist() == [*range(8), *range(8)]


@pytest.mark.parametrize("dtype", [
    np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32, np.uint32, np.int64, np.uint64, np.int8, np.bool_,
])  # fmt: skip
def test_bits_move_and_nothing_is_converted(dtype):
    width = np.dtype(dtype).itemsize
    patterns = np.random.default_rng(width).integers(0, 256, (3, 32 * width), np.uint8)
    if dtype == np.bool_:
        patterns &= 1
    values = patterns.view(dtype)
    for moved in (shfl_sync(FULL, values, 5), shfl_sync(FULL, values, np.full(32, 5))):
        assert moved.dtype == values.dtype
        assert moved.tobytes() == np.repeat(values[:, 5:6], 32, axis=1).tobytes()


def test_signalling_nan_and_minus_zero_keep_their_bits():
    bits = np.array([0x7F800001, 0xFFC12345, 0x80000000, 0x00000001] * 8, np.uint32)
    moved = shfl_xor_sync(FULL, bits.view(np.float32), 1)
    np.testing.assert_array_equal(moved.view(np.uint32), bits[np.arange(32) ^ 1])


def test_registers_of_many_warps_shuffle_at_once():
    values = np.arange(4 * 3 * 32).reshape(4, 3, 32)
    np.testing.assert_array_equal(shfl_down_sync(FULL, values, 1)[2, 1, :31], values[2, 1, 1:])


def test_the_operand_is_left_as_it_is():
    values = np.arange(32)
    moved = shfl_sync(FULL, values, 0)
    moved[:] = -1
    np.testing.assert_array_equal(values, np.arange(32))


def test_lanes_outside_the_mask_keep_their_own_value():
    got = shfl_sync(0x0000_00FF, np.arange(32), 3)
    assert got.tolist() == [3] * 8 + list(range(8, 32))


@pytest.mark.parametrize("mode, shuffle, clamp", MODES)
def test_a_lane_outside_the_mask_may_not_be_read(mode, shuffle, clamp):
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(300):
        mask = int(rng.integers(1, 2**32))
        operand, width = int(rng.integers(0, 32)), int(rng.choice(WIDTHS))
        inside = (mask >> np.arange(32) & 1).astype(bool)
        wanted = sources(mode, [operand] * 32, clamp, width)
        if (inside & ~inside[wanted]).any():
            refused += 1
            with pytest.raises(DivergenceError, match="leaves out"):
                shuffle(mask, np.arange(32), operand, width)
        else:
            got = shuffle(mask, np.arange(32), operand, width)
            np.testing.assert_array_equal(got, np.where(inside, wanted, np.arange(32)))
    assert 0 < refused < 300


def test_numpy_integers_are_masks_and_widths():
    got = shfl_sync(np.uint32(FULL), np.arange(32), np.uint8(1), np.int64(16))
    assert got[[0, 31]].tolist() == [1, 17]


@pytest.mark.parametrize("mask", [0, -1, 2**32, 1.0, "all", None, True])
def test_what_is_no_mask_is_refused(mask):
    with pytest.raises(UnsupportedInstructionError, match="a mask of lanes has 32 bits"):
        shfl_sync(mask, np.arange(32), 0)


@pytest.mark.parametrize("width", [0, 3, 33, 64, -2, 8.0, "8", None, True])
def test_what_is_no_width_is_refused(width):
    with pytest.raises(UnsupportedInstructionError, match="the width of a shuffle is 1, 2, 4, 8, 16 or 32"):
        shfl_sync(FULL, np.arange(32), 0, width)


@pytest.mark.parametrize("var", [
    3.0, np.float32(3), None, list(range(32)), np.arange(31), np.arange(32).reshape(32, 1), np.array(3),
    np.array([None] * 32), np.array(["a"] * 32),
])  # fmt: skip
def test_what_is_no_value_of_32_lanes_is_refused(var):
    with pytest.raises(FragmentMismatchError, match="var holds"):
        shfl_sync(FULL, var, 0)


@pytest.mark.parametrize("lane", [1.0, "1", None, True, 2**70, np.arange(31), np.zeros(32), [[1], [1, 2]]])
def test_what_is_no_lane_is_refused(lane):
    with pytest.raises(FragmentMismatchError, match="the lane, or the distance, of a shuffle"):
        shfl_sync(FULL, np.arange(32), lane)
