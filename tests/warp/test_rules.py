# SPDX-License-Identifier: MIT
"""Facts about instructions of a warp, one at a time: registers, options, data movement, votes."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import AlignmentError, ArgumentError, OptionError
from wmma_emu.warp import ldmatrix, movmatrix, stmatrix
from wmma_emu.warp.shuffle import shuffled, sources
from wmma_emu.warp.vote import match_any_sync, reduce_sync, voted

F16 = "m16n8k16.f32.f16.f16.f32"
ALL = 0xFFFFFFFF
LANES = np.arange(32)
TILE = np.arange(64, dtype=np.uint16).reshape(8, 8)


def test_registers_hold_two_f16_elements_the_first_in_the_low_half():
    A = np.arange(256).reshape(16, 16).astype(np.float16)
    registers = we.instruction(F16).a.pack(A)
    assert registers.shape == (4, 32)
    assert registers[0, 0] == 0x3C00_0000  # 1.0 above 0.0


def test_execute_takes_and_returns_registers():
    ins = we.instruction(F16)
    ones = np.full((4, 32), 0x3C00_3C00, np.uint32)
    d = ins.execute(ones, ones[:2], np.zeros((4, 32), np.uint32))
    assert d.dtype == np.uint32
    assert (d == 0x4180_0000).all()  # 16.0


def test_a_dense_instruction_takes_no_metadata():
    ones = np.zeros((4, 32), np.uint32)
    with pytest.raises(ArgumentError, match="takes no metadata and no selector: its A is dense"):
        we.instruction(F16).execute(ones, ones[:2], ones, metadata=np.zeros(32, np.uint32))


def test_scale_d_is_an_option_of_wgmma():
    with pytest.raises(OptionError, match="are options of wgmma"):
        we.instruction(F16).execute_with(*[None] * 3, we.warp.options.ExecuteOptions(scale_d=0))


def test_compress_keeps_two_of_four_elements():
    ins = we.instruction("mma.sp.m16n8k16.f32.f16.f16.f32")
    packed, metadata = ins.compress(np.tile(np.array([0, 3, 0, 5], np.float16), (16, 4)))
    assert packed[0, :4].tolist() == [3, 5, 3, 5]
    assert metadata[0] == 0xDDDD_DDDD  # columns 1 and 3 of each chunk: 0b1101


def test_wgmma_omits_c_if_scale_d_is_zero():
    ins = we.instruction("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16")
    b = ins.in_shared_memory("b", np.full((16, 16), 2, np.float16), swizzle=32)
    d = ins.execute(ins.a.pack(np.ones((64, 16), np.float16)), b, None, scale_d=0)
    assert d.shape == (8, 4, 32)
    assert (d == 0x4200_0000).all()  # 32.0


def test_ldmatrix_gives_a_lane_two_neighbours_of_a_row():
    loaded = ldmatrix(TILE, LANES % 8 * 16, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")
    assert loaded[0, :5].tolist() == [0x0001_0000, 0x0003_0002, 0x0005_0004, 0x0007_0006, 0x0009_0008]


def test_ldmatrix_trans_gives_a_lane_two_neighbours_of_a_column():
    loaded = ldmatrix(TILE, LANES % 8 * 16, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16")
    assert loaded[0, :5].tolist() == [0x0008_0000, 0x0018_0010, 0x0028_0020, 0x0038_0030, 0x0009_0001]


def test_rows_of_matrices_begin_at_multiples_of_16_bytes():
    with pytest.raises(AlignmentError, match="begin at multiples of 16 bytes"):
        ldmatrix(TILE, LANES % 8 * 16 + 2, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")


def test_stmatrix_writes_the_rows_that_ldmatrix_reads():
    pairs = (np.arange(32, dtype=np.uint32) * 2 + 1 << 16 | np.arange(32, dtype=np.uint32) * 2)[None]
    stored = np.zeros((8, 8), np.uint16)
    stmatrix(stored, LANES * 16, pairs, "stmatrix.sync.aligned.m8n8.x1.shared.b16")
    assert stored.tolist() == TILE.tolist()


def test_movmatrix_transposes():
    pairs = (np.arange(32, dtype=np.uint32) * 2 + 1 << 16 | np.arange(32, dtype=np.uint32) * 2)[None]
    assert movmatrix(pairs)[0, :2].tolist() == [0x0008_0000, 0x0018_0010]


def test_a_shuffle_down_beyond_its_segment_returns_the_own_value():
    # PTX ISA 9.1, 9.7.9.6: c = 0x181f is segments of eight lanes.
    lane, inside = sources("down", np.uint32(4), np.uint32(0x181F))
    assert lane[:9].tolist() == [4, 5, 6, 7, 4, 5, 6, 7, 12]
    assert inside[:9].tolist() == [True] * 4 + [False] * 4 + [True]


def test_a_butterfly_exchanges_lanes():
    assert shuffled("bfly", ALL, LANES, 1)[:4].tolist() == [1, 0, 3, 2]


def test_a_ballot_has_a_bit_per_lane():
    assert voted("ballot", ALL, LANES % 4 == 0) == 0x1111_1111


def test_votes_ignore_lanes_outside_the_mask():
    assert voted("all", 0x0000_FFFF, LANES < 16)
    assert not voted("any", 0x0000_FFFF, LANES >= 16)


def test_match_any_returns_the_lanes_with_equal_bits():
    assert match_any_sync(ALL, LANES % 2)[:2].tolist() == [0x5555_5555, 0xAAAA_AAAA]


def test_reductions_return_the_result_in_every_lane():
    assert (reduce_sync("max", ALL, np.arange(32, dtype=np.int32)) == 31).all()
