# SPDX-License-Identifier: MIT
"""The rules of pictures of operands, one fact each: cells, highlights, and the drawn part of a large matrix."""

import pytest

import wmma_emu as we
from tests.viz.operand_pictures import cells_of, texts_of
from wmma_emu.errors import OutOfBoundsError
from wmma_emu.layouts.tiled import tiled_layout
from wmma_emu.viz import draw_matrix, draw_registers, draw_tile
from wmma_emu.viz.operands.focus import focus_on, ranges
from wmma_emu.viz.operands.held_cells import cell_of, cell_size, cells_of_matrix
from wmma_emu.viz.operands.subject import subject_of
from wmma_emu.viz.operands.windows import Viewport

F16 = we.instruction("m16n8k16.f32.f16.f16.f32")
S8 = we.instruction("m16n8k32.s32.s8.s8.s32")
WIDE = we.instruction("wgmma.m64n256k16.f32.f16.f16").d.layout


def sentence(operand, **what):
    return focus_on(subject_of(operand), **what).sentence


@pytest.mark.parametrize(("operand", "size"), [
    (F16.a, (1, 2)), (F16.b, (2, 1)), (F16.d, (1, 1)), (S8.a, (1, 4)), (S8.b, (4, 1)),
], ids=str)  # fmt: skip
def test_a_cell_is_the_elements_that_share_a_register(operand, size):
    assert cell_size(operand.layout) == size


def test_a_cell_has_its_first_element_in_the_lowest_bits():
    cell = cell_of(S8.b.layout, 5, 1)
    assert (cell.row, cell.rows, cell.col, cell.element, cell.register) == (20, 4, 1, 4, 1)


def test_lanes_that_hold_the_same_elements_share_a_cell():
    volta = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70").a.layout
    assert cells_of_matrix(volta)[1].lanes == (0, 8)


def test_cells_of_a_part_of_a_matrix_are_only_those_of_the_part():
    assert [(x.row, x.col) for x in cells_of_matrix(F16.a.layout, range(9, 10), range(2, 6))] == [(9, 2), (9, 4)]


def test_a_highlighted_element_names_its_lane_its_register_and_its_bits():
    assert sentence(S8.a, element=(9, 17)) == "A[9, 17] is in lane 4, register a3, bits 8 to 15 (x13)"


def test_a_highlighted_lane_names_its_rows_and_columns():
    assert sentence(F16.a, lane=5) == "Lane 5 holds rows 1, 9, columns 2–3, 10–11 of A"
    assert ranges([0, 1, 2, 8, 10, 11]) == "0–2, 8, 10–11"


def test_a_picture_is_titled_by_its_highlight_or_else_by_operand_and_instruction():
    assert draw_matrix(F16.a, lane=5).title == "Lane 5 holds rows 1, 9, columns 2–3, 10–11 of A"
    assert draw_matrix(F16.a).title == "A of m16n8k16.f32.f16.f16.f32"
    assert draw_matrix(F16.a, lane=5, title="mine").title == "mine"


def test_a_highlighted_cell_is_on_and_every_other_is_off():
    for cell in cells_of(draw_matrix(F16.a, lane=5)):
        assert ("on" in cell.classes, "off" in cell.classes) == (cell.lanes == [5], cell.lanes != [5])


@pytest.mark.parametrize("what", [{"lane": 32}, {"element": (16, 0)}, {"register": 4}, {"lane": -1}], ids=str)
def test_what_an_operand_does_not_have_cannot_be_highlighted(what):
    with pytest.raises(OutOfBoundsError):
        draw_matrix(F16.a, **what)


def test_one_lane_alone_is_drawn_bit_by_bit_with_its_elements():
    boxes = cells_of(draw_registers(F16.a, lane=5))
    assert [(x.data["register"], x.data["bit"], x.texts) for x in boxes[:3]] == [
        (0, 0, ["A[1, 2]", "x0"]), (0, 16, ["A[1, 3]", "x1"]), (1, 0, ["A[9, 2]", "x2"]),
    ]  # fmt: skip


def test_a_matrix_of_a_warp_is_drawn_whole():
    assert Viewport.of(F16.a.layout, 512) == Viewport(0, 0, 16, 16)


def test_of_a_large_matrix_the_part_around_the_highlighted_element_is_drawn_with_rules_for_the_rest():
    part = Viewport.of(WIDE, 512, (40, 200))
    assert part[:4] == (32, 192, 16, 16)
    assert part.rules == (
        ("more rows", "16 further down: the next warp, T + 32"),
        ("more columns", "8 further on: the same lanes, x + 4"),
    )
    assert part.is_of_one_warp


def test_a_tile_of_several_warps_names_the_warp_of_an_element():
    tile = tiled_layout("m16n8k16.f32.f16.f16.f32", "d", (2, 2), (32, 32, 16))
    assert draw_tile(tile, element=(17, 9)).title == "D[17, 9] is in warp 3, lane 4, register d1"


def test_a_picture_states_the_shape_the_chip_and_the_source_of_the_layout():
    text = " ".join(x for x in texts_of(draw_matrix(F16.a)) if x)
    assert "16 × 16 (m × k) f16, row" in text and "sm_90 (Hopper)" in text and "PTX ISA 9.1" in text
