# SPDX-License-Identifier: MIT
"""Facts about layouts, one at a time: positions written down from the figures and tables of the PTX manual."""

import numpy as np
import pytest

from wmma_emu.errors import OutOfBoundsError
from wmma_emu.instructions import lookup
from wmma_emu.layouts import fragment_layout, granularity_of, layout_for, metadata_map, pack_metadata, scale_map
from wmma_emu.layouts.banks import bank_of, conflict_of, segments_of
from wmma_emu.layouts.cute_layout import CuteLayout
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import addresses

F16 = "m16n8k16.f32.f16.f16.f32"


def layout(name, operand, arch="sm_90"):
    return layout_for(lookup(name), operand, arch)


def test_a_lane_holds_pairs_of_neighbours_of_a():
    # PTX ISA, mma.m16n8k16, A of f16: row = group or group + 8, column = 2 * thread + (i & 1), + 8 for i >= 4.
    found = layout(F16, "a").coords[:, 5].tolist()
    assert found == [[1, 2], [1, 3], [9, 2], [9, 3], [1, 10], [1, 11], [9, 10], [9, 11]]


def test_a_lane_holds_pairs_of_a_column_of_b():
    assert layout(F16, "b").coords[:, 5].tolist() == [[2, 1], [3, 1], [10, 1], [11, 1]]


def test_a_lane_holds_two_columns_of_two_rows_of_d():
    assert layout(F16, "d").coords[:, 5].tolist() == [[1, 2], [1, 3], [9, 2], [9, 3]]


def test_two_f16_elements_share_a_register_with_the_first_in_the_low_half():
    (where,) = layout(F16, "a").locate(9, 3)
    assert (where.lane, where.register, where.bit, where.element) == (5, 1, 16, 3)
    assert layout(F16, "a").element_at(lane=5, register=1, bit=16) == (9, 3)


def test_elements_of_an_mma_have_one_owner_each():
    for operand in "abcd":
        assert layout(F16, operand).is_bijection


def test_four_warps_stack_their_rows_of_a_wgmma():
    d = layout("wgmma.m64n8k16.f32.f16.f16", "d")
    assert d.lane_shape == (4, 32)
    assert d.coords[0, :, 0].tolist() == [[0, 0], [16, 0], [32, 0], [48, 0]]


def test_volta_multiplies_four_matrices_in_quad_pairs():
    d = layout("m8n8k4.f32.f16.f16.f32", "d", "sm_70")
    assert d.num_matrices == 4
    assert d.matrix_of_lane[[0, 4, 8, 12, 16, 20, 24, 28]].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_a_wmma_multiplicand_of_f16_is_held_twice_and_read_once_since_turing():
    a = fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_75")
    assert (a.num_elements, a.read_elements, a.multiplicity, a.reads_copies) == (16, 8, 2, False)


def test_a_wmma_multiplicand_of_f16_is_read_from_two_lanes_on_volta():
    a = fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_70")
    assert [x.lane for x in a.locate(0, 1)] == [0, 8]
    assert a.reads_copies


def test_an_index_outside_of_the_matrix_is_an_error():
    with pytest.raises(OutOfBoundsError, match="there is no row 16; legal values are 0 to 15"):
        layout(F16, "a").locate(16, 0)


def test_two_of_four_columns_are_named_by_a_nibble():
    ordered = granularity_of(lookup("mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32"))
    assert ordered.nibbles[0b0100] == (0, 1)
    assert ordered.nibbles[0b1110] == (2, 3)
    assert 0b0001 not in ordered.nibbles


def test_the_selector_chooses_the_lane_of_the_metadata():
    found = metadata_map(lookup("mma.sp.m16n8k16.f32.f16.f16.f32"), selector=2)
    assert found.lane[3].tolist() == [14, 14, 14, 14]


def test_one_of_two_columns_of_tf32_is_a_whole_nibble():
    k = np.broadcast_to([0, 3, 4, 7], (16, 4))
    assert pack_metadata(lookup("mma.sp.m16n8k8.f32.tf32.tf32.f32"), k)[0] == 0xE4E4E4E4


def test_selectors_of_block_scales_choose_a_byte_of_one_lane_in_four():
    instruction = lookup("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0")
    found = scale_map(instruction, "b", byte_id=3, thread_id=2)
    assert found.lane.tolist() == [[2, 6, 10, 14, 18, 22, 26, 30]]
    assert found.byte.tolist() == [[3] * 8]


def test_a_cute_layout_is_a_function_of_coordinates():
    assert CuteLayout.parse("((4,8),(2,2,2)):((32,1),(16,8,128))")(5, 3) == 57


def test_a_128_byte_swizzle_exchanges_chunks_of_every_second_line():
    d = MatrixDescriptor(start=0, leading=16, stride=1024, swizzle=128)
    assert d.encode() == 0x4000_0040_0001_0000
    assert addresses(d, 8, 16, "f16")[:3, ::8].tolist() == [[0, 16], [144, 128], [288, 304]]


def test_successive_words_are_in_successive_banks():
    assert bank_of([0, 3, 4, 124, 128, 144]).tolist() == [0, 0, 1, 31, 0, 4]


def test_rows_128_bytes_apart_conflict_eightfold_and_a_pad_of_16_bytes_avoids_it():
    assert conflict_of(np.arange(8) * 128) == 8
    assert conflict_of(np.arange(8) * 144) == 1


def test_global_memory_moves_in_segments_of_32_bytes():
    assert segments_of([0, 30, 96], 4).tolist() == [0, 1, 3]
