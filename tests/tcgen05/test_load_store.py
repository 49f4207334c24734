# SPDX-License-Identifier: MIT
"""tcgen05.ld and .st: the position of every word, in every shape; the lanes that a warp may access; errors."""

import numpy as np
import pytest

from wmma_emu.errors import (
    AlignmentError,
    DivergenceError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnspecifiedBehaviourWarning,
    UnsupportedInstructionError,
)
from wmma_emu.tcgen05 import TensorMemory, address, addresses_of_warps, ld, st

SHAPES = {"32x32b": (32, 1, 1), "16x64b": (16, 2, 1), "16x128b": (16, 4, 2), "16x256b": (16, 8, 4)}
"""Lanes, columns and registers for a repeat of 1."""

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def memory(columns=512, seed=0):
    """Tensor memory full of known words."""
    tmem = TensorMemory()
    tmem.alloc(columns)
    words = np.random.default_rng(seed).integers(0, 1 << 32, (128, columns), np.uint32)
    tmem.write(np.arange(128)[:, None], np.arange(columns), words)
    return tmem, words


def registers_of(words, shape, num):
    """What a warp loads from a block of words, by slices: written apart from the layouts of the package."""
    lanes, columns, _registers = SHAPES[shape]
    block = words[:lanes, : columns * num]
    if shape == "32x32b":
        return block.T
    if shape == "16x64b":  # lane = 4 (row of eight) + 2 (column of two) + upper eight rows
        return block.reshape(2, 8, num, 2).transpose(2, 1, 3, 0).reshape(num, 32)
    if shape == "16x128b":  # registers: upper eight rows last; lanes: row of eight, column of four
        return block.reshape(2, 8, num, 4).transpose(2, 0, 1, 3).reshape(2 * num, 32)
    return block.reshape(2, 8, num, 4, 2).transpose(2, 0, 4, 1, 3).reshape(4 * num, 32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num", [1, 2, 8, 32])
def test_a_load_is_slices_of_the_words(shape, num):
    tmem, words = memory()
    lanes, columns, registers = SHAPES[shape]
    for warp in range(4):
        for lane in range(32 * warp, 32 * warp + 32, lanes):
            for column in (0, 3, 512 - columns * num):
                found = ld(tmem, address(lane, column), f"tcgen05.ld.sync.aligned.{shape}.x{num}.b32", warp=warp)
                assert np.array_equal(found, registers_of(words[lane:, column:], shape, num))
                assert found.shape == (registers * num, 32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num", [1, 4, 32])
def test_a_store_writes_those_words_and_no_others(shape, num):
    tmem, words = memory()
    lanes, columns, registers = SHAPES[shape]
    given = np.random.default_rng(2).integers(0, 1 << 32, (registers * num, 32), np.uint32)
    st(tmem, address(32, 8), given, f"tcgen05.st.{shape}.x{num}")
    assert np.array_equal(registers_of(tmem.words[32:, 8:], shape, num), given)
    words[32 : 32 + lanes, 8 : 8 + columns * num] = tmem.words[32 : 32 + lanes, 8 : 8 + columns * num]
    assert np.array_equal(tmem.words, words)


@pytest.mark.parametrize("stored", SHAPES)
@pytest.mark.parametrize("loaded", SHAPES)
def test_what_one_shape_stores_another_loads(stored, loaded):
    tmem, _words = memory()
    block = np.random.default_rng(3).integers(0, 1 << 32, (32, 32), np.uint32)
    for lanes, columns, _ in [SHAPES[stored]]:
        for lane in range(0, 32, lanes):
            registers = registers_of(block[lane:], stored, 32 // columns)
            st(tmem, address(64 + lane, 32), registers, f"tcgen05.st.{stored}.x{32 // columns}")
    for lanes, columns, _ in [SHAPES[loaded]]:
        for lane in range(0, 32, lanes):
            found = ld(tmem, address(64 + lane, 32), f"tcgen05.ld.{loaded}.x{32 // columns}")
            assert np.array_equal(found, registers_of(block[lane:], loaded, 32 // columns))


def test_a_warpgroup_gives_four_addresses_and_has_one_more_axis():
    tmem, words = memory()
    where = addresses_of_warps(address(0, 16))
    found = ld(tmem, where, "tcgen05.ld.32x32b.x4")
    assert found.shape == (4, 4, 32)
    assert np.array_equal(found.reshape(4, 128), words[:, 16:20].T)
    st(tmem, where, found ^ np.uint32(5), "tcgen05.st.32x32b.x4")
    assert np.array_equal(tmem.words[:, 16:20], words[:, 16:20] ^ 5)
    upper = ld(tmem, addresses_of_warps(address(16, 0)), "tcgen05.ld.16x64b.x1")
    for warp in range(4):
        assert np.array_equal(upper[:, warp], registers_of(words[32 * warp + 16 :], "16x64b", 1))


def test_each_warp_of_a_warpgroup_has_its_own_column():
    tmem, words = memory()
    found = ld(tmem, [address(32 * warp, 10 * warp) for warp in range(4)], "tcgen05.ld.32x32b.x1")
    for warp in range(4):
        assert np.array_equal(found[0, warp], words[32 * warp : 32 * warp + 32, 10 * warp])


@pytest.mark.parametrize("num", [1, 2, 16, 64])
def test_halves_of_16x32bx2_lie_an_offset_apart(num):
    tmem, words = memory()
    for offset in (0, num, num + 3, 256):
        found = ld(tmem, address(48, 5), f"tcgen05.ld.16x32bx2.x{num}", half_split_offset=offset)
        assert np.array_equal(found[:, :16], words[48:64, 5 : 5 + num].T)
        assert np.array_equal(found[:, 16:], words[48:64, 5 + offset : 5 + offset + num].T)


def test_stores_of_16x32bx2_write_two_ranges_that_do_not_overlap():
    tmem, _words = memory()
    given = np.arange(64, dtype=np.uint32).reshape(2, 32)
    st(tmem, address(0, 0), given, "tcgen05.st.16x32bx2.x2", half_split_offset=100)
    assert np.array_equal(tmem.words[:16, :2].T, given[:, :16])
    assert np.array_equal(tmem.words[:16, 100:102].T, given[:, 16:])
    before = tmem.words.copy()
    for instruction, offset in (("tcgen05.st.16x32bx2.x2", 1), ("tcgen05.st.16x32bx2.x2.unpack::16b", 3)):
        with pytest.raises(DivergenceError, match="same words"):
            st(tmem, address(0, 0), given, instruction, half_split_offset=offset)
    assert np.array_equal(tmem.words, before)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num", [1, 2, 16])
def test_packed_loads_take_the_lower_halves_of_neighbouring_columns(shape, num):
    tmem, words = memory()
    found = ld(tmem, address(32, 4), f"tcgen05.ld.{shape}.x{num}.pack::16b")
    low = words[32:64, 4::2] & 0xFFFF
    high = words[32:64, 5::2] & 0xFFFF
    assert np.array_equal(found, registers_of(low[:, :253] | high[:, :253] << 16, shape, num))


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_unpacked_is_packed_again(shape):
    tmem = TensorMemory()
    tmem.alloc(512)
    given = np.random.default_rng(4).integers(0, 1 << 32, (SHAPES[shape][2] * 8, 32), np.uint32)
    st(tmem, 0, given, f"tcgen05.st.{shape}.x8.unpack::16b")
    assert np.array_equal(ld(tmem, 0, f"tcgen05.ld.{shape}.x8.pack::16b"), given)
    assert not (tmem.words >> 16).any()
    with pytest.warns(UnspecifiedBehaviourWarning, match="not all of their 32 bits are initialised"):
        ld(tmem, 0, f"tcgen05.ld.{shape}.x1")


def test_packed_halves_of_16x32bx2_take_twice_the_columns():
    tmem, words = memory()
    found = ld(tmem, address(0, 0), "tcgen05.ld.16x32bx2.x2.pack::16b", half_split_offset=32)
    for half, first in ((0, 0), (1, 32)):
        low, high = words[:16, first : first + 4 : 2] & 0xFFFF, words[:16, first + 1 : first + 4 : 2] & 0xFFFF
        assert np.array_equal(found[:, 16 * half : 16 * half + 16], (low | high << 16).T)


@pytest.mark.parametrize("warp", range(8))
def test_a_warp_touches_the_lanes_of_its_quarter_alone(warp):
    tmem, words = memory()
    for lane in range(0, 128, 32):
        if lane // 32 == warp % 4:
            ld(tmem, address(lane, 0), "tcgen05.ld.32x32b.x1", warp=warp)
            continue
        with pytest.raises(OutOfBoundsError, match=rf"warp {warp} may access lanes {32 * (warp % 4)} to"):
            ld(tmem, address(lane, 0), "tcgen05.ld.32x32b.x1", warp=warp)
        with pytest.raises(OutOfBoundsError, match=f"which belongs to warp {lane // 32}"):
            st(tmem, address(lane + 16, 0), np.zeros((1, 32), np.uint32), "tcgen05.st.16x64b.x1", warp=warp)
    assert np.array_equal(tmem.words, words)


def test_warps_of_a_warpgroup_pass_addresses_of_their_lanes():
    tmem, _ = memory()
    with pytest.raises(OutOfBoundsError, match="warp 1 may access"):
        ld(tmem, [0, 0, 0, 0], "tcgen05.ld.32x32b.x1")
    with pytest.raises(OutOfBoundsError, match="warp 0 may access"):
        addresses_of_warps(address(32, 0))


@pytest.mark.parametrize(("shape", "lane"), [("32x32b", 16), ("32x32b", 1), ("16x64b", 8), ("16x256b", 17)])
def test_lanes_begin_at_multiples_of_the_shapes_lanes(shape, lane):
    tmem, _ = memory()
    with pytest.raises(AlignmentError, match="begins at multiples of"):
        ld(tmem, address(lane, 0), f"tcgen05.ld.{shape}.x1")


@pytest.mark.parametrize(("instruction", "column"), [
    ("tcgen05.ld.32x32b.x128", 385), ("tcgen05.ld.16x64b.x128", 257), ("tcgen05.ld.16x256b.x1", 505),
    ("tcgen05.ld.32x32b.x128.pack::16b", 257), ("tcgen05.ld.32x32b.x1", 511),
])  # fmt: skip
def test_columns_after_the_last_are_out_of_bounds(instruction, column):
    tmem, _ = memory()
    if instruction == "tcgen05.ld.32x32b.x1":
        ld(tmem, column, instruction)
        return
    with pytest.raises(OutOfBoundsError, match="there is no column 512"):
        ld(tmem, column, instruction)
    ld(tmem, column - 1, instruction)


def test_the_second_access_is_bounded_too():
    tmem, _ = memory()
    with pytest.raises(OutOfBoundsError, match="there is no column 512"):
        ld(tmem, 0, "tcgen05.ld.16x32bx2.x2", half_split_offset=511)


def test_a_store_outside_of_the_allocation_writes_nothing():
    tmem, words = memory(columns=64)
    with pytest.raises(OutOfBoundsError, match="column 64 of tensor memory is not allocated"):
        st(tmem, 60, np.ones((8, 32), np.uint32), "tcgen05.st.32x32b.x8")
    assert np.array_equal(tmem.words[:, :64], words)
    assert not tmem.words[:, 64:].any()


@pytest.mark.parametrize("registers", [
    np.zeros((2, 32), np.uint32), np.zeros((1, 32), np.int32), np.zeros(32, np.uint32), np.zeros((1, 4, 32), np.uint32),
    [[0] * 32], np.ma.zeros((1, 32), np.uint32), None,
])  # fmt: skip
def test_registers_that_do_not_fit_are_refused(registers):
    tmem, words = memory()
    with pytest.raises(FragmentMismatchError, match=r"uint32 registers of shape \(1, 32\)"):
        st(tmem, 0, registers, "tcgen05.st.32x32b.x1")
    assert np.array_equal(tmem.words, words)


def test_offsets_of_halves_are_given_where_there_are_halves():
    tmem, _ = memory()
    with pytest.raises(FragmentMismatchError, match="immHalfSplitoff"):
        ld(tmem, 0, "tcgen05.ld.16x32bx2.x1")
    with pytest.raises(UnsupportedInstructionError, match="16x32bx2 alone"):
        ld(tmem, 0, "tcgen05.ld.16x64b.x1", half_split_offset=4)
    for offset in (-4, 512, 1 << 70):
        with pytest.raises(OutOfBoundsError, match="forward, 0 to 511"):
            ld(tmem, 4, "tcgen05.ld.16x32bx2.x1", half_split_offset=offset)


@pytest.mark.parametrize(
    ("where", "warp"), [([0, 0], None), ([0] * 5, None), ([0] * 4, 0), (0, -1), (0, "0"), (0.5, 0)]
)
def test_illegal_addresses_and_warps_are_refused(where, warp):
    tmem, _ = memory()
    with pytest.raises(FragmentMismatchError):
        ld(tmem, where, "tcgen05.ld.32x32b.x1", warp=warp)


def test_anything_but_tensor_memory_is_refused():
    with pytest.raises(FragmentMismatchError, match="takes a TensorMemory"):
        ld(np.zeros((128, 512), np.uint32), 0, "tcgen05.ld.32x32b.x1")
