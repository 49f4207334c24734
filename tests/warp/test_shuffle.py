# SPDX-License-Identifier: MIT
"""Shuffles against the rule of PTX ISA 9.1, shfl.sync, written out for one lane, over every operand there is."""

import functools

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import DivergenceError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.warp.shuffle import lanes_of_mask, shuffled

ALL = 0xFFFF_FFFF
CALLS = {mode: functools.partial(shuffled, mode) for mode in ("idx", "up", "down", "bfly")}
WIDTHS = [1, 2, 4, 8, 16, 32]
DTYPES = [bool, np.int8, np.int32, np.uint32, np.int64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2,
          np.float32, np.float64, np.complex64]  # fmt: skip
LANE = np.arange(32)


def source_of(mode, lane, b, width):
    """The lane that is read: the clamp and the segment mask as CUDA packs them into c, five bits of each."""
    clamp = 0 if mode == "up" else 31
    segments = ~(width - 1) & 31
    b &= 31
    first = lane & segments
    limit = first | (clamp & ~segments & 31)
    if mode == "up":
        j = lane - b
        inside = j >= limit
    else:
        j = {"down": lane + b, "bfly": lane ^ b, "idx": first | (b & ~segments & 31)}[mode]
        inside = j <= limit
    return j if inside else lane


def sources(mode, operands, width):
    return [source_of(mode, lane, int(b), width) for lane, b in enumerate(operands)]


def distinct(dtype, *warps):
    """Values whose patterns differ, NaN with payloads among them."""
    size = np.dtype(dtype).itemsize
    if dtype is bool:
        return np.random.default_rng(1).random((*warps, 32)) < 0.5
    codes = np.random.default_rng(20261121).integers(0, 256, (*warps, 32, size), np.uint8)
    codes[..., -2:] |= np.uint8(0x7C) if size > 1 else np.uint8(0)  # half of the values NaN or nearly
    return np.ascontiguousarray(codes).view(dtype)[..., 0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("mode", CALLS)
def test_every_lane_reads_the_lane_of_the_rule_whatever_the_operand(mode, width):
    for b in [*range(-40, 100), 2**31 - 1, -(2**31), 2**32 - 1, np.uint8(33), np.int64(-1), np.uint64(2**63 + 5)]:
        expected = sources(mode, [int(b)] * 32, width)
        assert CALLS[mode](ALL, LANE, b, width).tolist() == expected


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("mode", CALLS)
def test_every_lane_may_have_a_different_operand(mode, width):
    rng = np.random.default_rng(20261122)
    for dtype in (np.int8, np.uint8, np.int32, np.uint32, np.int64):
        operands = rng.integers(0, 100, (20, 32)).astype(dtype)
        for b in operands:
            assert CALLS[mode](ALL, LANE, b, width).tolist() == sources(mode, b, width)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", CALLS)
def test_bits_move_unchanged_in_every_dtype_and_for_batches_of_warps(mode, dtype):
    for warps in ((), (3,), (2, 0), (2, 2)):
        values = distinct(dtype, *warps)
        before = values.tobytes()
        result = CALLS[mode](ALL, values, 5, 16)
        assert (result.dtype, result.shape) == (values.dtype, values.shape)
        expected = values[..., sources(mode, [5] * 32, 16)]
        assert result.tobytes() == np.ascontiguousarray(expected).tobytes()
        assert values.tobytes() == before and not np.shares_memory(values, result)


def test_nan_payloads_and_signs_survive():
    codes = (0x7F800001 + LANE.astype(np.uint32) * 0x01010101 | 0x7F800000).astype(np.uint32)
    result = CALLS["bfly"](ALL, codes.view(np.float32), 31)
    np.testing.assert_array_equal(result.view(np.uint32), codes[::-1])


@pytest.mark.parametrize("mode", CALLS)
def test_a_mask_leaves_lanes_alone_and_refuses_to_read_from_them(mode):
    rng = np.random.default_rng(20261123)
    moved = refused = 0
    for case in range(2000):
        mask = int(rng.integers(1, 2**32)) | (0xFFFF0000 if case % 2 else 0xFF)
        width, b = WIDTHS[case % 6], int(rng.integers(0, 34))
        wanted = sources(mode, [b] * 32, width)
        missing = [(x, y) for x, y in enumerate(wanted) if mask >> x & 1 and not mask >> y & 1]
        if missing:
            refused += 1
            with pytest.raises(DivergenceError) as caught:
                CALLS[mode](mask, LANE, b, width)
            assert str(caught.value) == (
                f"lane {missing[0][0]} would read lane {missing[0][1]}, which is not in the mask {mask:#010x}: "
                "undefined on a GPU; the mask must contain every lane that is read"
            )
        else:
            moved += 1
            expected = [y if mask >> x & 1 else x for x, y in enumerate(wanted)]
            assert CALLS[mode](mask, LANE, b, width).tolist() == expected
    assert moved > 100 and refused > 100


def test_a_warp_sum_by_butterflies_and_by_steps_down():
    x = y = LANE * LANE
    for step in (16, 8, 4, 2, 1):
        x, y = x + CALLS["bfly"](ALL, x, step), y + CALLS["down"](ALL, y, step)
    assert (x == (LANE * LANE).sum()).all() and y[0] == x[0]


@pytest.mark.parametrize("width", [0, -1, 3, 33, 64, 8.0, "8", None, True, np.arange(32)], ids=repr)
def test_a_width_is_a_power_of_two_up_to_32(width):
    with pytest.raises(UnsupportedInstructionError, match="the width of a shuffle is 1, 2, 4, 8, 16 or 32, not "):
        shuffled("idx", ALL, LANE, 0, width)


@pytest.mark.parametrize("mask", [0, -1, 2**32, 1.0, "all", None, True, LANE, 10**5000], ids=type)
def test_a_mask_has_32_bits(mask):
    with pytest.raises(UnsupportedInstructionError, match="a mask of lanes has 32 bits, at least one of them set, not"):
        shuffled("idx", mask, LANE, 0)


NO_VARIABLES = [3, 3.0, np.float32(3), np.array(3), LANE.tolist(), LANE[:31], LANE.reshape(32, 1), "x"]
NO_OPERANDS = [1.0, "1", None, True, LANE[:5], LANE.reshape(1, 32), LANE / 1, [[1], [2, 3]], 2**70]


@pytest.mark.parametrize("var", NO_VARIABLES, ids=type)
def test_a_variable_has_a_value_in_every_lane(var):
    with pytest.raises(
        FragmentMismatchError, match=r"var holds a value of every lane, an array of shape \(\.\.\., 32\)"
    ):
        shuffled("idx", ALL, var, 0)


@pytest.mark.parametrize("dtype", [object, "U1", "S1", "M8[s]"])
def test_a_variable_holds_numbers(dtype):
    with pytest.raises(FragmentMismatchError, match="var holds numbers, not "):
        shuffled("idx", ALL, np.empty(32, dtype), 0)


@pytest.mark.parametrize("b", NO_OPERANDS, ids=type)
def test_the_operand_is_an_integer_or_one_for_each_lane(b):
    with pytest.raises(FragmentMismatchError, match="the lane, or the distance, of a shuffle is an integer of 32 bits"):
        shuffled("idx", ALL, LANE, b)


def test_a_mask_names_lanes_by_bit():
    for mask in (1, 1 << 31, 0xDEADBEEF, np.uint32(ALL), np.int64(5)):
        assert lanes_of_mask(mask).tolist() == [bool(int(mask) >> lane & 1) for lane in range(32)]
