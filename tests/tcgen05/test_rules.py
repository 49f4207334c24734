# SPDX-License-Identifier: MIT
"""Facts about tensor memory and tcgen05, one at a time: addresses, allocation, transfers, descriptors, placements."""

import numpy as np
import pytest

from wmma_emu.errors import OptionError, OutOfBoundsError, UnspecifiedBehaviourWarning, UnsupportedInstructionError
from wmma_emu.instructions.tensor import tensor_instruction
from wmma_emu.tcgen05 import (
    InstructionDescriptor,
    SharedMemoryDescriptor,
    TensorMemory,
    ZeroColumnMask,
    a_placement,
    address,
    d_placement,
    data_path,
    ld,
    shift_down,
    st,
    tcgen05_layout,
)

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def filled():
    tmem = TensorMemory()
    base = tmem.alloc(32)
    tmem.write(np.arange(128)[:, None], np.arange(8), np.arange(1024, dtype=np.uint32).reshape(128, 8))
    return tmem, base


def test_an_address_has_the_lane_in_its_upper_half():
    assert address(lane=32, column=256) == 0x0020_0100


def test_allocations_are_powers_of_two_from_32_columns():
    assert TensorMemory().alloc(128) == 0
    with pytest.raises(OptionError):
        TensorMemory().alloc(48)


def test_a_column_that_is_not_allocated_cannot_be_read():
    tmem, _ = filled()
    with pytest.raises(OutOfBoundsError, match="column 64 of tensor memory is not allocated"):
        tmem.read(0, 64)


def test_an_uninitialised_word_reads_as_zero_with_a_warning():
    tmem = TensorMemory()
    tmem.alloc(32)
    with pytest.warns(UnspecifiedBehaviourWarning):
        assert tmem.read(0, 0) == 0


def test_a_16x256b_load_gives_a_lane_pairs_of_columns_of_two_rows():
    tmem, base = filled()
    assert ld(tmem, base, "tcgen05.ld.16x256b.x1")[:, 1].tolist() == [2, 3, 66, 67]


def test_a_warp_may_access_the_lanes_of_its_quarter_only():
    tmem, base = filled()
    with pytest.raises(OutOfBoundsError, match="warp 1 may access lanes 32 to 63"):
        ld(tmem, base, "tcgen05.ld.16x256b.x1", warp=1)


def test_a_store_is_the_inverse_of_a_load():
    tmem, base = filled()
    st(tmem, base, np.arange(32, dtype=np.uint32)[None], "tcgen05.st.16x64b.x1")
    assert tmem.read(8, [0, 1]).tolist() == [1, 3]


def test_bit_0_of_the_lane_selects_the_upper_eight_lanes_in_16x64b():
    assert tcgen05_layout("16x64b", 2).element_at(lane=1, register=1) == (8, 2)


def test_a_shift_moves_each_lane_down_within_its_group_of_32():
    tmem = TensorMemory()
    base = tmem.alloc(32)
    tmem.write(np.arange(128)[:, None], np.arange(8), np.arange(128, dtype=np.uint32)[:, None])
    shift_down(tmem, base)
    assert tmem.read([0, 1, 30, 31, 32, 63, 127], 0).tolist() == [1, 2, 31, 31, 33, 63, 127]


def test_an_instruction_descriptor_has_shape_and_types_in_its_bits():
    d = InstructionDescriptor("f16", 128, 256, "f32", "bf16", "bf16", transpose_b=True)
    assert d.encode() == 0x0841_0490
    assert InstructionDescriptor.decode(0x0841_0490, "f16") == d


def test_a_reserved_bit_of_an_instruction_descriptor_must_be_zero():
    with pytest.raises(UnsupportedInstructionError, match=r"bit 6 .* is reserved and must be 0"):
        InstructionDescriptor.decode(0x0841_0490 | 1 << 6, "f16")


def test_a_shared_memory_descriptor_has_0b001_in_bits_46_to_48():
    d = SharedMemoryDescriptor(start=1024, leading=16, stride=1024, swizzle=128)
    assert d.encode() == 0x4000_4040_0001_0040
    with pytest.raises(OptionError, match="which must be 0b001"):
        SharedMemoryDescriptor.decode(0x4000_0040_0001_0040)


def test_the_data_path_of_128_rows_over_two_ctas_is_layout_b():
    assert data_path(tensor_instruction("f16", 128, 64, "f32", "f16", "f16", cta_group=2)).layout == "B"


def test_64_rows_of_d_use_half_of_each_32_lanes():
    d = d_placement(tensor_instruction("f16", 64, 32, "f32", "f16", "f16"))
    assert (d.lane[0, 17, 5], d.column[0, 17, 5]) == (33, 5)


def test_32_rows_of_a_ws_product_fold_the_columns_into_four_parts():
    d = d_placement(tensor_instruction("tf32", 32, 64, "f32", "tf32", "tf32", ws=True))
    assert d.lane[0, 3, ::16].tolist() == [3, 35, 67, 99]


def test_folded_products_have_a_replica_of_a_in_each_part():
    a = a_placement(tensor_instruction("f16", 128, 64, "f32", "f16", "f16", cta_group=2))
    assert (a.copies, a.lane[:, 70, 3].tolist()) == (2, [6, 70])


def test_a_zero_column_mask_alternates_used_and_skipped_columns():
    # Example 2 of the PTX manual, columns 13 down to 0.
    mask = ZeroColumnMask(use_span=4, skip_span=3)
    assert "".join("1" if x else "0" for x in mask.columns(128, 64)[13::-1]) == "11100001110000"
