# SPDX-License-Identifier: MIT
"""Positions of operands in tensor memory: no two are equal, and they match CuTe's strides."""

import itertools

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.instructions import lookup
from wmma_emu.instructions.tensor import tensor_instruction
from wmma_emu.tcgen05.data_layouts import (
    DATA_PATHS,
    a_placement,
    d_placement,
    data_path,
    metadata_placement,
    scale_placement,
)


def f16(m, n, **options):
    return tensor_instruction("f16", m, n, "f32", "f16", "f16", **options)


PATHS = {
    "A": f16(256, 64, cta_group=2), "A sparse": f16(256, 64, cta_group=2, sparse=True),
    "B": f16(128, 64, cta_group=2), "C": f16(128, 64, cta_group=2, sparse=True),
    "D": f16(128, 40), "D sparse": f16(128, 40, sparse=True),
    "D ws": f16(128, 64, ws=True), "D ws sparse": f16(128, 64, ws=True, sparse=True),
    "E": f16(64, 64, ws=True), "E sparse": f16(64, 128, ws=True, sparse=True),
    "F": f16(64, 24), "F sparse": f16(64, 24, sparse=True),
    "G": f16(32, 64, ws=True), "G sparse": f16(32, 64, ws=True, sparse=True),
}  # fmt: skip
KINDS = {
    "tf32": tensor_instruction("tf32", 128, 64, "f32", "tf32", "tf32", sparse=True),
    "f8f6f4": tensor_instruction("f8f6f4", 128, 64, "f32", "e2m1", "e4m3", sparse=True),
    "i8 half": tensor_instruction("i8", 64, 64, "s32", "u8", "s8", sparse=True),
    "i8 ws": tensor_instruction("i8", 32, 64, "s32", "u8", "s8", sparse=True, ws=True),
    "tf32 ws": tensor_instruction("tf32", 64, 64, "f32", "tf32", "tf32", sparse=True, ws=True),
    "mxf8f6f4": tensor_instruction("mxf8f6f4", 128, 72, "f32", "e4m3", "e2m1"),
    "mxf8f6f4 pair": tensor_instruction("mxf8f6f4", 128, 128, "f32", "e4m3", "e2m1", cta_group=2),
    "mxf4": tensor_instruction("mxf4", 128, 256, "f32", "e2m1", "e2m1", sparse=True),
    "mxf4nvf4": tensor_instruction("mxf4nvf4", 256, 256, "f32", "e2m1", "e2m1", scale="ue4m3", cta_group=2),
}  # fmt: skip
ROWS = PATHS | KINDS


def placements(row):
    found = [d_placement(row), a_placement(row)]
    if row.is_sparse:
        found.append(metadata_placement(row))
    if row.is_block_scaled:
        found += [scale_placement(row, operand) for operand in ("a", "b")]
    return found


def test_every_data_path_matches_the_manual():
    assert {name: data_path(row).layout for name, row in PATHS.items()} == {name: name[0] for name in PATHS}
    assert [x.layout for x in DATA_PATHS] == list("ABCDEFG")
    assert all(x.source and x.status == "documented" for x in DATA_PATHS)


@pytest.mark.parametrize("name", ROWS)
def test_no_two_elements_and_no_two_copies_share_a_bit(name):
    for found in placements(ROWS[name]):
        assert found.cta.max() == data_path(ROWS[name]).cta_group - 1
        assert 0 <= found.lane.min() and found.lane.max() < 128
        assert 0 <= found.bit.min() and found.bit.max() + found.bits <= 32
        places = ((found.cta * 128 + found.lane) * found.columns + found.column) * 32 + found.bit
        assert not (places % found.bits).any()  # so that cells share all of their bits or none
        assert len(np.unique(places // found.bits)) == places.size


@pytest.mark.parametrize("name", ROWS)
def test_the_inverse_finds_every_element_again(name):
    random = np.random.default_rng(7)
    for found in placements(ROWS[name]):
        for _ in range(20):
            at = tuple(int(random.integers(x)) for x in found.cta.shape)
            for bit in (0, found.bits - 1):
                place = found.cta[at], found.lane[at], found.column[at], found.bit[at] + bit
                assert found.element(*place) == at[1:]
        assert found.element(2, 0, 0, 0) is None


# CuTe's layouts: the offset of an index is the sum of its digits, first digit first, times their strides.


def offset(index, shape, stride):
    """Evaluate one mode of a layout of CuTe."""
    total = 0
    for size, step in zip(shape, stride, strict=True):
        total, index = total + index % size * step, index // size
    return total


def cute_d(row):
    """Virtual addresses, lane + 128 * column, of tmem_frg and tmem_frg_ws: (M shape, M stride, N shape, N stride)."""
    n, ws, group = row.n, ".ws" in row.family, 2 if "cta_group::2" in row.modifiers else 1
    match row.m // group, ws, group:
        case 64, False, 1:
            return (16, 4), (1, 32), (n,), (128,)
        case 64, False, 2:
            return ((64,), (1,), (n // 2, 2), (128, 64)) if not row.is_sparse else ((16, 4), (1, 32), (n,), (128,))
        case 64, True, 1:
            return (64,), (1,), (n // 2, 2), (128, 64)
        case 32, True, 1:
            return (32,), (1,), (n // 4, 4), (128, 32)
    return (128,), (1,), (n,), (128,)


@pytest.mark.parametrize("name", PATHS)
def test_d_is_at_the_positions_of_cutes_accumulators(name):
    row, found = PATHS[name], d_placement(PATHS[name])
    m_shape, m_stride, n_shape, n_stride = cute_d(row)
    rows = data_path(row).rows
    for i, j in itertools.product(range(0, row.m, 5), range(0, row.n, 3)):
        virtual = offset(i % rows, m_shape, m_stride) + offset(j, n_shape, n_stride)
        here = found.cta[0, i, j], found.lane[0, i, j], found.column[0, i, j], found.bit[0, i, j]
        assert here == (i // rows, virtual % 128, virtual // 128, 0)


def test_a_of_16_bits_is_half_a_word_and_a_result_of_16_bits_the_lower_half():
    half = tensor_instruction("f16", 128, 8, "f16", "f16", "f16")
    assert d_placement(half).bits == 16 and d_placement(half).columns == 8 and not d_placement(half).bit.any()
    assert a_placement(half).columns == 8 and a_placement(half).bit[0, 0].tolist() == [0, 16] * 8


def test_a_of_a_folded_product_is_there_for_every_part():
    # CuTe, TmemAllocMode::Duplicated: parts 0 and 1 of SM 0 hold rows 0 to 63, parts 2 and 3 again; SM 1 the others
    pair = a_placement(PATHS["B"])
    for row in range(128):
        assert pair.cta[:, row, 0].tolist() == [row // 64] * 2
        assert pair.lane[:, row, 0].tolist() == [row % 64, row % 64 + 64]
    assert [a_placement(PATHS[x]).copies for x in "ABCDEFG"] == [1, 2, 1, 1, 2, 1, 4]


@pytest.mark.parametrize(("fmt", "bits", "shift"), [("e4m3", 8, 0), ("e3m2", 8, 0), ("e2m1", 8, 2)])
def test_narrow_elements_of_a_take_a_byte(fmt, bits, shift):
    row = tensor_instruction("mxf8f6f4", 128, 8, "f32", fmt, "e4m3")
    assert a_placement(row).bits == bits and a_placement(row).bit[0, 0, :5].tolist() == [0, 8, 16, 24, 0]
    assert row.container("a") == (bits, shift)


def test_fp4_of_kinds_mxf4_and_mxf4nvf4_is_packed_by_eight():
    found = a_placement(KINDS["mxf4"])
    assert found.bits == 4 and found.columns == 8 and found.bit[0, 0, :9].tolist() == [*range(0, 32, 4), 0]


def cute_scales(mn, blocks, folded):
    """tmem_sf_frg: virtual addresses, lane + 128 * byte, (copies, mn, blocks)."""
    found = np.empty((4, mn, blocks), np.int64)
    for copy, i, block in np.ndindex(found.shape):
        if not folded:
            atom = offset(i + mn * copy, (32, mn // 32, 4), (1, 512, 32))
        else:
            part, own = divmod(i, mn // 2)
            atom = offset(own, (32, mn // 2 // 32), (1, 512)) + 64 * part + 32 * (copy % 2)
        found[copy, i, block] = atom + 128 * block
    return found


@pytest.mark.parametrize("name", ["mxf8f6f4 pair", "mxf4", "mxf4nvf4"])
@pytest.mark.parametrize("operand", ["a", "b"])
def test_scales_are_at_cutes_positions(name, operand):
    row = KINDS[name]
    found, path = scale_placement(row, operand), data_path(row)
    mn = path.rows if operand == "a" else row.n
    folded = operand == "b" and path.layout == "B"
    virtual = cute_scales(mn, row.scale_vec, folded)
    seen = np.stack([found.lane, found.column * 4 + found.bit // 8])
    if operand == "a":
        for cta in range(path.cta_group):
            own = seen[:, :, cta * mn : (cta + 1) * mn]
            assert (found.cta[:, cta * mn : (cta + 1) * mn] == cta).all()
            assert np.array_equal(own[0] + 128 * own[1], virtual)
        return
    copies = found.copies // path.cta_group
    for cta in range(path.cta_group):
        own = seen[:, cta * copies : (cta + 1) * copies]
        assert (found.cta[cta * copies : (cta + 1) * copies] == cta).all()
        assert np.array_equal((own[0] + 128 * own[1]).swapaxes(-1, -2), virtual[:copies])


@pytest.mark.parametrize(
    "row, status",
    [
        (f16(128, 64), "documented"),
        (tensor_instruction("f8f6f4", 128, 64, "f32", "e4m3", "e4m3"), "documented"),
        (tensor_instruction("f8f6f4", 128, 64, "f32", "e2m1", "e4m3"), "inferred"),  # padded to a byte
        (tensor_instruction("f8f6f4", 128, 64, "f32", "e2m3", "e4m3"), "inferred"),
        (f16(64, 64), "inferred"),  # half of the lanes
        (f16(128, 64, cta_group=2), "inferred"),  # in two parts
    ],
    ids=str,
)
def test_positions_of_a_are_documented_only_if_elements_fill_their_cells_and_d_is_one_whole_part(row, status):
    assert a_placement(row).status == status


def test_scales_of_a_ragged_n_have_the_layout_of_a_full_n():
    ragged, whole = KINDS["mxf8f6f4"], tensor_instruction("mxf8f6f4", 128, 96, "f32", "e4m3", "e2m1")
    short, long = (scale_placement(x, "b") for x in (ragged, whole))
    assert np.array_equal(short.lane, long.lane[..., :72]) and np.array_equal(short.column, long.column[..., :72])


def test_the_scale_factor_id_is_the_byte_of_the_first_scale():
    one, two = KINDS["mxf8f6f4"], KINDS["mxf4"]
    assert [scale_placement(one, "a", i).bit[0, 0].tolist() for i in range(4)] == [[0], [8], [16], [24]]
    assert [scale_placement(two, "b", i).bit[0, :, 0].tolist() for i in (0, 2)] == [[0, 8], [16, 24]]
    for row, wrong in ((one, 4), (one, -1), (two, 1), (two, 3), (KINDS["mxf4nvf4"], 2), (one, "0")):
        with pytest.raises(UnsupportedInstructionError, match="scale factor ID"):
            scale_placement(row, "a", wrong)


META = {
    # CuTe, tmem_e_frg and tmem_e_frg_ws: M shape, M stride, K shape, K stride, stride of the copies, bits of a unit,
    # k of a chunk
    "A sparse": ((8, 2, 8), (1, 2048, 16), (16, 2), (128, 8), 0, 1, 4),
    "D sparse": ((8, 2, 8), (1, 2048, 16), (16, 2), (128, 8), 0, 1, 4),
    "D ws sparse": ((8, 2, 8), (1, 2048, 16), (16, 2), (128, 8), 0, 1, 4),
    "E sparse": ((8, 2, 4), (1, 2048, 16), (16, 2), (128, 8), 64, 1, 4),
    "G sparse": ((8, 2, 2), (1, 2048, 16), (16, 2), (128, 8), 32, 1, 4),
    "tf32": ((8, 2, 8), (1, 1024, 16), (8, 2), (128, 8), 0, 2, 2),
    "tf32 ws": ((8, 2, 4), (1, 1024, 16), (8, 2), (128, 8), 64, 2, 2),
    "f8f6f4": ((128,), (1,), (64,), (128,), 0, 1, 4),
    "i8 ws": ((32,), (1,), (64,), (128,), 32, 1, 4),
    "mxf4": ((128,), (1,), (128,), (128,), 0, 0.5, 8),
}


@pytest.mark.parametrize("name", META)
def test_metadata_are_at_cutes_positions(name):
    m_shape, m_stride, k_shape, k_stride, step, unit, width = META[name]
    row, found = ROWS[name], metadata_placement(ROWS[name])
    rows = data_path(row).rows
    assert found.shape == (row.m, row.k // width) and found.bits == 4
    for copy, i, chunk in itertools.product(range(found.copies), range(row.m), range(found.shape[1])):
        virtual = offset(i % rows, m_shape, m_stride) + offset(chunk * width, k_shape, k_stride) + step * copy
        bit = int(virtual // 128 * unit)
        at = copy, i, chunk
        assert (found.cta[at], found.lane[at]) == (i // rows, virtual % 128)
        assert 32 * found.column[at] + found.bit[at] == bit


def test_the_sparsity_selector_is_a_column_of_two():
    for name in ("D sparse", "tf32"):
        first, second = (metadata_placement(ROWS[name], x) for x in (0, 1))
        assert not first.column.any() and (second.column == 1).all() and np.array_equal(first.lane, second.lane)
        for unknown in (2, 3):
            with pytest.raises(UnsupportedInstructionError, match="CuTe uses 0 and 1"):
                metadata_placement(ROWS[name], unknown)
        with pytest.raises(UnsupportedInstructionError, match="must be 0 or 1, not 4"):
            metadata_placement(ROWS[name], 4)
    with pytest.raises(UnsupportedInstructionError, match="must be 0, not 1"):
        metadata_placement(KINDS["mxf4"], 1)


def test_metadata_of_half_the_lanes_stay_in_the_lanes_of_d():
    for name in ("F sparse", "C", "i8 half"):
        row = ROWS[name]
        assert set(metadata_placement(row).lane.ravel()) == set(d_placement(row).lane.ravel())
        assert {x % 32 < 16 for x in d_placement(row).lane.ravel()} == {True}


def test_missing_and_unknown_layouts_are_refused():
    with pytest.raises(UnsupportedInstructionError, match=r"is not a tcgen05\.mma"):
        data_path(lookup("m16n8k16.f32.f16.f16.f32"))
    with pytest.raises(UnsupportedInstructionError, match="has no block scales"):
        scale_placement(PATHS["D"], "a")
    with pytest.raises(UnsupportedInstructionError, match="A is dense"):
        metadata_placement(PATHS["D"])
    long = tensor_instruction("mxf4", 256, 64, "f32", "e2m1", "e2m1", k=96, cta_group=2)
    with pytest.raises(UnsupportedInstructionError, match="shown only in figures"):
        scale_placement(long, "a")
    with pytest.raises(UnsupportedInstructionError, match="A and B have block scales"):
        scale_placement(KINDS["mxf4"], "d")


@pytest.mark.parametrize(
    "place", [data_path, d_placement, a_placement, lambda x: scale_placement(x, "a"), metadata_placement]
)
@pytest.mark.parametrize("given", [None, "tcgen05.mma.kind::f16.m64n8.f32.f16.f16", [1], np.zeros(3)], ids=type)
def test_only_instructions_have_placements(place, given):
    with pytest.raises(UnsupportedInstructionError, match="is not an Instruction; use tensor_instruction"):
        place(given)


def test_placements_say_what_they_are():
    assert repr(d_placement(PATHS["F"])) == (
        "<Placement of D: 64x24 cells of 32 bits, 24 columns of tensor memory, documented>"
    )
    assert "scale_B: 2x256 cells of 8 bits in 4 copies, 8 columns" in repr(scale_placement(KINDS["mxf4"], "b"))
    for wrong in (None, "0", 0.0, [0], np.zeros(3)):
        with pytest.raises(FragmentMismatchError, match="lane of a position in tensor memory is an integer"):
            d_placement(PATHS["F"]).element(0, wrong, 0, 0)


def test_a_row_by_hand_of_every_layout_that_folds_or_leaves_lanes_out():
    # Row 37 and column 41 of 64, worked out on paper from the captions: half of the lanes, 2 x 2, 1 x 4.
    by_hand = {"F": (37 // 16 * 32 + 5, 41), "C": (2 * 32 + 5, 41), "B": (37 + 64, 9), "E": (37 + 64, 9), "G": None}
    for name, want in by_hand.items():
        row = f16(64, 64) if name == "F" else PATHS[name]
        found = d_placement(row)
        if want is None:
            assert (found.lane[0, 21, 41], found.column[0, 21, 41]) == (21 + 2 * 32, 41 - 32)
            continue
        assert (found.cta[0, 37, 41], found.lane[0, 37, 41], found.column[0, 37, 41]) == (0, *want)
    pair = d_placement(PATHS["B"])
    assert (pair.cta[0, 101, 41], pair.lane[0, 101, 41]) == (1, 101)


def test_a_blocked_tile_of_scales_goes_where_the_instruction_looks():
    # Libraries keep 128 x 4 scales as 512 bytes: row % 32, then row // 32, then k. cp .32x128b.warpx4 makes a lane of
    # each 16 bytes, four times. Byte i of the word in column c of lane l is the scale of row 32 c + l and block i.
    for row, ids in ((KINDS["mxf8f6f4"], (0, 1, 2, 3)), (KINDS["mxf4"], (0, 2)), (KINDS["mxf4nvf4"], (0,))):
        for scale_id, operand in itertools.product(ids, "ab"):
            found = scale_placement(row, operand, scale_id)
            for copy, i, block in np.ndindex(*found.lane.shape) if operand == "a" else ():
                own = i % data_path(row).rows
                at = copy, i, block
                offset_in_tile = own % 32 * 16 + own // 32 * 4 + scale_id + block
                assert found.lane[at] % 32 == offset_in_tile // 16 and found.lane[at] // 32 == copy
                assert 4 * found.column[at] + found.bit[at] // 8 == offset_in_tile % 16
            if operand == "b" and data_path(row).parts == 1:
                n = np.arange(row.n)
                tile, own = n // 128, n % 128
                for block in range(row.scale_vec):
                    inside = own % 32 * 16 + own // 32 * 4 + scale_id + block
                    assert np.array_equal(found.lane[0, block] % 32, inside // 16)
                    there = 4 * found.column[0, block] + found.bit[0, block] // 8
                    assert np.array_equal(there, 16 * tile + inside % 16)
