# SPDX-License-Identifier: MIT
"""tcgen05.shift.down: what every lane holds afterwards, on one CTA and on two."""

import numpy as np
import pytest

from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnspecifiedBehaviourWarning,
    UnsupportedInstructionError,
)
from wmma_emu.tcgen05 import TensorMemory, address, shift_down

ONE, TWO = "tcgen05.shift.cta_group::1.down", "tcgen05.shift.cta_group::2.down"

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def memory(seed=0, columns=64):
    tmem = TensorMemory()
    tmem.alloc(columns)
    words = np.random.default_rng(seed).integers(0, 1 << 32, (128, columns), np.uint32)
    tmem.write(np.arange(128)[:, None], np.arange(columns), words)
    return tmem, words


@pytest.mark.parametrize("column", [0, 8, 13, 56])
def test_each_lane_takes_what_the_next_one_of_its_warp_holds(column):
    tmem, words = memory()
    shift_down(tmem, column, ONE)
    for lane in range(128):
        source = lane if lane % 32 == 31 else lane + 1
        assert np.array_equal(tmem.words[lane, column : column + 8], words[source, column : column + 8])
    others = np.delete(np.arange(64), np.arange(column, column + 8))
    assert np.array_equal(tmem.words[:, others], words[:, others])


def test_rows_after_several_shifts_are_those_that_were_published_from_a_b200():
    tmem, _ = memory()
    tags = np.arange(128, dtype=np.uint32)
    tmem.write(np.arange(128), 0, tags)
    for shifts in range(1, 17):
        shift_down(tmem, 0, ONE)
        expected = [32 * (r // 32) + min(r % 32 + shifts, 31) for r in range(128)]
        assert tmem.words[:, 0].tolist() == expected


def test_two_ctas_shift_their_own_memories():
    (first, words), (second, others) = memory(1), memory(2)
    shift_down((first, second), 8, TWO)
    assert np.array_equal(first.words[:31, 8:16], words[1:32, 8:16])
    assert np.array_equal(second.words[:31, 8:16], others[1:32, 8:16])


def test_uninitialised_words_stay_uninitialised():
    tmem = TensorMemory()
    tmem.alloc(32)
    tmem.write(1, np.arange(8), np.arange(8, dtype=np.uint32))
    shift_down(tmem, 0, ONE)
    assert tmem.read(0, np.arange(8)).tolist() == list(range(8))
    with pytest.warns(UnspecifiedBehaviourWarning):
        tmem.read(1, 0)


@pytest.mark.parametrize("lane", [1, 16, 31, 33])
def test_lanes_are_multiples_of_32(lane):
    tmem, _ = memory()
    with pytest.raises(AlignmentError, match="multiples of 32"):
        shift_down(tmem, address(lane, 0), ONE)


@pytest.mark.parametrize("lane", [32, 64, 96])
def test_which_lanes_move_from_another_lane_on_is_not_guessed(lane):
    tmem, _ = memory()
    with pytest.raises(UnsupportedInstructionError, match="not documented"):
        shift_down(tmem, address(lane, 0), ONE)


def test_columns_outside_are_errors_and_nothing_moves():
    (first, words), (second, others) = memory(1), memory(2, columns=32)
    with pytest.raises(OutOfBoundsError, match="column 64 of tensor memory is not allocated"):
        shift_down(first, 57, ONE)
    with pytest.raises(OutOfBoundsError):
        shift_down((first, second), 32, TWO)
    assert np.array_equal(first.words[:, :64], words)
    assert np.array_equal(second.words[:, :32], others)


def test_as_many_memories_as_ctas_are_given():
    (first, _), (second, _) = memory(1), memory(2)
    for given, instruction in (((first, second), ONE), (first, TWO), ((first, first), TWO), (first.words, ONE)):
        with pytest.raises(FragmentMismatchError):
            shift_down(given, 0, instruction)


@pytest.mark.parametrize("arch", ["sm_90", "sm_120", "rtx 5090"])
def test_chips_without_tensor_memory_do_not_shift(arch):
    with pytest.raises(UnsupportedInstructionError, match="chips that support it are sm_100, sm_103"):
        shift_down(TensorMemory(), 0, ONE, arch=arch)


def test_the_manuals_example_orders_the_words_the_other_way():
    tmem, words = memory()
    shift_down(tmem, 0, "tcgen05.shift.down.cta_group::1", arch="sm_103")
    assert np.array_equal(tmem.words[0, :8], words[1, :8])
