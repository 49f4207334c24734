# SPDX-License-Identifier: MIT
"""Pointers: what they reach, how they move, what is out of bounds and what is misaligned."""

import pickle

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import AlignmentError, DivergenceError, FragmentMismatchError, OutOfBoundsError
from wmma_emu.memory import Pointer, bits_from_owner


class Uniform:
    """Anything with `__index__` is one offset."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        if self.value is None:
            raise DivergenceError("lanes differ")
        return self.value


class Lanes(np.ndarray):
    """An array that has one value for all lanes."""

    def __index__(self):
        return int(self.min())


MEMORY = np.arange(64, dtype=np.float32)


def test_a_pointer_reads_from_its_offset_on():
    assert Pointer(MEMORY, 8).gather(np.array([[0, 1], [2, 3]])).tolist() == [[8, 9], [10, 11]]


def test_offsets_of_several_warps_come_before_the_indices():
    read = Pointer(MEMORY, np.array([[0, 8, 16], [24, 32, 40]])).gather(np.array([0, 1]))
    assert read.shape == (2, 3, 2)
    assert read[1, 2].tolist() == [40, 41]


def test_adding_moves_by_elements():
    p = Pointer(MEMORY)
    assert (p + 3 + 4 - 2).offset == 5 and (3 + p).offset == (np.int64(3) + p).offset == 3
    assert (p + np.array([1, 2]) + 1).offset.tolist() == (np.array([2, 3]) + p).offset.tolist() == [2, 3]
    assert (p + np.int64(3)).warps == () and (p + np.array([1, 2])).warps == (2,)
    assert p.offset == 0


def test_whatever_has_an_index_is_one_offset():
    lanes = np.full(32, 7).view(Lanes)
    assert Pointer(MEMORY, Uniform(5)).offset == 5
    assert (
        Pointer(MEMORY, lanes).offset == 7 and (Pointer(MEMORY) + lanes).offset == (lanes + Pointer(MEMORY)).offset == 7
    )
    with pytest.raises(DivergenceError):
        Pointer(MEMORY, Uniform(None))


def test_a_pointer_writes_where_it_reads_and_nowhere_else():
    memory = np.zeros(16, np.int32)
    Pointer(memory[4:12], 2).scatter(np.array([0, 3]), np.array([7, 9], np.int32))
    assert np.flatnonzero(memory).tolist() == [6, 9] and memory[[6, 9]].tolist() == [7, 9]


@pytest.mark.parametrize(
    ("pointer", "message"),
    [
        (Pointer(MEMORY, 62), "element 2 of the access is at position 64 of mem, which has 64 elements: the access"
                              " needs 4 elements after the pointer, 2 are available; pad the array"),
        (Pointer(MEMORY[:4], 1), "element 3 of the access is at position 4 of mem, which has 4 elements: the access"
                                 " needs 4 elements after the pointer, 3 are available; the slice ends before its array"
                                 " does: slice to the array's end, of rows after reshape(-1)"),
        (Pointer(MEMORY[64:]), "element 0 of the access is at position 0 of mem, which has 0 elements: the access"
                               " needs 4 elements after the pointer, 0 are available; pad the array"),
        (Pointer(MEMORY, -2), "element 0 of the access is at position -2 of mem, which has 64 elements: the pointer"
                              " lies 2 before the first; positions do not count from the end"),
        (Pointer(MEMORY, np.array([0, 63])), "element 1 of the access of warp 1 is at position 64 of mem, which has"
                                             " 64 elements: the access needs 4 elements after the pointer, 1 are"
                                             " available; pad the array"),
    ],
)  # fmt: skip
def test_out_of_bounds_says_which_element_and_what_is_there(pointer, message):
    with pytest.raises(OutOfBoundsError) as caught:
        pointer.gather(np.arange(4))
    assert str(caught.value) == message


def test_a_scatter_out_of_bounds_writes_nothing():
    memory = np.zeros(8, np.int32)
    with pytest.raises(OutOfBoundsError):
        Pointer(memory, 6).scatter(np.arange(4), np.ones(4, np.int32))
    assert not memory.any()


def test_warps_that_write_one_element_are_a_race():
    memory = np.zeros(32, np.int32)
    with pytest.raises(DivergenceError, match="warps 0 and 2 both write element 3 of mem"):
        Pointer(memory, np.array([0, 8, 3])).scatter(np.arange(4), np.ones((3, 4), np.int32))
    assert not memory.any()
    Pointer(memory, np.array([0, 8, 4])).scatter(np.arange(4), np.ones((3, 4), np.int32))
    assert memory.sum() == 12


def test_a_buffer_that_no_array_owns_is_still_the_owner():
    for whole in (bytearray(1024), memoryview(bytearray(1024)), np.zeros(1024, np.uint8)):
        assert bits_from_owner(np.frombuffer(whole, np.float16), 16) == 0
        assert bits_from_owner(np.frombuffer(whole, np.float16, offset=2), 16) == 16
        assert bits_from_owner(np.frombuffer(memoryview(whole)[6:], np.float16), 16) == 48
    with pytest.raises(AlignmentError, match="the pointer is 2 bytes from the start of its buffer"):
        Pointer(np.frombuffer(bytearray(600), np.float16, offset=2)).require_aligned(32)


def test_of_memory_that_says_no_owner_the_address_itself_is_aligned():
    class Capsule:  # what DLPack hands over: the memory, and nothing about the array that it was cut from
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **_):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    raw = np.zeros(512, np.uint8)
    start = -raw.ctypes.data % 256
    for offset in (0, 32, 6):
        foreign = np.from_dlpack(Capsule(raw[start + offset : start + offset + 64]))
        assert bits_from_owner(foreign, 8) == 8 * offset


def test_the_owning_buffer_is_what_alignment_counts_from():
    owner = np.zeros(256, np.float16)
    assert bits_from_owner(owner[16:][3:], 16) == 19 * 16
    assert bits_from_owner(owner.reshape(16, 16)[2:, 5:], 16) == 37 * 16
    assert bits_from_owner(owner.view(np.uint8)[5:], 8) == 40
    assert bits_from_owner(np.lib.stride_tricks.as_strided(owner[8:], (4, 4), (64, 2)), 16) == 128
    assert bits_from_owner(np.zeros(64, ml_dtypes.int4)[10:], 4) == 40


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (3, "the pointer is 6 bytes from the start of its buffer; legal distances are multiples of 32 bytes (16 "
            "elements): "
            "move it by -3 or +13 elements"),
        (-1, "the pointer is -2 bytes from the start of its buffer; legal distances are multiples of 32 bytes (16 "
             "elements): "
             "move it by -15 or +1 elements"),
        (np.array([16, 17]), "the pointer of warp 1 is 34 bytes from the start of its buffer; legal distances are "
                             "multiples "
                             "of 32 bytes (16 elements): move it by -1 or +15 elements"),
    ],
)  # fmt: skip
def test_misaligned_pointers_are_told_how_far_to_move(offset, message):
    with pytest.raises(AlignmentError) as caught:
        Pointer(np.zeros(64, np.float16), offset).require_aligned(32)
    assert str(caught.value) == message


def test_memory_at_an_odd_byte_cannot_be_moved_into_alignment():
    odd = np.zeros(65, np.uint8)[1:].view(np.float16)
    with pytest.raises(AlignmentError, match=r"is 1 bytes .* copy the array, a new one begins aligned"):
        Pointer(odd).require_aligned(32)


def test_alignment_can_count_entries_as_fewer_bits():
    Pointer(np.zeros(128, ml_dtypes.int4), 64).require_aligned(32, entry_bits=4)
    with pytest.raises(AlignmentError, match=r"16.5 bytes .*32 bytes \(64 elements\)"):
        Pointer(np.zeros(128, ml_dtypes.int4), 33).require_aligned(32, entry_bits=4)


@pytest.mark.parametrize(
    ("buffer", "text"),
    [
        (MEMORY[::2], "strided slice: 8 bytes from entry to entry of 4"),
        (MEMORY[::-1], "strided slice"),
        (MEMORY.reshape(8, 8), r"2 axes, shape \(8, 8\).*mem.reshape\(-1\)"),
        (MEMORY.reshape(8, 8).T, r"np.ascontiguousarray\(mem\)"),
        (np.float32(1), "0 axes"),
        ([1.0, 2.0], "Python list"),
        (None, "expected a NumPy array"),
        (np.ma.array([1.0]), "masked"),
        (np.zeros(4, ">f4"), "byte-swapped"),
    ],
)
def test_anything_but_memory_is_refused(buffer, text):
    with pytest.raises(FragmentMismatchError, match=text):
        Pointer(buffer)


@pytest.mark.parametrize("offset", [1.5, "1", None, [0, 1], np.array([0.0, 1.0]), np.array(1.0)])
def test_an_offset_is_an_integer_or_an_array_of_them(offset):
    with pytest.raises(FragmentMismatchError, match="offset"):
        Pointer(MEMORY, offset)
    with pytest.raises(FragmentMismatchError, match="offset"):
        Pointer(MEMORY) + offset


def test_offsets_beyond_all_memory_do_not_wrap():
    for offset in (2**63, -(2**70), np.array([0, 2**62]), np.array([2**63], np.uint64)):
        with pytest.raises(OutOfBoundsError):
            Pointer(MEMORY, offset)


def test_offsets_whose_shapes_do_not_broadcast_are_refused():
    with pytest.raises(FragmentMismatchError, match="broadcast"):
        Pointer(MEMORY, np.array([1, 2])) + np.array([1, 2, 3])


def test_read_only_memory_and_unfit_values_are_refused():
    memory = np.zeros(8, np.int32)
    with pytest.raises(FragmentMismatchError, match="int64"):
        Pointer(memory).scatter(np.arange(2), np.ones(2, np.int64))
    memory.setflags(write=False)
    with pytest.raises(FragmentMismatchError, match="read-only"):
        Pointer(memory).scatter(np.arange(2), np.ones(2, np.int32))


def test_a_batch_without_warps_reads_nothing():
    assert Pointer(MEMORY, np.zeros((0,), int)).gather(np.arange(4)).shape == (0, 4)


def test_pointers_show_where_they_point():
    assert repr(Pointer(MEMORY, 8)) == "<Pointer to element 8 of 64 float32>"
    assert repr(Pointer(MEMORY, np.array([0, 8]))) == "<Pointer to elements [0, 8] (2 warps) of 64 float32>"


class ForeignArray:
    """An array of another library, which hands out its memory or a copy of it."""

    def __init__(self, array, hand_out):
        self.array, self.hand_out = array, hand_out

    def __array__(self, dtype=None, copy=None):
        return self.hand_out(self.array)


def test_what_would_be_written_to_a_copy_is_refused_and_what_shares_memory_is_written():
    memory = np.zeros(8, np.int32)
    Pointer(ForeignArray(memory, lambda x: x)).scatter(np.arange(2), np.array([3, 4], np.int32))
    assert memory.tolist() == [3, 4, 0, 0, 0, 0, 0, 0]
    for hand_out in (np.copy, lambda x: x.astype(">i4")):
        copied = Pointer(ForeignArray(memory, hand_out))
        assert copied.gather(np.arange(2)).tolist() == [3, 4]
        with pytest.raises(FragmentMismatchError, match="a copy that another library made"):
            copied.scatter(np.arange(2), np.array([5, 6], np.int32))


@pytest.mark.parametrize("indices", [[0, 1], np.array([0.5]), np.array([True, False]), None, 3], ids=repr)
def test_indices_are_an_integer_array(indices):
    with pytest.raises(FragmentMismatchError, match="the indices are an integer array, not"):
        Pointer(MEMORY).gather(indices)


def test_indices_of_any_integer_dtype_mean_what_they_say_and_never_wrap():
    assert Pointer(MEMORY, 16).gather(np.array([2], np.uint64)).tolist() == [18]
    for far in (2**63 - 8, -(2**63)):
        with pytest.raises(OutOfBoundsError, match="no array reaches as far"):
            Pointer(MEMORY, 16).gather(np.array([far]))


def test_two_values_for_one_element_are_refused_in_one_warp_too():
    memory = np.zeros(8, np.int32)
    with pytest.raises(DivergenceError, match="indices 0 and 2 both write element 5 of mem"):
        Pointer(memory, 4).scatter(np.array([1, 2, 1]), np.array([1, 2, 3], np.int32))
    with pytest.raises(FragmentMismatchError, match="the values are an array of int32"):
        Pointer(memory).scatter(np.array([0]), [1])
    assert not memory.any()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pointer_is_pickled_with_every_protocol(protocol):
    copy = pickle.loads(pickle.dumps(Pointer(MEMORY, np.array([1, 2])), protocol))
    assert copy.offset.tolist() == [1, 2] and copy.gather(np.arange(2)).tolist() == [[1, 2], [2, 3]]


def test_an_index_before_the_pointer_is_named():
    with pytest.raises(OutOfBoundsError, match="the index -1 lies before the pointer"):
        Pointer(MEMORY).gather(np.array([-1]))
