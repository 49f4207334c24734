# SPDX-License-Identifier: MIT
"""Tensor memory as an object: addresses, allocation as a chip does it, and what reading and writing refuse."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import (
    FragmentMismatchError,
    OutOfBoundsError,
    UnspecifiedBehaviourWarning,
    UnsupportedInstructionError,
)
from wmma_emu.tcgen05 import TensorMemory, address, column_of, lane_of, ld


def test_an_address_has_its_lane_above_its_column():
    for lane in (0, 1, 31, 64, 127):
        for column in (0, 1, 255, 511):
            where = address(lane, column)
            assert where == lane * 65536 + column
            assert (lane_of(where), column_of(where)) == (lane, column)


@pytest.mark.parametrize("where", [512, 0xFFFF, 128 << 16, -1, 1 << 40, (127 << 16) + 600])
def test_addresses_outside_are_errors_and_nothing_wraps(where):
    with pytest.raises(OutOfBoundsError, match="nothing wraps"):
        column_of(where)
    with pytest.raises(OutOfBoundsError):
        lane_of(where)


@pytest.mark.parametrize(("lane", "column"), [(128, 0), (0, 512), (-1, 0), (0, -1)])
def test_lanes_and_columns_outside_have_no_address(lane, column):
    with pytest.raises(OutOfBoundsError, match=r"there is no (lane|column)"):
        address(lane, column)


@pytest.mark.parametrize("what", [1.5, "0", None, True, [0]])
def test_addresses_are_integers(what):
    with pytest.raises(FragmentMismatchError):
        lane_of(what)
    with pytest.raises(FragmentMismatchError):
        address(what, 0)


def test_the_package_is_imported_on_first_use():
    assert we.tcgen05.TensorMemory is TensorMemory


@pytest.mark.parametrize("columns", [32, 64, 128, 256, 512])
def test_an_allocation_is_a_power_of_two(columns):
    tmem = TensorMemory()
    assert tmem.alloc(columns) == 0
    assert tmem.allocations == {0: columns}


@pytest.mark.parametrize("columns", [0, 1, 16, 31, 33, 48, 96, 500, 1024, -32, 2.0, None])
def test_other_numbers_of_columns_are_refused(columns):
    with pytest.raises(UnsupportedInstructionError, match="32, 64, 128, 256, 512"):
        TensorMemory().alloc(columns)


def test_allocations_follow_each_other_until_none_fits():
    tmem = TensorMemory()
    assert [tmem.alloc(128) for _ in range(4)] == [0, 128, 256, 384]
    with pytest.raises(OutOfBoundsError, match=r"no contiguous range of 32 columns .* A GPU would wait"):
        tmem.alloc(32)
    tmem.dealloc(128, 128)
    assert [tmem.alloc(64), tmem.alloc(32), tmem.alloc(32)] == [128, 192, 224]
    with pytest.raises(OutOfBoundsError):
        tmem.alloc(32)


def test_a_later_allocation_is_not_larger():
    tmem = TensorMemory()
    tmem.alloc(64)
    with pytest.raises(UnsupportedInstructionError, match="begin with the largest allocation"):
        tmem.alloc(128)
    assert tmem.alloc(64) == 64


def test_free_columns_in_two_ranges_do_not_fit_one_allocation():
    tmem = TensorMemory()
    places = [tmem.alloc(128) for _ in range(4)]
    tmem.dealloc(places[0], 128)
    tmem.dealloc(places[2], 128)
    assert tmem.alloc(128) == 0
    assert tmem.alloc(128) == 256


@pytest.mark.parametrize(("where", "columns"), [(0, 64), (0, 256), (32, 128), (1 << 16, 128), (128, 128), (0, "128")])
def test_only_what_was_allocated_is_freed(where, columns):
    tmem = TensorMemory()
    tmem.alloc(128)
    with pytest.raises(OutOfBoundsError, match="128 columns at 0x0"):
        tmem.dealloc(where, columns)
    assert tmem.allocations == {0: 128}


def test_nothing_is_freed_twice():
    tmem = TensorMemory()
    tmem.alloc(32)
    tmem.dealloc(0, 32)
    with pytest.raises(OutOfBoundsError, match="none"):
        tmem.dealloc(0, 32)


def test_a_relinquished_right_to_allocate_is_lost():
    tmem = TensorMemory()
    tmem.alloc(32)
    tmem.relinquish_alloc_permit()
    with pytest.raises(UnsupportedInstructionError, match="relinquish_alloc_permit"):
        tmem.alloc(32)
    tmem.dealloc(0, 32)


def test_words_are_read_where_they_were_written():
    rng = np.random.default_rng(1)
    tmem = TensorMemory()
    tmem.alloc(512)
    words = rng.integers(0, 1 << 32, (128, 512), np.uint32)
    tmem.write(np.arange(128)[:, None], np.arange(512), words)
    assert np.array_equal(tmem.words, words)
    lanes, columns = rng.integers(0, 128, 100), rng.integers(0, 512, 100)
    assert np.array_equal(tmem.read(lanes, columns), words[lanes, columns])


@pytest.mark.parametrize(("lanes", "columns"), [
    (128, 0), (-1, 0), (0, 512), (0, -1), ([0, 127, 128], 0), (0, [31, -32]), (np.uint64(2**63), 0), (2**40, 0),
    (2**70, 0), (0, [-(2**70)]),
])  # fmt: skip
def test_places_outside_are_errors(lanes, columns):
    tmem = TensorMemory()
    tmem.alloc(512)
    with pytest.raises(OutOfBoundsError, match="nothing wraps"):
        tmem.read(lanes, columns)
    with pytest.raises(OutOfBoundsError):
        tmem.write(lanes, columns, np.uint32(1))
    assert not tmem.written.any()


def test_columns_that_are_not_allocated_are_errors():
    tmem = TensorMemory()
    with pytest.raises(OutOfBoundsError, match="column 0 of tensor memory is not allocated"):
        tmem.write(0, 0, np.uint32(1))
    tmem.alloc(32)
    tmem.alloc(32)
    with pytest.raises(OutOfBoundsError, match=r"column 64 .* columns 0-31, 32-63"):
        tmem.write(0, [0, 63, 64], np.uint32(1))
    assert not tmem.written.any()


@pytest.mark.parametrize("words", [1, np.int32(1), np.zeros(1, np.float32), np.zeros(3, np.uint32), None])
def test_words_are_uint32_and_fit(words):
    tmem = TensorMemory()
    tmem.alloc(32)
    with pytest.raises(FragmentMismatchError):
        tmem.write([0, 1], [0, 1], words)
    assert not tmem.written.any()


@pytest.mark.parametrize("lanes", [1.0, "0", None, [0.5], [True], [[0], [0, 1]], np.ma.masked_array([0])])
def test_indices_are_integers(lanes):
    tmem = TensorMemory()
    tmem.alloc(32)
    with pytest.raises(FragmentMismatchError):
        tmem.read(lanes, 0)


def test_indices_that_do_not_broadcast_are_refused():
    tmem = TensorMemory()
    tmem.alloc(32)
    with pytest.raises(FragmentMismatchError, match="broadcast"):
        tmem.read([0, 1], [0, 1, 2])


def test_uninitialised_words_read_as_zero_and_warn():
    tmem = TensorMemory()
    tmem.alloc(32)
    tmem.write(5, 6, np.uint32(7))
    with pytest.warns(UnspecifiedBehaviourWarning, match="1 of 2 words .* lane 5, column 7"):
        assert tmem.read(5, [6, 7]).tolist() == [7, 0]


def test_what_was_written_before_an_allocation_is_not_read():
    tmem = TensorMemory()
    tmem.alloc(32)
    tmem.write(5, 6, np.uint32(7))
    tmem.dealloc(0, 32)
    tmem.alloc(32)
    with pytest.warns(UnspecifiedBehaviourWarning):
        assert tmem.read(5, 6) == 0


def test_of_a_word_whose_lower_half_was_written_the_upper_one_is_unknown():
    tmem = TensorMemory()
    tmem.alloc(32)
    tmem.write(0, 0, np.uint32(0xFFFFFFFF))
    tmem.write(0, 0, np.uint32(0xABCD1234), bits=16)
    assert tmem.read(0, 0, bits=16) == 0x1234
    with pytest.warns(UnspecifiedBehaviourWarning, match="not all of their 32 bits are initialised"):
        assert tmem.read(0, 0) == 0x1234
    with pytest.raises(FragmentMismatchError, match="32 or 16"):
        tmem.read(0, 0, bits=8)


def test_words_move_with_their_initialised_bits():
    tmem = TensorMemory()
    tmem.alloc(32)
    tmem.write([0, 1], 0, np.array([10, 11], np.uint32))
    tmem.move([1, 2], [0, 0], [0, 1], [0, 0])
    assert tmem.read(0, 0) == 11
    with pytest.warns(UnspecifiedBehaviourWarning):
        assert tmem.read(1, 0) == 0


def test_memory_is_looked_at_and_not_written_to():
    tmem = TensorMemory()
    for array in (tmem.words, tmem.written):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


@pytest.mark.parametrize("size", [{"lanes": 64}, {"lanes": 256}, {"columns": 1024}, {"columns": 100}, {"columns": 16}])
def test_there_is_no_tensor_memory_of_another_size(size):
    with pytest.raises(UnsupportedInstructionError):
        TensorMemory(**size)


def test_a_cta_may_have_fewer_columns():
    tmem = TensorMemory(columns=256)
    with pytest.raises(UnsupportedInstructionError, match=r"32, 64, 128, 256;"):
        tmem.alloc(512)
    assert tmem.alloc(256) == 0
    with pytest.raises(OutOfBoundsError, match="there is no column 256"):
        tmem.read(0, 256)


def test_bits_of_words_are_written_and_read_apart():
    tmem = TensorMemory()
    tmem.alloc(32)
    second, third = np.uint32(0xFF00), np.uint32(0xFF0000)
    tmem.write_masked([3, 3], [7, 7], np.array([0xABCDEF12] * 2, np.uint32), np.array([second, third]))
    assert tmem.words[3, 7] == 0xCDEF00 and tmem.written.sum() == 1
    tmem.write_masked(3, 7, np.uint32(0x5500), second)
    assert tmem.read_masked(3, 7, second | third) == 0xCD5500
    with pytest.warns(
        UnspecifiedBehaviourWarning, match="not all of their 8 bits are initialised, the first at lane 3, column 7"
    ):
        assert tmem.read_masked(3, 7, np.uint32(0xFF)) == 0
    with pytest.warns(UnspecifiedBehaviourWarning, match="not all of their 32 bits are initialised"):
        tmem.read(3, 7)
    before = tmem.words.copy()
    with pytest.raises(OutOfBoundsError):
        tmem.write_masked([3, 3], [7, 32], np.zeros(2, np.uint32), np.array([second, third]))
    assert np.array_equal(tmem.words, before)


def test_warnings_name_the_line_outside_of_the_package():
    tmem = TensorMemory()
    tmem.alloc(32)
    for read in (lambda: tmem.read(0, 0), lambda: ld(tmem, 0, "tcgen05.ld.32x32b.x1")):
        with pytest.warns(UnspecifiedBehaviourWarning) as caught:
            read()
        assert [x.filename for x in caught] == [__file__]
