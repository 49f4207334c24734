# SPDX-License-Identifier: MIT
"""tcgen05.ld.red: the smallest and the largest of each lane's registers, and where the answer is not known."""

import numpy as np
import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.tcgen05 import TensorMemory, addresses_of_warps, ld_red


def memory(words):
    """Tensor memory whose first columns are given, (128, columns)."""
    tmem = TensorMemory()
    tmem.alloc(512)
    tmem.write(np.arange(128)[:, None], np.arange(words.shape[1]), words)
    return tmem


def reduce(patterns, operation):
    """Reduce one lane's patterns."""
    words = np.broadcast_to(np.array(patterns, np.uint32), (128, len(patterns)))
    instruction = f"tcgen05.ld.red.32x32b.x{len(patterns)}.{operation}"
    return next(hex(x) for x in ld_red(memory(words), 0, instruction)[1])


@pytest.mark.parametrize("kind", ["min", "max"])
@pytest.mark.parametrize(("element", "dtype"), [("u32", np.uint32), ("s32", np.int32)])
@pytest.mark.parametrize("num", [2, 16, 128])
def test_integers_are_reduced_lane_by_lane(kind, element, dtype, num):
    words = np.random.default_rng(num).integers(0, 1 << 32, (128, num), np.uint32)
    tmem = memory(words)
    registers, found = ld_red(tmem, addresses_of_warps(0), f"tcgen05.ld.red.32x32b.x{num}.{kind}.{element}")
    assert np.array_equal(registers.reshape(num, 128), words.T)
    assert np.array_equal(found.reshape(128).view(dtype), getattr(words.view(dtype), kind)(axis=1))


@pytest.mark.parametrize("operation", ["min", "max", "min.abs", "max.abs", "min.NaN", "max.abs.NaN"])
def test_floats_are_reduced_lane_by_lane(operation):
    numbers = np.random.default_rng(5).normal(size=(128, 8)).astype(np.float32)
    numbers[3] = [np.inf, -np.inf, 1, 2, 3, 4, 5, 1e-40]
    _, found = ld_red(memory(numbers.view(np.uint32)), 0, f"tcgen05.ld.red.32x32b.x8.{operation}.f32")
    values = np.abs(numbers) if ".abs" in operation else numbers
    expected = getattr(values, operation[:3])(axis=1)[:32]
    assert np.array_equal(found, expected.view(np.uint32))


def test_answers_are_those_that_were_published_from_a_b300():
    assert reduce([9, 2, 15, 4], "max.u32") == "0xf"
    assert reduce(np.array([-5, 7, -20, 3], np.int32).view(np.uint32), "min.s32") == hex((1 << 32) - 20)
    one, four = np.array([1, -4], np.float32).view(np.uint32)
    assert reduce([one, four, 0x7FC12345, one], "max.abs.NaN.f32") == "0x7fffffff"
    assert reduce(np.array([4, -2, 0.5, -8], np.float32).view(np.uint32), "min.abs.f32") == hex(0x3F000000)


def test_halves_of_16x32bx2_reduce_what_they_load():
    words = np.random.default_rng(6).integers(0, 1 << 32, (128, 64), np.uint32)
    registers, found = ld_red(memory(words), 0, "tcgen05.ld.red.16x32bx2.x4.min.u32", half_split_offset=32)
    assert np.array_equal(found, np.concatenate((words[:16, :4].min(1), words[:16, 32:36].min(1))))
    assert np.array_equal(found, registers.min(0))


def test_the_result_for_a_nan_without_the_qualifier_is_not_guessed():
    with pytest.raises(UnsupportedInstructionError, match=r"NaN in lane 0.*\.NaN returns 0x7fffffff"):
        reduce([0, 0x7FC00000], "min.f32")


@pytest.mark.parametrize(("patterns", "operation"), [
    ([0, 0x80000000], "min.f32"), ([0x80000000, 0], "max.f32"), ([0x80000000, 0xBF800000, 0, 0xBF800000], "max.f32"),
])  # fmt: skip
def test_which_zero_wins_is_not_guessed(patterns, operation):
    with pytest.raises(UnsupportedInstructionError, match="zeros of both signs"):
        reduce(patterns, operation)


def test_zeros_that_are_not_the_result_and_zeros_of_one_sign_are_legal():
    assert reduce([0, 0x80000000, 0x3F800000, 0x3F800000], "max.f32") == hex(0x3F800000)
    assert reduce([0x80000000, 0x80000000], "max.f32") == hex(0x80000000)
    assert reduce([0x80000000, 0], "min.abs.f32") == "0x0"
    assert reduce([0x80000000, 0, 0x7FC00000, 0], "min.NaN.f32") == "0x7fffffff"


@pytest.mark.parametrize(
    "name", ["32x32b.x2.max.u32", "32x32b.x2.u32.max", "32x32b.x2.f32.max", "32x32b.x2.f32.max.abs.NaN"]
)
def test_both_orders_of_type_and_operation_are_read(name):
    tmem = memory(np.arange(256, dtype=np.uint32).reshape(128, 2))
    assert ld_red(tmem, 0, f"tcgen05.ld.red.sync.aligned.{name}")[1][3] == 7


@pytest.mark.parametrize("name", [
    "32x32b.x1.max.u32", "16x64b.x2.max.u32", "32x32b.x2.max.abs.u32", "32x32b.x2.add.u32", "32x32b.x2.max.NaN.s32",
    "32x32b.x2.max.b32",
])  # fmt: skip
def test_other_forms_do_not_exist(name):
    with pytest.raises(UnsupportedInstructionError, match="Nearest on"):
        ld_red(TensorMemory(), 0, f"tcgen05.ld.red.{name}")


def test_a_b200_does_not_have_it():
    with pytest.raises(UnsupportedInstructionError, match=r"sm_100 .* the only chip that supports it is sm_103"):
        ld_red(TensorMemory(), 0, "tcgen05.ld.red.32x32b.x2.max.u32", arch="b200")
