# SPDX-License-Identifier: MIT
"""The rules of pictures of memory, one fact each: rows of ldmatrix, bank conflicts, WMMA tiles, swizzled operands."""

from xml.etree import ElementTree

import numpy as np
import pytest

from wmma_emu import wmma
from wmma_emu.errors import AlignmentError, ArgumentValueError, UnsupportedInstructionError
from wmma_emu.layouts.banks import words_of_banks
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.ptx.profile import ConflictingAccess
from wmma_emu.viz import draw_bank_conflicts, draw_ldmatrix, draw_load_matrix_sync, draw_shared_operand
from wmma_emu.viz.memory.bank_strip import phase_text
from wmma_emu.viz.memory.ldmatrix_plan import ldmatrix_plan, plain_addresses, row_conflicts
from wmma_emu.viz.memory.load_plan import load_plan
from wmma_emu.viz.memory.shared_plan import shared_plan

X4 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
A = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)


def texts_of(picture):
    return " ".join(x.text for x in ElementTree.fromstring(str(picture)).iter() if x.text)


def test_each_row_of_ldmatrix_has_its_address_from_one_lane():
    plan = ldmatrix_plan(X4)
    assert (plan.address_lanes[0].tolist(), plan.address_lanes[3].tolist()) == (
        [0, 1, 2, 3, 4, 5, 6, 7], [24, 25, 26, 27, 28, 29, 30, 31],
    )  # fmt: skip


def test_four_lanes_share_a_row_two_elements_each():
    # Register 1 of lane 5: matrix 1, row 1, elements 2 and 3.
    assert ldmatrix_plan(X4).elements[1, :, 5].tolist() == [[1, 1, 2], [1, 1, 3]]


def test_trans_exchanges_rows_and_columns():
    assert ldmatrix_plan("ldmatrix.m8n8.x4.trans.b16").elements[1, :, 5].tolist() == [[1, 2, 1], [1, 3, 1]]


def test_the_holder_of_an_element_is_a_lane_a_register_and_a_half():
    assert ldmatrix_plan(X4).holders[1, 1, 3].tolist() == [5, 1, 1]


def test_a_plain_tile_is_two_matrices_high_and_two_wide():
    assert plain_addresses(X4, pitch=144)[[0, 1, 8, 16, 17]].tolist() == [0, 144, 8 * 144, 16, 160]
    assert plain_addresses(X4)[[0, 1, 16]].tolist() == [0, 32, 16]


@pytest.mark.parametrize("pitch", [24, 16, 0])
def test_rows_are_a_multiple_of_16_bytes_apart_and_do_not_overlap(pitch):
    with pytest.raises(AlignmentError, match="must be a multiple of 16 bytes apart, 32 at least: 32, 48"):
        plain_addresses(X4, pitch=pitch)


@pytest.mark.parametrize(("pitch", "ways"), [(128, 8), (64, 4), (144, 1), (256, 8)])
def test_rows_conflict_if_their_16_bytes_are_in_the_same_banks(pitch, ways):
    # 32 banks of 4 bytes repeat every 128 bytes; eight rows are read at once.
    assert row_conflicts(X4, plain_addresses(X4, pitch=pitch))[1].tolist() == [ways] * 4


def test_a_conflict_names_its_lanes_and_its_banks():
    assert phase_text(0, words_of_banks(np.arange(8) * 128)) == (
        "Lanes 0 to 7: 8-way bank conflict, 8 words in each of banks 0–3."
    )
    assert phase_text(1, words_of_banks(np.arange(8) * 144)) == "Lanes 8 to 15: no bank conflict."


def test_a_picture_of_ldmatrix_has_the_addresses_and_the_conflicts():
    text = texts_of(draw_ldmatrix(X4, pitch=128))
    assert "8-way bank conflict" in text
    assert "8-way bank conflict" not in texts_of(draw_ldmatrix(X4, pitch=144))


def test_movmatrix_has_no_addresses():
    assert ldmatrix_plan("movmatrix.m8n8.trans.b16").lanes_with_address == 0
    with pytest.raises(UnsupportedInstructionError, match="has no addresses: it moves registers to registers"):
        plain_addresses("movmatrix.sync.aligned.m8n8.trans.b16")


def test_a_tile_of_wmma_has_ldm_elements_from_one_row_to_the_next():
    plan = load_plan(A, 24)
    assert plan.positions[2, :3].tolist() == [48, 49, 50]
    assert plan.bit_addresses[2, 1] == 49 * 16
    assert load_plan(A, 24, start=16).positions[2, 0] == 64


def test_a_column_major_tile_has_ldm_elements_from_one_column_to_the_next():
    column_major = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.col_major)
    assert load_plan(column_major, 24).positions[:3, 2].tolist() == [48, 49, 50]


@pytest.mark.parametrize(("ldm", "segments"), [(16, 16), (32, 16), (24, 24)])
def test_a_tile_touches_segments_of_32_bytes(ldm, segments):
    # A row of 16 elements of f16 is 32 bytes: one segment, or two if it starts in the middle of one.
    assert len(load_plan(A, ldm).segments) == segments


def test_what_a_load_would_reject_is_not_drawn():
    with pytest.raises(AlignmentError, match="ldm is 15, but a row of the 16 x 16 tile has 16 elements"):
        draw_load_matrix_sync(A, 15)


def test_a_shared_operand_is_drawn_in_chunks_of_16_bytes():
    plan = shared_plan(MatrixDescriptor(0, 16, 1024, 128), 64, 16, "f16")
    first, second = plan.chunks[:2]
    assert (first.address, first.row, first.k, first.last_k) == (0, 0, 0, 7)
    assert (second.address, second.row, second.k, second.last_k) == (16, 0, 8, 15)


def test_a_swizzle_of_128_bytes_exchanges_chunks_by_the_row_and_has_no_conflict():
    plan = shared_plan(MatrixDescriptor(0, 16, 1024, 128), 64, 16, "f16")
    # The chunk of row r and number c is at 128 r + 16 (c ^ r), for r below 8.
    assert [int(plan.addresses[r, 0]) for r in range(4)] == [0, 128 + 16, 256 + 32, 384 + 48]
    assert plan.conflict_of_chunks == 1
    assert "128" in texts_of(draw_shared_operand(MatrixDescriptor(0, 16, 1024, 128), 64, 16, "f16"))


LANES = np.arange(32)


@pytest.mark.parametrize(("addresses", "size", "is_load"), [
    (LANES * 128, 4, True), (LANES * 132, 4, True), (LANES // 3 * 8, 4, True), (LANES * 2, 2, False),
    (LANES * 24, 8, False), (LANES % 2 * 64, 8, True), (LANES * 80, 16, True),
    (np.where(LANES < 9, LANES * 64, -1), 8, True),
])  # fmt: skip
def test_the_rows_of_a_picture_of_banks_are_the_wavefronts_of_the_access(addresses, size, is_load):
    picture = ElementTree.fromstring(str(draw_bank_conflicts(addresses, size, is_load=is_load)))
    cells = [x.attrib for x in picture.iter() if x.get("class", "").startswith("cell")]
    words = {(x["data-wavefront"], x["data-bank"]) for x in cells}
    needed, _ = ConflictingAccess(tuple(addresses.tolist()), size, is_load, 0).wavefronts()
    assert len(words) == len(cells) and len({x["data-wavefront"] for x in cells}) == needed
    assert all(int(x["data-address"]) // 4 % 32 == int(x["data-bank"]) for x in cells)
    assert {int(y) for x in cells for y in x["data-lanes"].split(",")} == set(np.flatnonzero(addresses >= 0).tolist())


@pytest.mark.parametrize(("addresses", "size", "message"), [
    (LANES[:8], 4, r"addresses of shape \(8,\) and dtype int64; expected 32 integers, one for each lane"),
    (LANES * 1.0, 4, "dtype float64; expected 32 integers"),
    (LANES * 6, 4, "address 6; expected multiples of 4, and -1 only for lanes that take no part"),
    (LANES - 33, 1, "address -33; expected multiples of 1"),
    (LANES * 0 - 1, 4, "no address; expected"),
    (LANES, 3, "size=3; a lane accesses 1, 2, 4, 8 or 16 bytes"),
])  # fmt: skip
def test_addresses_of_no_access_are_not_drawn(addresses, size, message):
    with pytest.raises(ArgumentValueError, match=message):
        draw_bank_conflicts(addresses, size)
